//! The tree of a drawing: messages are combined to turns, and long runs of turns are counted.
//!
//! No function is recursive, so that any depth works.

use std::collections::HashMap;

use context_core::message::NodeKind;
use context_core::{MessageId, Node, Part, Role};

use super::{GraphDetail, GraphOptions, GraphSpan, MessageGraph};
use crate::display::{clean, count};

/// The smallest number of turns that are counted instead of drawn.
const LONG_RUN: usize = 4;

/// The labels of branches, checkpoints and pins.
pub(super) type Marks = Vec<(GraphSpan, String)>;

/// Messages that are drawn as one.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// The first message.
    pub(super) node: &'a Node,
    pub(super) messages: usize,
    pub(super) tool_calls: usize,
    /// The marks at the last message.
    pub(super) marks: Marks,
    /// Whether the messages are on the path that is drawn straight.
    pub(super) on_path: bool,
}

impl Row<'_> {
    pub(super) fn is_boundary(&self) -> bool {
        self.node.kind == NodeKind::Boundary
    }

    /// Returns the size of a row of several messages, for example `5 messages, 2 tool calls`.
    pub(super) fn size(&self) -> Option<String> {
        let messages = (self.messages > 1).then(|| count(self.messages, "message"))?;
        Some(match self.tool_calls {
            0 => messages,
            calls => format!("{messages}, {}", count(calls, "tool call")),
        })
    }

    /// Returns whether the row is a whole turn without marks.
    fn is_plain(&self) -> bool {
        self.marks.is_empty() && self.node.kind == NodeKind::Message(Role::User)
    }
}

/// A drawn element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// The row with this index.
    Row(usize),
    /// This number of turns.
    Turns(usize),
}

/// A tree for each root.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    /// Parents before children.
    pub(super) rows: Vec<Row<'a>>,
    /// The first rows, each with the number of messages before it that are not in the graph.
    pub(super) roots: Vec<(usize, u64)>,
    /// The children of every row. The last one continues the line of its parent, except at the end
    /// of the path that is drawn straight.
    children: Vec<Vec<usize>>,
    /// The branches without messages.
    pub(super) empty: Vec<(GraphSpan, String)>,
    /// The number of branches whose head is not in the graph.
    pub(super) missing: usize,
    folds: bool,
}

impl<'a> Tree<'a> {
    pub(super) fn of(graph: &'a MessageGraph, options: &GraphOptions) -> Self {
        let path = graph.path(options.branch.as_ref());
        let mut index = HashMap::with_capacity(graph.nodes.len());
        // Only earlier nodes can be parents, so there are no cycles.
        let mut parents = Vec::with_capacity(graph.nodes.len());
        let mut child_counts = vec![0usize; graph.nodes.len()];
        for (at, placed) in graph.nodes.iter().enumerate() {
            let parent = placed.parent.as_ref().and_then(|parent| index.get(parent).copied());
            parents.push(parent);
            index.insert(&placed.node.id, at);
            if let Some(parent) = parent {
                child_counts[parent] += 1;
            }
        }
        let mut marks = marks(graph);
        let mut tree = Self {
            rows: Vec::new(),
            roots: Vec::new(),
            children: Vec::new(),
            empty: empty(graph, options),
            missing: 0,
            folds: options.detail == GraphDetail::Overview,
        };
        let heads = graph.branches.iter().filter_map(|branch| branch.head.as_ref());
        tree.missing = heads.filter(|head| !index.contains_key(*head)).count();
        let (mut row_of, mut row_parents) = (Vec::<usize>::new(), Vec::new());
        for (placed, parent) in graph.nodes.iter().zip(&parents) {
            let node = &*placed.node;
            let (tool_calls, is_pinned) = contents(node);
            let mut marks = marks.remove(&node.id).unwrap_or_default();
            if is_pinned {
                marks.push((GraphSpan::Pin, "[pinned]".to_owned()));
            }
            let parent_row = parent.map(|parent| row_of[parent]);
            let begins = options.detail == GraphDetail::Messages
                || matches!(node.kind, NodeKind::Boundary | NodeKind::Message(Role::User))
                || parent.is_none_or(|parent| child_counts[parent] > 1);
            let open = |row: &usize| {
                let row: &Row<'_> = &tree.rows[*row];
                row.marks.is_empty() && !row.is_boundary()
            };
            if let Some(row) = parent_row.filter(|row| !begins && open(row)) {
                row_of.push(row);
                let row = &mut tree.rows[row];
                row.messages += 1;
                row.tool_calls += tool_calls;
                row.marks = marks;
                continue;
            }
            row_of.push(tree.rows.len());
            row_parents.push(parent_row);
            if parent.is_none() {
                tree.roots.push((tree.rows.len(), placed.depth));
            }
            let on_path = path.contains(&node.id);
            tree.rows.push(Row { node, messages: 1, tool_calls, marks, on_path });
        }
        tree.children = children(&tree.rows, &row_parents);
        tree
    }

