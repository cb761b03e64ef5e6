//! Snippets: the part of a text that shows the hits.

use std::ops::Range;

use context_core::store::Snippet;

use super::terms::Terms;
use super::words::{Word, words};

/// Approximate length of a snippet in bytes.
const LENGTH: usize = 160;
/// Approximate number of bytes before the first hit.
const LEAD: usize = 40;

impl Terms {
    /// Returns the part of a text with the most distinct phrases, the first of several.
    pub fn snippet(&self, text: &str) -> Snippet {
        let all: Vec<Word> = words(text).collect();
        let folded: Vec<String> = all.iter().map(|word| word.folded.clone()).collect();
        let mut hits: Vec<(usize, Range<usize>)> = Vec::new();
        for (number, phrase) in self.phrases().iter().enumerate() {
            let end = phrase.words.len() - 1;
            let range = |position: usize| all[position].range.start..all[position + end].range.end;
            hits.extend(phrase.positions(&folded).map(|position| (number, range(position))));
        }
        hits.sort_by_key(|(_, range)| (range.start, range.end));
        let start = best_start(&hits, self.phrases().len());
        let from = boundary_before(text, &all, start.saturating_sub(LEAD));
        let to = boundary_after(text, &all, from.saturating_add(LENGTH));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for (_, range) in hits.iter().filter(|(_, range)| range.start >= from && range.end <= to) {
            let range = range.start - from..range.end - from;
            match marks.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        let mut snippet = Snippet::default();
        snippet.text = text[from..to].to_owned();
        snippet.marks = marks;
        snippet.cut_before = from > 0;
        snippet.cut_after = to < text.len();
        snippet
    }
}

/// Returns the start of the stretch of [`LENGTH`] bytes with the most distinct phrases. Linear,
/// because both ends only move forward.
fn best_start(hits: &[(usize, Range<usize>)], phrases: usize) -> usize {
    let mut counts = vec![0usize; phrases];
    let (mut distinct, mut first, mut best) = (0, 0, (0, 0));
    for (number, range) in hits {
        counts[*number] += 1;
        distinct += usize::from(counts[*number] == 1);
        while range.end.saturating_sub(hits[first].1.start) > LENGTH - LEAD
            && hits[first].1 != *range
        {
            let left = hits[first].0;
            counts[left] -= 1;
            distinct -= usize::from(counts[left] == 0);
            first += 1;
        }
        if distinct > best.0 {
            best = (distinct, hits[first].1.start);
        }
    }
    best.1
}

/// Returns the start of the first word at or after a position. If there is none nearby, returns the
/// position, rounded down to a character boundary.
fn boundary_before(text: &str, words: &[Word], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let next = words.partition_point(|word| word.range.start < at);
    match words.get(next) {
        Some(word) if word.range.start - at <= LEAD => word.range.start,
        _ => text.floor_char_boundary(at),
    }
}

/// Returns the end of the last word before a position, with the same fallback.
fn boundary_after(text: &str, words: &[Word], at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let behind = words.partition_point(|word| word.range.end <= at);
    match behind.checked_sub(1).and_then(|last| words.get(last)) {
        Some(word) if at - word.range.end <= LEAD => word.range.end,
        _ => text.floor_char_boundary(at),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_part_with_the_most_phrases_is_shown() {
        let text = format!(
            "lisbon {} Friday: two tickets to Lisbon. {}",
            "blah ".repeat(60),
            "bla ".repeat(90)
        );
        let snippet = Terms::parse("lisbon friday", false).snippet(&text);
        let marked: Vec<_> = snippet.marks.iter().map(|mark| &snippet.text[mark.clone()]).collect();
        assert_eq!(marked, ["Friday", "Lisbon"]);
        assert!(snippet.cut_before && snippet.cut_after);
        assert!(snippet.text.len() < 210, "{}", snippet.text.len());
    }

    proptest! {
        #[test]
        fn any_text_has_a_snippet_with_its_marks_in_it(
            text in "[ab äß京東ไ ]{0,300}", query in "[ab ä京ไ]{1,6}", prefix: bool,
        ) {
            let terms = Terms::parse(&query, prefix);
            let snippet = terms.snippet(&text);
            prop_assert!(text.contains(&snippet.text));
            for mark in &snippet.marks {
                prop_assert!(snippet.text.get(mark.clone()).is_some());
            }
            if terms.count(&text).is_hit() {
                prop_assert!(!snippet.marks.is_empty());
            }
        }
    }
}
