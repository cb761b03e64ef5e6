//! Showing the beginning and the end of a text that is too long.

/// The first `head` and the last `tail` bytes of a text, each cut to whole characters; nothing if the text has no more than both.
///
/// ```
/// use context_core::shorten::ends;
///
/// assert_eq!(ends("0123456789", 3, 2), Some(("012", "89")));
/// assert_eq!(ends("ééé", 3, 3), None);
/// assert_eq!(ends("éééé", 3, 3), Some(("é", "é")));
/// ```
pub fn ends(text: &str, head: usize, tail: usize) -> Option<(&str, &str)> {
    if text.len() <= head.saturating_add(tail) {
        return None;
    }
    let (mut end, mut start) = (head, text.len() - tail);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    while !text.is_char_boundary(start) {
        start += 1;
    }
    Some((&text[..end], &text[start..]))
}
