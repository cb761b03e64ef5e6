//! The preview of a text that is too large: its beginning, a note, its end.

use context_core::history::shorten;

/// A reference of maximum length, used to measure a preview before its blob is written.
pub(in crate::runtime) const LONGEST_REFERENCE: &str =
    "blob:0000000000000000000000000000000000000000000000000000000000000000";

/// The beginning and the end of a text, with a note on the omitted middle.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Preview<'a> {
    /// The text.
    pub(in crate::runtime) text: &'a str,
    /// The reference of the full text, if it is stored.
    pub(in crate::runtime) reference: Option<&'a str>,
    /// The tool that reads it, if the model has one.
    pub(in crate::runtime) tool: Option<&'a str>,
}

impl Preview<'_> {
    /// Returns the preview in at most `limit` bytes, including the note: whole characters, as much
    /// of the end as of the beginning. If the note does not fit, it is shortened.
    pub(in crate::runtime) fn within(&self, limit: usize) -> String {
        // No number in the final note has more digits than the length of the text.
        let longest = self.note(self.text.len(), self.text.len());
        let Some(room) = limit.checked_sub(longest.len() + 2 * SEPARATOR.len()) else {
            let note =
                self.reference.filter(|_| longest.len() > limit).map_or(longest.clone(), bracketed);
            return shorten::ends(&note, limit, 0)
                .map_or(note.clone(), |(head, _)| head.to_owned());
        };
        let Some((head, tail)) = shorten::ends(self.text, room / 2, room / 2) else {
            return self.text.to_owned();
        };
        let note = self.note(head.len(), tail.len());
        [head, &note, tail].join(SEPARATOR)
    }

    fn note(&self, head: usize, tail: usize) -> String {
        let total = self.text.len();
        let shown = format!(
            "[Too long to show whole: {total} bytes, here the first {head} and the last {tail}."
        );
        match (self.reference, self.tool) {
            (Some(reference), Some(tool)) => {
                format!(
                    r#"{shown} All of it: {tool} {{"reference":"{reference}","start":{head}}}]"#
                )
            }
            (Some(reference), None) => format!("{shown} All of it is kept as {reference}]"),
            (None, _) => format!("{shown} The rest is lost.]"),
        }
    }
}

const SEPARATOR: &str = "\n\n";

fn bracketed(reference: &str) -> String {
    format!("[{reference}]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::Config;

    use super::*;

    fn preview<'a>(text: &'a str, tool: Option<&'a str>) -> Preview<'a> {
        Preview { text, reference: Some(LONGEST_REFERENCE), tool }
    }

    #[test]
    fn beginning_and_end_are_shown_and_where_the_rest_is() {
        let text = format!("{}{}", "a".repeat(500), "z".repeat(500));
        let shown = preview(&text, Some("read")).within(200);
        assert!(shown.len() <= 200 && shown.contains(LONGEST_REFERENCE), "{shown}");
        let shown = preview(&text, None).within(400);
        let (head, tail) = (shown.matches('a').count(), shown.matches('z').count());
        assert!(
            shown.starts_with("aaaa") && shown.ends_with("zzzz") && head.abs_diff(tail) <= 6,
            "{shown}"
        );
    }

    #[test]
    fn a_limit_too_small_for_words_holds_the_reference_or_its_beginning() {
        let text = "漢".repeat(1_000);
        assert_eq!(preview(&text, None).within(71), format!("[{LONGEST_REFERENCE}]"));
        assert_eq!(preview(&text, None).within(7), "[blob:0");
        assert_eq!(preview(&text, None).within(0), "");
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

        #[test]
        fn a_preview_keeps_its_limit(text in "(?s).{0,600}", repeat in 1_usize..6,
            limit in 0_usize..2_000) {
            let text = text.repeat(repeat);
            let long = text.len() > limit;
            let shown = preview(&text, Some("read_spilled_output")).within(limit);
            let most = if long { limit } else { limit.max(text.len()) };
            prop_assert!(shown.len() <= most);
        }
    }
}
