//! Shortens a text to its beginning and end, within a number of tokens.

use context_core::history::HistoryView;
use context_core::history::shorten::ends;

/// The beginning of a shortened text.
pub(crate) const SHORTENED: &str = "[Result shortened: ";
/// The beginning of a shortened text of the user.
pub(crate) const USER_TEXT_SHORTENED: &str = "[Text shortened: ";
/// The line that says where the whole text of the user is.
pub(crate) const STORED: &str =
    "[All of it is stored in this conversation: read_messages shows it, if that tool is offered]";
/// The beginning of a note that replaces a whole text.
pub(crate) const CLEARED: &str = "[Result cleared: ";
/// The beginning's share of the shown text, in percent.
const HEAD_PERCENT: usize = 70;
/// The separator in place of the hidden middle.
const ELLIPSIS: &str = "\n[…]\n";
/// Maximum number of lengths that are tried.
const ATTEMPTS: usize = 8;

/// A text to shorten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongText<'a> {
    pub(crate) text: &'a str,
    /// The approximate number of tokens of the text.
    pub(crate) tokens: u64,
    /// The number of tokens before any shortening.
    pub(crate) original: u64,
    /// A line that must stay.
    pub(crate) reference: Option<&'a str>,
    /// The beginning of the note.
    pub(crate) note: &'static str,
}

impl LongText<'_> {
    /// Returns the note, the reference, and as much of both ends as has about `bound` tokens: at
    /// most `limit` tokens in total, unless note and reference alone have more. The whole text is
    /// not counted again, only the shortened one: the length is estimated from the average bytes
    /// per token, and corrected if the estimate was wrong.
    pub(crate) fn shortened(&self, bound: u64, limit: u64, view: &HistoryView<'_>) -> String {
        let reference = self.reference.map_or(0, |line| view.count_text(line));
        // The estimate does not aim lower, although that would need fewer tries: with shorter
        // previews, long conversations were compacted more often.
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
            // Aims at the middle of the accepted range, which is the upper tenth of the limit.
            let aim = bytes as u128 * u128::from(limit) * 95 / 100 / u128::from(tokens.max(1));
            let aim = usize::try_from(aim).unwrap_or(usize::MAX);
            bytes = if low < aim && aim < high { aim } else { low + (high - low) / 2 };
        }
        best.unwrap_or_else(|| self.noted(self.note, "nothing of it is shown"))
    }

    /// Returns the note and the reference alone.
    pub(crate) fn cleared(&self) -> String {
        self.noted(CLEARED, "call the tool again if it is needed")
    }

    fn showing(&self, bytes: usize) -> Option<String> {
        let head = bytes / 100 * HEAD_PERCENT + bytes % 100 * HEAD_PERCENT / 100;
        let (head, tail) = ends(self.text, head, bytes - head)?;
        let (first, last) = (grouped(head.len() as u64), grouped(tail.len() as u64));
        let mut out = self
            .noted(self.note, &format!("the first {first} and the last {last} bytes are shown"));
        out.push('\n');
        [head, ELLIPSIS, tail].into_iter().for_each(|text| out.push_str(text));
        Some(out)
    }

    fn noted(&self, begin: &str, end: &str) -> String {
        let tokens = grouped(self.original);
        let reference = self.reference.map(|line| format!("\n{line}")).unwrap_or_default();
        format!("{begin}{tokens} tokens; {end}]{reference}")
    }
}

/// Returns the text after the note that an earlier run put in front, or the whole text if there is
/// none.
pub(crate) fn behind_note<'a>(text: &'a str, note: &str, reference: Option<&str>) -> &'a str {
    let noted = text.starts_with(note).then(|| text.split_once('\n')).flatten();
    let Some((_, rest)) = noted else { return text };
    let behind =
        reference.and_then(|line| rest.strip_prefix(line)).and_then(|rest| rest.strip_prefix('\n'));
    behind.unwrap_or(rest)
}

/// Formats a number with commas between thousands.
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
