//! Drawing with characters.
//!
//! The path that is drawn straight has the first column for itself. Elsewhere the child with the
//! largest subtree continues below its parent. The others are drawn to the right, before it, so
//! that no lines cross and a column is free again where a branch ends.

use std::fmt;

use super::tree::{Element, Row, Tree};
use crate::display::{count, node_line, preview, role, short_id};

/// The meaning of a part of a [`GraphLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphSpan {
    /// The line of the path that is drawn straight, in the first column.
    Path,
    /// The lines of other branches.
    Column,
    /// The id of the first message.
    Id,
    /// The role of the first message.
    Role,
    /// The beginning of the first message.
    Text,
    /// The numbers of messages and tool calls.
    Size,
    /// The number of turns or messages that are not drawn.
    Hidden,
    /// A branch, at its head. A star marks the active one.
    Branch,
    /// A checkpoint.
    Checkpoint,
    /// A pin.
    Pin,
}

/// A line of a drawing with characters. Its display is the whole line.
///
/// The parts are without hidden characters. They begin with the spaces that separate them from the
/// parts before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphLine {
    /// The parts of the line.
    pub spans: Vec<(GraphSpan, String)>,
}

impl fmt::Display for GraphLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

impl GraphLine {
    /// Creates a line. `is_straight` says whether the first column is the path.
    fn new(columns: &str, is_straight: bool, rest: impl Into<Vec<(GraphSpan, String)>>) -> Self {
        let mut spans = Vec::with_capacity(8);
        let first = columns.chars().next().filter(|_| is_straight).map_or(0, char::len_utf8);
        let (path, columns) = columns.split_at(first);
        spans.push((GraphSpan::Path, path.to_owned()));
        spans.push((GraphSpan::Column, columns.to_owned()));
        spans.extend(rest.into());
        spans.retain(|(_, text)| !text.is_empty());
        Self { spans }
    }

    /// Returns the line as text, with the beginning of its message.
    pub(super) fn short(&self) -> String {
        let short = |(span, text): &(GraphSpan, String)| match span {
            GraphSpan::Text => format!("  {}", preview(text.trim_start(), SHORT_TEXT)),
            _ => text.clone(),
        };
        self.spans.iter().map(short).collect()
    }
}

/// The connection of a line of rows to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    /// Below the parent.
    Below,
    /// To the right of a line that continues.
    Side,
    /// To the right of a line that ends.
    Last,
}

impl Joint {
    /// Returns the columns before the first row, those before the following rows, and those of a
    /// line between the parent and the first row, if there is one.
    ///
    /// A line on its own shows which way the parent is: below, people take what is to the right of
    /// a line for what comes out of the row above.
    fn columns(self, reverse: bool) -> (&'static str, &'static str, Option<&'static str>) {
        match (self, reverse) {
            (Self::Below, _) => ("", "", None),
            (Self::Side, false) => ("├─", "│ ", None),
            (Self::Side, true) => ("│ ", "│ ", Some("├─╯")),
            (Self::Last, false) => ("╰─", "  ", None),
            (Self::Last, true) => ("  ", "  ", Some("╭─╯")),
        }
    }
}

/// The number of characters of a message in a line, for a wide terminal.
const LONGEST_TEXT: usize = 200;
/// The number of characters of a message in a drawing whose width nobody knows.
const SHORT_TEXT: usize = 72;

/// Returns the lines of the drawing, with a blank line between trees.
pub(super) fn lines(tree: &Tree<'_>, reverse: bool) -> Vec<GraphLine> {
    let mut lines = Vec::new();
    for (root, before) in &tree.roots {
        if !lines.is_empty() {
            lines.push(GraphLine::default());
        }
        // Whether the first column is the path. It is up to the end of the path.
        let mut straight = tree.rows[*root].on_path;
        if let Some(before) = tree.before(*before) {
            lines.push(GraphLine::new("⋮ ", straight, [(GraphSpan::Hidden, before)]));
        }
        // The lines of rows still to draw, each with its columns.
        let mut todo = vec![(*root, String::new(), Joint::Below)];
        while let Some((start, left, joint)) = todo.pop() {
            let (first, following, between) = joint.columns(reverse);
            if let Some(between) = between {
                lines.push(GraphLine::new(&format!("{left}{between}"), straight, []));
            }
            let (first, following) = (format!("{left}{first}"), format!("{left}{following}"));
            let (elements, end) = tree.elements_from(start);
            for (i, element) in elements.into_iter().enumerate() {
                let before = if i == 0 { &first } else { &following };
                lines.push(match element {
                    Element::Turns(turns) => {
                        let hidden = (GraphSpan::Hidden, count(turns, "turn"));
                        GraphLine::new(&format!("{before}⋮ "), straight, [hidden])
                    }
                    Element::Row(row) => {
                        let row = &tree.rows[row];
                        let columns = format!("{before}{} ", mark(row));
                        GraphLine::new(&columns, straight, spans(row))
                    }
                });
            }
            let (sides, next) = tree.after(end);
            straight &= next.is_some() || !tree.rows[end].on_path;
            let sides = sides.iter().enumerate().rev().map(|(i, side)| {
                let is_last = next.is_none() && i + 1 == sides.len();
                (*side, following.clone(), if is_last { Joint::Last } else { Joint::Side })
            });
            let next = next.map(|next| (next, following.clone(), Joint::Below));
            todo.extend(next.into_iter().chain(sides));
        }
    }
    if !lines.is_empty() && !tree.empty.is_empty() {
        lines.push(GraphLine::default());
    }
    for (kind, label) in &tree.empty {
        let is_path = *kind == GraphSpan::Path;
        let hidden = (GraphSpan::Hidden, " without messages".to_owned());
        let label = (GraphSpan::Branch, label.clone());
        lines.push(GraphLine::new(if is_path { "● " } else { "○ " }, is_path, [label, hidden]));
    }
    if reverse {
        lines.reverse();
    }
    lines
}

/// Returns the character of a row: filled on the path, and of another shape for a boundary.
fn mark(row: &Row<'_>) -> char {
    match (row.is_boundary(), row.on_path) {
        (false, true) => '●',
        (false, false) => '○',
        (true, true) => '◆',
        (true, false) => '◇',
    }
}

fn spans(row: &Row<'_>) -> Vec<(GraphSpan, String)> {
    let (text, size) = (node_line(row.node, LONGEST_TEXT), row.size());
    let mut spans = vec![(GraphSpan::Id, short_id(&row.node.id))];
    // As in git, next to the id: what a branch is called is seen at any width.
    spans.extend(row.marks.iter().map(|(kind, label)| (*kind, format!("  {label}"))));
    spans.extend([
        (GraphSpan::Role, format!("  {}", role(row.node))),
        (GraphSpan::Text, if text.is_empty() { text } else { format!("  {text}") }),
        (GraphSpan::Size, size.map_or_else(String::new, |size| format!(" · {size}"))),
    ]);
    spans
}
