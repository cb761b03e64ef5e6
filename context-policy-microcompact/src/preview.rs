//! The beginning and the end of a text, within a number of tokens.

use context_core::history::HistoryView;
use context_core::history::shorten::ends;

/// How a text begins that was shortened.
pub(crate) const SHORTENED: &str = "[Result shortened: ";
/// How a text begins of which nothing is left.
pub(crate) const CLEARED: &str = "[Result cleared: ";
/// How many percent of what is shown are its beginning.
const HEAD_PERCENT: usize = 70;
/// Stands for what is not shown.
const ELLIPSIS: &str = "\n[…]\n";
/// How often the length is tried.
const ATTEMPTS: usize = 8;

/// A text to shorten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long<'a> {
    pub(crate) text: &'a str,
    /// How many tokens the text is, about.
    pub(crate) tokens: u64,
    /// How many it once was.
    pub(crate) original: u64,
    /// A line that must stay.
    pub(crate) reference: Option<&'a str>,
}

impl Long<'_> {
    /// Note, reference and as much of both ends as has about `bound` tokens, and at most `limit`
    /// tokens in all, unless note and reference alone have more. The whole text is not counted
    /// again, only what is short: the length comes from the bytes a token has on average, and is
    /// corrected where that was wrong.
    pub(crate) fn within(&self, bound: u64, limit: u64, view: &HistoryView<'_>) -> String {
        let reference = self.reference.map_or(0, |line| view.count_text(line));
        // Not aimed a little lower, though fewer tries would be needed then: shorter previews were
        // tried, and a long conversation was cut more often.
        let share = u128::from(bound.saturating_sub(reference)) * self.text.len() as u128;
        let guess = usize::try_from(share / u128::from(self.tokens.max(1))).unwrap_or(usize::MAX);
        let (mut low, mut high) = (0, self.text.len());
        let (mut bytes, mut best) = (guess.min(high.saturating_sub(1)), None);
        for _ in 0..ATTEMPTS {
            let Some(text) = self.showing(bytes) else { break };
            let tokens = view.count_text(&text);
            if tokens <= limit {
                (low, best) = (bytes, Some(text));
                if tokens >= limit - limit / 10 {
                    break;
                }
            } else {
                high = bytes;
            }
            if high - low < 8 {
                break;
            }
            // Aimed at the middle of the tenth that is good enough.
            let aim = bytes as u128 * u128::from(limit) * 95 / 100 / u128::from(tokens.max(1));
            let aim = usize::try_from(aim).unwrap_or(usize::MAX);
            bytes = if low < aim && aim < high { aim } else { low + (high - low) / 2 };
        }
        best.unwrap_or_else(|| self.note(SHORTENED, "nothing of it is shown"))
    }

    /// Note and reference alone.
    pub(crate) fn cleared(&self) -> String {
        self.note(CLEARED, "call the tool again if it is needed")
    }

    fn showing(&self, bytes: usize) -> Option<String> {
        let head = bytes / 100 * HEAD_PERCENT + bytes % 100 * HEAD_PERCENT / 100;
        let (head, tail) = ends(self.text, head, bytes - head)?;
        let (first, last) = (grouped(head.len() as u64), grouped(tail.len() as u64));
        let mut out =
            self.note(SHORTENED, &format!("the first {first} and the last {last} bytes are shown"));
        out.push('\n');
        [head, ELLIPSIS, tail].into_iter().for_each(|text| out.push_str(text));
        Some(out)
    }

    fn note(&self, begin: &str, end: &str) -> String {
        let tokens = grouped(self.original);
        let reference = self.reference.map(|line| format!("\n{line}")).unwrap_or_default();
        format!("{begin}{tokens} tokens; {end}]{reference}")
    }
}

/// The text behind the note that an earlier pass put in front; the whole text, if there is none.
pub(crate) fn behind_note<'a>(text: &'a str, reference: Option<&str>) -> &'a str {
    let noted = text.starts_with(SHORTENED).then(|| text.split_once('\n')).flatten();
    let Some((_, rest)) = noted else { return text };
    let behind =
        reference.and_then(|line| rest.strip_prefix(line)).and_then(|rest| rest.strip_prefix('\n'));
    behind.unwrap_or(rest)
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
