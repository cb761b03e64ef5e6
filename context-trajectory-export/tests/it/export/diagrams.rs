//! Tests of Mermaid and DOT.

use context_trajectory::Selection;
use context_trajectory_export::{DiagramOptions, write_dot, write_mermaid};
use proptest::prelude::*;

use super::scene::{hides, session, sessions, written};

fn mermaid() -> String {
    written(|out| write_mermaid(&session(), &DiagramOptions::default().headline(30), out))
}

fn dot() -> String {
    written(|out| write_dot(&session(), &DiagramOptions::default().headline(30), out))
}

#[test]
fn mermaid_of_a_session() {
    insta::assert_snapshot!(mermaid());
}

#[test]
fn dot_of_a_session() {
    insta::assert_snapshot!(dot());
}

#[test]
fn names_alone_if_that_is_asked_for() {
    let graph = session().select(Selection::Round(2)).unwrap();
    let options = DiagramOptions::default().headline(0).left_to_right();
    insta::assert_snapshot!(written(|out| write_dot(&graph, &options, out)));
}

/// Checks that labels contain no character with a meaning in the format except complete entities
/// and line breaks.
fn check_mermaid(text: &str) -> Result<(), String> {
    for line in text.lines() {
        let Some((head, rest)) = line.split_once('"') else { continue };
        let (label, tail) =
            rest.split_once('"').ok_or_else(|| format!("a quote is open: {line}"))?;
        if head.contains([';', '#']) || tail.contains(['"', ';', '#', '`']) {
            return Err(format!("a label has ended early: {line}"));
        }
        let mut left = label.replace("<br/>", "");
        while let Some((before, behind)) = left.split_once('#') {
            let (number, behind) =
                behind.split_once(';').ok_or_else(|| format!("a bare #: {line}"))?;
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("no entity: {line}"));
            }
            left = format!("{before}{behind}");
        }
        if left.contains([';', '`', '%', '<', '>', '&', '{', '}', '[', ']', '|', '\\', '$', '*']) {
            return Err(format!("unescaped: {line}"));
        }
    }
    Ok(())
}

/// Checks that DOT strings are closed, braces and brackets match outside of strings, and strings
/// contain no entities but our own.
fn check_dot(text: &str) -> Result<(), String> {
    let (mut open, mut inside) = (Vec::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (inside, c) {
            (true, '\\') => match chars.next() {
                Some('n' | '"' | '\\') => {}
                other => return Err(format!("an escape of {other:?}")),
            },
            (_, '"') => inside = !inside,
            (true, '\n') => return Err("a line ends in a string".into()),
            (true, '&') => {
                let entity: String = chars.by_ref().take(4).collect();
                if entity != "amp;" {
                    return Err(format!("an entity: {entity}"));
                }
            }
            (false, '{' | '[') => open.push(c),
            (false, '}') if open.pop() != Some('{') => return Err("a brace".into()),
            (false, ']') if open.pop() != Some('[') => return Err("a bracket".into()),
            (false, c) if !c.is_ascii() => return Err(format!("{c} outside of strings")),
            _ => {}
        }
    }
    if inside || !open.is_empty() { Err("something is open at the end".into()) } else { Ok(()) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(128) })]

    #[test]
    fn no_text_breaks_out_of_its_place(graph in sessions()) {
        let options = DiagramOptions::default();
        let (mermaid, dot) =
            (written(|out| write_mermaid(&graph, &options, out)),
                written(|out| write_dot(&graph, &options, out)));
        prop_assert_eq!(check_mermaid(&mermaid), Ok(()));
        prop_assert_eq!(check_dot(&dot), Ok(()));
        prop_assert!(!hides(&mermaid) && !hides(&dot), "{:?} {:?}", mermaid, dot);
    }
}