    /// Returns the rows from `start` to the next fork or the end of the line.
    fn run_from(&self, start: usize) -> Vec<usize> {
        let (mut run, mut end) = (vec![start], start);
        while let ([], Some(next)) = self.after(end) {
            end = next;
            run.push(end);
        }
        run
    }

    /// Returns the rows that branch off after this one, and the row that continues its line.
    pub(super) fn after(&self, row: usize) -> (&[usize], Option<usize>) {
        match self.children[row].split_last() {
            Some((last, sides)) if self.rows[*last].on_path == self.rows[row].on_path => {
                (sides, Some(*last))
            }
            _ => (&self.children[row], None),
        }
    }

    /// Returns the elements from `start` to the next fork or the end of the line, and the last row
    /// of them.
    pub(super) fn elements_from(&self, start: usize) -> (Vec<Element>, usize) {
        let run = self.run_from(start);
        let end = run.last().copied().unwrap_or(start);
        let is_hidden =
            |i: usize| self.folds && i > 0 && i + 1 < run.len() && self.rows[run[i]].is_plain();
        let (mut elements, mut i) = (Vec::new(), 0);
        while i < run.len() {
            let hidden = (i..run.len()).take_while(|i| is_hidden(*i)).count();
            if hidden >= LONG_RUN {
                elements.push(Element::Turns(hidden));
                i += hidden;
            } else {
                let drawn = hidden.max(1);
                elements.extend(run[i..i + drawn].iter().map(|row| Element::Row(*row)));
                i += drawn;
            }
        }
        (elements, end)
    }

    /// Returns a description of the messages before a root, and of the branches that left there.
    pub(super) fn before(&self, messages: u64) -> Option<String> {
        let messages = usize::try_from(messages).unwrap_or(usize::MAX);
        let before = (messages > 0).then(|| format!("{} before", count(messages, "message")))?;
        Some(match self.missing {
            0 => before,
            branches => format!("{before}, and {}", count(branches, "branch")),
        })
    }
}

/// Returns the children of every row: those that branch off in their order, and last the one that
/// is on the path or has the largest subtree. The number of lines side by side is therefore at most
/// logarithmic in the number of rows.
fn children(rows: &[Row<'_>], parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut weights = vec![1usize; rows.len()];
    let mut children = vec![Vec::new(); rows.len()];
    for (row, parent) in parents.iter().enumerate().rev() {
        if let Some(parent) = parent {
            weights[*parent] += weights[row];
            children[*parent].push(row);
        }
    }
    for list in &mut children {
        list.reverse();
        let rank = |at: &usize| (rows[list[*at]].on_path, weights[list[*at]], *at);
        if let Some(last) = (0..list.len()).max_by_key(rank) {
            let last = list.remove(last);
            list.push(last);
        }
    }
    children
}

/// Returns the number of tool calls of a message, and whether it is pinned.
fn contents(node: &Node) -> (usize, bool) {
    if node.kind == NodeKind::Boundary {
        return (0, false);
    }
    // A message that cannot be read is drawn as one without content.
    node.message().map_or((0, false), |message| {
        let calls = message.parts.iter().filter(|part| matches!(part, Part::ToolCall(_)));
        (calls.count(), message.is_pinned())
    })
}

/// Returns the branches and checkpoints at each message, for example
/// `[main*] [checkpoint: paid]`.
fn marks(graph: &MessageGraph) -> HashMap<&MessageId, Marks> {
    let mut marks: HashMap<_, Marks> = HashMap::new();
    for branch in &graph.branches {
        if let Some(head) = &branch.head {
            marks.entry(head).or_default().push((GraphSpan::Branch, label(branch)));
        }
    }
    for checkpoint in &graph.checkpoints {
        let label = format!("[checkpoint: {}]", clean(checkpoint.name.as_str()));
        marks.entry(&checkpoint.message).or_default().push((GraphSpan::Checkpoint, label));
    }
    marks
}

/// Returns the branches without messages, which have no place in the graph.
fn empty(graph: &MessageGraph, options: &GraphOptions) -> Vec<(GraphSpan, String)> {
    let drawn = options.branch.as_ref().unwrap_or(&graph.chat.active);
    let empty = graph.branches.iter().filter(|branch| branch.head.is_none());
    empty
        .map(|branch| {
            let kind = if branch.name == *drawn { GraphSpan::Path } else { GraphSpan::Column };
            (kind, label(branch))
        })
        .collect()
}

/// Returns the label of a branch. A star marks the active one.
fn label(branch: &context_core::store::Branch) -> String {
    format!("[{}{}]", clean(branch.name.as_str()), if branch.active { "*" } else { "" })
}
