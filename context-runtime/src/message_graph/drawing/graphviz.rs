//! Drawing in DOT, for Graphviz.

use std::fmt::Write as _;

use super::{Boxes, Dot, Piece};
use crate::display::{clean, count};

/// Returns a DOT graph. Boxes have generated names and texts are escaped, so no content can break
/// the graph.
pub(in super::super) fn graphviz(dots: &[Dot<'_>]) -> String {
    let Boxes { boxes, arrows } = Boxes::of(dots);
    let mut text = "digraph chat {\n  node [shape=box, style=rounded];\n".to_owned();
    // Writing to a string never fails.
    for (i, piece) in boxes.iter().enumerate() {
        let _ = match piece {
            Piece::Hidden(n) => {
                writeln!(text, "  n{i} [shape=plaintext, label=\"{}\"];", count(*n, "message"))
            }
            Piece::Node(at) => writeln!(text, "  n{i} [label=\"{}\"];", label(&dots[*at])),
        };
    }
    for (from, to) in arrows {
        let _ = writeln!(text, "  n{from} -> n{to};");
    }
    text.push_str("}\n");
    text
}

/// Returns up to three left-aligned lines.
fn label(dot: &Dot<'_>) -> String {
    let lines = [&dot.head, &dot.text, &dot.marks].into_iter().filter(|line| !line.is_empty());
    lines.map(|line| format!("{}\\l", escape(line))).collect()
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

    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn hostile_texts_stay_in_their_boxes() {
        insta::assert_snapshot!("hostile", graphviz(&hostile()));
    }

    #[test]
    fn graphviz_reads_it() {
        let dot =
            Command::new("dot").arg("-Tplain").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut dot) = dot else {
            println!("skipped: Graphviz is not installed here");
            return;
        };
        let mut stdin = dot.stdin.take().expect("piped");
        stdin.write_all(graphviz(&hostile()).as_bytes()).expect("dot reads its input");
        drop(stdin);
        let output = dot.wait_with_output().expect("dot ends");
        assert!(output.status.success());
        let nodes = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|l| l.starts_with("node "))
            .count();
        assert_eq!(nodes, 6);
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
