//! Drawing in Mermaid, which many Markdown viewers show.

use std::fmt::Write as _;

use super::boxes::Boxes;
use crate::display::clean;

/// Returns a Mermaid flow chart. Boxes have generated names and texts are escaped, so no content
/// can break the chart. The boxes of the path that is marked have the class `onPath`, and its
/// arrows are thick.
pub(super) fn mermaid(boxes: &Boxes, reverse: bool) -> String {
    let mut text = format!("flowchart {}\n", if reverse { "BT" } else { "TD" });
    // Writing to a string never fails.
    for (i, one) in boxes.boxes.iter().enumerate() {
        let label = one.label.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br/>");
        let (open, close) = if one.is_hidden { ("([", "])") } else { ("[", "]") };
        let class = if one.on_path { ":::onPath" } else { "" };
        let _ = writeln!(text, "  n{i}{open}\"{label}\"{close}{class}");
    }
    for (from, to) in &boxes.arrows {
        let arrow = if boxes.is_on_path((*from, *to)) { "==>" } else { "-->" };
        let _ = writeln!(text, "  n{from} {arrow} n{to}");
    }
    if boxes.boxes.iter().any(|one| one.on_path) {
        text.push_str("  classDef onPath stroke-width:3px\n");
    }
    text
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

    use super::super::GraphFormat;
    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn hostile_texts_stay_in_their_boxes() {
        insta::assert_snapshot!("hostile", hostile().draw(GraphFormat::Mermaid));
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
