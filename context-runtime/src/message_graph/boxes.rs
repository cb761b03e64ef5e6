//! A drawing of boxes and arrows, for Mermaid and Graphviz.

use super::GraphSpan;
use super::tree::{Element, Tree};
use crate::display::{count, node_preview, role, short_id};

/// A drawing of boxes and arrows.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    /// Oldest first.
    pub(super) boxes: Vec<GraphBox>,
    /// Pairs of box indexes.
    pub(super) arrows: Vec<(usize, usize)>,
}

/// A box.
#[derive(Debug)]
pub(super) struct GraphBox {
    /// Up to three lines.
    pub(super) label: Vec<String>,
    /// Whether the box is the number of messages that are not drawn.
    pub(super) is_hidden: bool,
    /// Whether the box is on the path that is marked.
    pub(super) on_path: bool,
}

impl Boxes {
    pub(super) fn of(tree: &Tree<'_>) -> Self {
        let mut all = Self::default();
        // The lines of rows still to draw, each with the box it is attached to.
        let mut todo = Vec::new();
        for (root, before) in tree.roots.iter().rev() {
            let from = tree.before(*before).map(|label| {
                all.boxes.push(GraphBox::hidden(label, tree.rows[*root].on_path));
                all.boxes.len() - 1
            });
            todo.push((*root, from));
        }
        while let Some((start, mut from)) = todo.pop() {
            let (elements, end) = tree.elements_from(start);
            for element in elements {
                let this = all.boxes.len();
                all.boxes.push(match element {
                    Element::Row(row) => GraphBox::of(tree, row),
                    Element::Turns(turns) => {
                        GraphBox::hidden(count(turns, "turn"), tree.rows[end].on_path)
                    }
                });
                all.arrows.extend(from.map(|from| (from, this)));
                from = Some(this);
            }
            let (sides, next) = tree.after(end);
            todo.extend(next.into_iter().chain(sides.iter().rev().copied()).map(|row| (row, from)));
        }
        for (kind, label) in &tree.empty {
            let label = vec![format!("{label} without messages")];
            let on_path = *kind == GraphSpan::Path;
            all.boxes.push(GraphBox { label, is_hidden: false, on_path });
        }
        all
    }

    /// Returns whether an arrow is on the path that is marked.
    pub(super) fn is_on_path(&self, (from, to): (usize, usize)) -> bool {
        self.boxes[from].on_path && self.boxes[to].on_path
    }
}

impl GraphBox {
    fn of(tree: &Tree<'_>, row: usize) -> Self {
        let row = &tree.rows[row];
        let size = row.size().map_or_else(String::new, |size| format!(" · {size}"));
        let marks: Vec<_> = row.marks.iter().map(|(_, label)| label.as_str()).collect();
        let label = [
            format!("{}  {}{size}", short_id(&row.node.id), role(row.node)),
            node_preview(row.node),
            marks.join(" "),
        ];
        let label = label.into_iter().filter(|line| !line.is_empty()).collect();
        Self { label, is_hidden: false, on_path: row.on_path }
    }

    fn hidden(label: String, on_path: bool) -> Self {
        Self { label: vec![label], is_hidden: true, on_path }
    }
}
