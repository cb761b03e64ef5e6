//! Long texts: the beginning and the end, with the middle on demand.

use maud::{Markup, html};

/// Longer texts are shortened: this many lines, or this many bytes.
const LINES: usize = 40;
const BYTES: usize = 6_000;
/// The lines of the beginning and of the end.
const HEAD: usize = 24;
const TAIL: usize = 8;

/// A text in three parts.
#[derive(Debug, PartialEq, Eq)]
struct Shortened<'t> {
    head: &'t str,
    middle: &'t str,
    tail: &'t str,
}

/// Returns a text with its white space. The middle of a long one is folded.
pub(crate) fn plain(text: &str) -> Markup {
    folded(text, |part| html! { (part) })
}

/// Returns a text of which the middle is folded if it is long. `show` makes markup of a part.
pub(crate) fn folded(text: &str, show: impl Fn(&str) -> Markup) -> Markup {
    let Some(Shortened { head, middle, tail }) = shortened(text) else {
        return html! { pre class="text" { (show(text)) } };
    };
    let (lines, bytes) = (middle.lines().count(), middle.len());
    html! {
        div class="long" {
            pre class="text" { (show(head)) }
            details {
                summary {
                    @if lines > 1 { (lines) " more lines" } @else { (bytes) " more bytes" }
                }
                pre class="text" { (show(middle)) }
            }
            pre class="text" { (show(tail)) }
        }
    }
}

fn shortened(text: &str) -> Option<Shortened<'_>> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    if ends.len() > LINES {
        let (head, tail) = (ends[HEAD - 1], ends[ends.len() - 1 - TAIL]);
        // Few lines may still be very long ones.
        if head + (text.len() - tail) <= 2 * BYTES {
            let (head, middle, tail) = (&text[..head], &text[head..tail], &text[tail..]);
            return Some(Shortened { head, middle, tail });
        }
    }
    if text.len() <= BYTES {
        return None;
    }
    let (head, tail) = (boundary(text, BYTES * 2 / 3), boundary(text, text.len() - BYTES / 6));
    Some(Shortened { head: &text[..head], middle: &text[head..tail], tail: &text[tail..] })
}

/// Returns the nearest position at or before this one that is between two characters.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_has_beginning_middle_and_end() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let parts = shortened(&text).unwrap();
        assert_eq!([parts.head, parts.middle, parts.tail].concat(), text);
        assert!(parts.head.ends_with("line 23\n") && parts.tail.starts_with("line 92\n"));
        assert_eq!(shortened("short\ntext"), None);
        let one = "ü".repeat(10_000);
        let parts = shortened(&one).unwrap();
        assert_eq!([parts.head, parts.middle, parts.tail].concat(), one);
    }
}
