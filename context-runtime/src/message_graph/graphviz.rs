//! Drawing in DOT, for Graphviz.

use std::fmt::Write as _;

use super::boxes::{Boxes, GraphBox};
use crate::display::clean;

/// Returns a DOT graph. Boxes have generated names and texts are escaped, so no content can break
/// the graph. The boxes and arrows of the path that is marked are bold and have the class `path`.
pub(super) fn graphviz(boxes: &Boxes, reverse: bool) -> String {
    let direction = if reverse { "  rankdir=BT;\n" } else { "" };
    let mut text = format!("digraph chat {{\n{direction}  node [shape=box, style=rounded];\n");
    // Writing to a string never fails.
    for (i, one) in boxes.boxes.iter().enumerate() {
        let style = match (one.is_hidden, one.on_path) {
            (true, true) => "class=path, shape=plaintext, ",
            (true, false) => "shape=plaintext, ",
            (false, true) => "class=path, style=\"rounded,bold\", ",
            (false, false) => "",
        };
        let _ = writeln!(text, "  n{i} [{style}label=\"{}\"];", label(one));
    }
    for (from, to) in &boxes.arrows {
        let on_path = boxes.is_on_path((*from, *to));
        let style = if on_path { " [class=path, style=bold]" } else { "" };
        let _ = writeln!(text, "  n{from} -> n{to}{style};");
    }
    text.push_str("}\n");
    text
}

/// Returns left-aligned lines, or a centred one.
fn label(one: &GraphBox) -> String {
    match one.is_hidden {
        true => one.label.iter().map(|line| escape(line)).collect(),
        false => one.label.iter().map(|line| format!("{}\\l", escape(line))).collect(),
    }
}

/// Escapes quotes and backslashes for the string, and `&` because Graphviz interprets character
/// references.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '&' => escaped.push_str("&amp;"),
            c if c.is_whitespace() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::super::GraphFormat;
    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn hostile_texts_stay_in_their_boxes() {
        insta::assert_snapshot!("hostile", hostile().draw(GraphFormat::Dot));
    }

    #[test]
    #[ignore = "needs Graphviz; `cargo xtask test` runs it"]
    fn graphviz_reads_it() {
        let dot =
            Command::new("dot").arg("-Tplain").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut dot = dot.expect("Graphviz is installed");
        let mut stdin = dot.stdin.take().expect("piped");
        stdin.write_all(hostile().draw(GraphFormat::Dot).as_bytes()).expect("dot reads its input");
        drop(stdin);
        let output = dot.wait_with_output().expect("dot ends");
        assert!(output.status.success());
        let nodes = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|l| l.starts_with("node "))
            .count();
        assert_eq!(nodes, 5);
    }

    proptest! {
        /// The string ends only at its closing quote.
        #[test]
        fn a_label_has_nothing_that_ends_it(text in any::<String>()) {
            let escaped = escape(&text);
            let mut rest = escaped.chars();
            while let Some(c) = rest.next() {
                prop_assert!(c != '"' && !c.is_control());
                if c == '\\' {
                    prop_assert!(matches!(rest.next(), Some('"' | '\\')));
                }
            }
        }
    }
}
