//! Drawing in Mermaid, which many Markdown viewers show.

use std::fmt::Write as _;

use super::{Boxes, Dot, Piece};
use crate::display::{clean, count};

/// Returns a Mermaid flow chart. Boxes have generated names and texts are escaped, so no content
/// can break the chart.
pub(in super::super) fn mermaid(dots: &[Dot<'_>]) -> String {
    let Boxes { boxes, arrows } = Boxes::of(dots);
    let mut text = "flowchart TD\n".to_owned();
    // Writing to a string never fails.
    for (i, piece) in boxes.iter().enumerate() {
        let _ = match piece {
            Piece::Hidden(n) => writeln!(text, "  n{i}([\"{}\"])", count(*n, "message")),
            Piece::Node(at) => writeln!(text, "  n{i}[\"{}\"]", label(&dots[*at])),
        };
    }
    for (from, to) in arrows {
        let _ = writeln!(text, "  n{from} --> n{to}");
    }
    text
}

/// Returns up to three lines.
fn label(dot: &Dot<'_>) -> String {
    let lines = [&dot.head, &dot.text, &dot.marks].into_iter().filter(|line| !line.is_empty());
    lines.map(|line| escape(line)).collect::<Vec<_>>().join("<br/>")
}

/// Replaces every character with a meaning in Mermaid, HTML or Markdown by a character code.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            c if c.is_whitespace() => escaped.push(' '),
            c if c.is_ascii_alphanumeric() || !c.is_ascii() || ",()/?! ".contains(c) => {
                escaped.push(c)
            }
            c => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn hostile_texts_stay_in_their_boxes() {
        insta::assert_snapshot!("hostile", mermaid(&hostile()));
    }

    proptest! {
        #[test]
        fn a_label_has_nothing_that_ends_it(text in any::<String>()) {
            let escaped = escape(&text);
            let plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric()
                || ",()/?! #;".contains(c);
            prop_assert!(escaped.chars().all(|c| plain(c) && !c.is_control()));
            for (at, _) in escaped.match_indices('#') {
                let code = escaped[at + 1..].split(';').next().unwrap_or_default();
                prop_assert!(!code.is_empty() && code.chars().all(|c| c.is_ascii_digit()));
            }
        }
    }
}
