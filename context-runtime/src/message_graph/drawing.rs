//! Drawing a message graph: pure functions from nodes to characters, Mermaid or DOT.
//!
//! Shared code: runs of unmarked nodes are drawn as one piece with their number, and traversal uses
//! an explicit stack, so that any depth works.

mod graphviz;
mod mermaid;
mod text;

use std::collections::HashMap;

pub(super) use graphviz::graphviz;
pub(super) use mermaid::mermaid;
pub(super) use text::draw;

/// A node to draw.
#[derive(Clone, Debug)]
pub(super) struct Dot<'a> {
    /// The id.
    pub(super) id: &'a str,
    /// The preceding node. Parents come before their children; a missing or later parent counts as
    /// none.
    pub(super) parent: Option<&'a str>,
    /// The caption, for people.
    pub(super) head: String,
    /// The beginning of the text.
    pub(super) text: String,
    /// The branches and checkpoints at the node.
    pub(super) marks: String,
    /// Whether the node is always shown.
    pub(super) shown: bool,
}

/// A drawn element: a node, or a number of hidden nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Node(usize),
    Hidden(usize),
}

/// Returns the nodes from `start` to the next fork or the end.
fn run_from(children: &Children, start: usize) -> Vec<usize> {
    let (mut run, mut end) = (vec![start], start);
    while let [only] = children.of[end].as_slice() {
        end = *only;
        run.push(end);
    }
    run
}

/// Returns the pieces of a run. Unmarked nodes between its ends are combined.
fn pieces(dots: &[Dot<'_>], run: &[usize]) -> Vec<Piece> {
    let is_shown = |i: usize| i == 0 || i + 1 == run.len() || dots[run[i]].shown;
    let mut pieces = Vec::new();
    let mut i = 0;
    while i < run.len() {
        let hidden = (i..run.len()).take_while(|i| !is_shown(*i)).count();
        if hidden > 1 {
            pieces.push(Piece::Hidden(hidden));
            i += hidden;
        } else {
            pieces.push(Piece::Node(run[i]));
            i += 1;
        }
    }
    pieces
}

/// A drawing of boxes and arrows.
#[derive(Debug, Default)]
struct Boxes {
    /// Oldest first.
    boxes: Vec<Piece>,
    /// Pairs of box indexes.
    arrows: Vec<(usize, usize)>,
}

impl Boxes {
    fn of(dots: &[Dot<'_>]) -> Self {
        let children = Children::of(dots);
        let mut all = Self::default();
        // The runs still to draw, each with the box it is attached to.
        let mut todo: Vec<(usize, Option<usize>)> =
            children.roots.iter().rev().map(|root| (*root, None)).collect();
        while let Some((start, mut from)) = todo.pop() {
            let run = run_from(&children, start);
            for piece in pieces(dots, &run) {
                let this = all.boxes.len();
                all.boxes.push(piece);
                all.arrows.extend(from.map(|from| (from, this)));
                from = Some(this);
            }
            let end = run.last().copied().unwrap_or(start);
            todo.extend(children.of[end].iter().rev().map(|child| (*child, from)));
        }
        all
    }
}

/// The children of every node, with the largest subtree last.
struct Children {
    roots: Vec<usize>,
    of: Vec<Vec<usize>>,
}

impl Children {
    fn of(dots: &[Dot<'_>]) -> Self {
        let mut index = HashMap::with_capacity(dots.len());
        let mut parents = Vec::with_capacity(dots.len());
        for (i, dot) in dots.iter().enumerate() {
            // Only earlier nodes can be parents, so there are no cycles.
            parents.push(dot.parent.and_then(|parent| index.get(parent).copied()));
            index.insert(dot.id, i);
        }
        let mut weight = vec![1usize; dots.len()];
        for (i, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = parent {
                weight[*parent] += weight[i];
            }
        }
        let mut children = Self { roots: Vec::new(), of: vec![Vec::new(); dots.len()] };
        for (i, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children.of[*parent].push(i),
                None => children.roots.push(i),
            }
        }
        for list in &mut children.of {
            if let Some(heaviest) = (0..list.len()).max_by_key(|at| (weight[list[*at]], *at)) {
                let trunk = list.remove(heaviest);
                list.push(trunk);
            }
        }
        children
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nodes with texts that try to break out of their context.
    pub(super) fn hostile() -> Vec<Dot<'static>> {
        let dot = |id, parent, text: &str, marks: &str| Dot {
            id,
            parent,
            head: format!("{id}  user"),
            text: text.to_owned(),
            marks: marks.to_owned(),
            shown: !marks.is_empty(),
        };
        vec![
            dot("a\"]; end", None, "\"]:::x; click n0 call alert(1) %%{init: {}}%%", ""),
            dot("b", Some("a\"]; end"), "\\\" <b>&lt;</b> `code` #quot; \\N 1. one", "[main*]"),
            dot("c", Some("b"), "- a\n- b\u{2028}c\u{1b}[2J", ""),
            dot("d", Some("b"), "end", ""),
            dot("e", Some("d"), "x", ""),
            dot("f", Some("e"), "y", ""),
            dot("g", Some("f"), "subgraph graph ends", "[checkpoint: \"; }]"),
        ]
    }

    /// Long chains with many forks, which would overflow a recursive implementation.
    #[test]
    fn a_hundred_thousand_forks_are_drawn() {
        let ids: Vec<_> = (0..100_000usize).map(|i| i.to_string()).collect();
        let parent = |i: usize| if i.is_multiple_of(2) { i.checked_sub(2) } else { Some(i - 1) };
        let dot = |i: usize| Dot {
            id: &ids[i],
            parent: parent(i).map(|parent| ids[parent].as_str()),
            head: ids[i].clone(),
            text: String::new(),
            marks: String::new(),
            shown: false,
        };
        let dots: Vec<_> = (0..ids.len()).map(dot).collect();
        assert_eq!(mermaid(&dots).lines().count(), 2 * ids.len());
        assert_eq!(graphviz(&dots).lines().count(), 2 * ids.len() + 2);
    }

    proptest! {
        /// In any graph every node is drawn or counted once, and every box except the roots has one
        /// incoming arrow.
        #[test]
        fn boxes_hold_every_node(parents in prop::collection::vec((any::<prop::sample::Index>(),
            0..6u8), 0..80)) {
            let ids: Vec<_> = (0..parents.len()).map(|i| i.to_string()).collect();
            let dots: Vec<_> = parents
                .iter()
                .enumerate()
                .map(|(i, (parent, kind))| Dot {
                    id: &ids[i],
                    parent: (i > 0 && *kind > 0).then(|| {
                        // Mostly long runs.
                        ids[if *kind > 2 { i - 1 } else { parent.index(i) }].as_str()
                    }),
                    head: String::new(),
                    text: String::new(),
                    marks: String::new(),
                    shown: *kind == 5,
                })
                .collect();
            let roots = dots.iter().filter(|dot| dot.parent.is_none()).count();
            let boxes = Boxes::of(&dots);
            let drawn: usize = boxes.boxes.iter().map(|piece| match piece {
                Piece::Node(_) => 1,
                Piece::Hidden(n) => *n,
            }).sum();
            prop_assert_eq!(drawn, dots.len());
            prop_assert_eq!(boxes.arrows.len(), boxes.boxes.len() - roots);
            prop_assert!(boxes.arrows.iter().all(|(from, to)| from < to));
        }
    }
}
