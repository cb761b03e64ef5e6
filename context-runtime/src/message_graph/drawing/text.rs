//! Drawing with characters.
//!
//! The child with the largest subtree continues below its parent; the others are drawn to the
//! right, before it. The indentation is therefore at most logarithmic in the number of nodes.

use super::{Children, Dot, Piece, pieces, run_from};
use crate::display::count;

/// Returns the lines of the drawing, oldest first, with a blank line between trees.
pub(in super::super) fn draw(dots: &[Dot<'_>]) -> Vec<String> {
    let children = Children::of(dots);
    let mut lines = Vec::new();
    // The runs still to draw: first node, prefix, and whether the run starts at a fork.
    let mut todo: Vec<(usize, String, bool)> = Vec::new();
    for root in &children.roots {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        todo.push((*root, String::new(), false));
        while let Some((start, left, hangs)) = todo.pop() {
            let run = run_from(&children, start);
            let end = run.last().copied().unwrap_or(start);
            let inner = if hangs { format!("{left}│ ") } else { left.clone() };
            draw_run(dots, &pieces(dots, &run), &left, &inner, hangs, &mut lines);
            let Some((trunk, sides)) = children.of[end].split_last() else { continue };
            todo.push((*trunk, inner.clone(), false));
            todo.extend(sides.iter().rev().map(|side| (*side, inner.clone(), true)));
        }
    }
    lines
}

fn draw_run(
    dots: &[Dot<'_>],
    pieces: &[Piece],
    left: &str,
    inner: &str,
    hangs: bool,
    lines: &mut Vec<String>,
) {
    for (i, piece) in pieces.iter().enumerate() {
        lines.push(match piece {
            Piece::Hidden(n) => format!("{inner}⋮ {}", count(*n, "message")),
            Piece::Node(at) if hangs && i == 0 => format!("{left}├─● {}", label(&dots[*at])),
            Piece::Node(at) => format!("{inner}● {}", label(&dots[*at])),
        });
    }
}

fn label(dot: &Dot<'_>) -> String {
    let mut label = format!("{}  {}  {}", dot.head, dot.text, dot.marks);
    label.truncate(label.trim_end().len());
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a graph given as `id<parent` words. `!` marks a node.
    fn drawing(words: &str) -> String {
        let dots: Vec<_> = words
            .split_whitespace()
            .map(|word| {
                let marked = word.ends_with('!');
                let word = word.trim_end_matches('!');
                let (id, parent) =
                    word.split_once('<').map_or((word, None), |(id, parent)| (id, Some(parent)));
                Dot {
                    id,
                    parent,
                    head: id.to_owned(),
                    text: String::new(),
                    marks: String::new(),
                    shown: marked,
                }
            })
            .collect();
        draw(&dots).join("\n")
    }

    #[test]
    fn a_line_is_collapsed_between_what_matters() {
        insta::assert_snapshot!(drawing("a b<a c<b d<c! e<d f<e"), @r"
        ● a
        ⋮ 2 messages
        ● d
        ● e
        ● f
        ");
    }

    #[test]
    fn forks_hang_to_the_right_and_the_longest_goes_on() {
        insta::assert_snapshot!(drawing("a b<a x<b y<x z<y c<b d<c p<c q<b e<d"), @r"
        ● a
        ● b
        ├─● x
        │ ● y
        │ ● z
        ├─● q
        ● c
        ├─● p
        ● d
        ● e
        ");
    }

    #[test]
    fn a_fork_of_a_fork_and_a_second_root() {
        insta::assert_snapshot!(drawing("a b<a c<b d<a e<d f<d g<a h<g i<h j<i k<j r s<r"), @r"
        ● a
        ├─● b
        │ ● c
        ├─● d
        │ ├─● e
        │ ● f
        ● g
        ⋮ 3 messages
        ● k

        ● r
        ● s
        ");
    }

    #[test]
    fn nothing_is_nothing_and_a_lost_parent_is_a_root() {
        assert_eq!(drawing(""), "");
        assert_eq!(drawing("a<b b<a"), "● a\n● b");
    }

    /// A fork at every node, which would overflow a recursive implementation and indent by depth.
    #[test]
    fn a_hundred_thousand_forks_stay_narrow() {
        let ids: Vec<_> = (0..100_000).map(|i| i.to_string()).collect();
        let dot = |i: usize, parent: Option<usize>| Dot {
            id: &ids[i],
            parent: parent.map(|parent| ids[parent].as_str()),
            head: String::new(),
            text: String::new(),
            marks: String::new(),
            shown: false,
        };
        let dots: Vec<_> = (0..ids.len())
            .map(|i| dot(i, if i % 2 == 0 { i.checked_sub(2) } else { Some(i - 1) }))
            .collect();
        let lines = draw(&dots);
        assert_eq!(lines.len(), ids.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 6));
    }
}
