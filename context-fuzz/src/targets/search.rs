//! Search queries, and the texts that are searched.

use context_store_kit::search::Terms;

/// Checks a query in the first line, on the text in the rest.
pub(crate) fn search(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let (typed, text) = text.split_once('\n').unwrap_or((&text, ""));
    for prefix in [false, true] {
        let terms = Terms::parse(typed, prefix);
        let count = terms.count(text);
        let snippet = terms.snippet(text);
        assert!(text.contains(&snippet.text), "a snippet stands in its text");
        assert_eq!(snippet.cut_before || snippet.cut_after, snippet.text.len() < text.len());
        let mut end = 0;
        for mark in &snippet.marks {
            assert!(mark.start >= end && mark.start < mark.end, "marks are in order and apart");
            assert!(snippet.text.get(mark.clone()).is_some(), "a mark is a part of the text");
            end = mark.end;
        }
        assert!(
            !count.is_hit() || !terms.is_empty(),
            "nothing is found where nothing is looked for"
        );
        // Every phrase has words.
        for phrase in terms.phrases() {
            assert!(!phrase.words.is_empty());
        }
    }
    true
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    super::texts([
        "lisbon window-seat\nTwo tickets to Lisbon, please. A window seat would be fine.",
        "caf\u{e9} stra\u{df}e 東京\nDas Cafe in der Strasse. 東京タワー. ﬁne e\u{301}t\u{e9}",
        "x\n",
    ])
}
