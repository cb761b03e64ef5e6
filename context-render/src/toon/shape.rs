//! Detection of tables of the same shape, which can be rows under one header.
//!
//! A table that holds only scalars and other such tables has a shape: the set of its keys with the
//! shapes of their values. Tables are rows if they have the same shape. Shapes are computed from
//! the inside out and represented by numbers, so finding them takes one visit per node, however the
//! tables are nested. A shape is not computed where it is not needed because a sibling of the table
//! is not a table.

use std::collections::HashMap;

use crate::outline::{Children, Key, Outline, OutlineNode, OutlineNodeId, Value};

/// Maximum depth of the tables in a row.
const MAX_DEPTH: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// One cell of a row.
    Cell,
    /// A table of cells and of other such tables.
    Row(usize),
    /// Anything else.
    Other,
}

/// The shapes of an outline's nodes.
#[derive(Debug, Default)]
pub(super) struct Shapes<'a> {
    /// The shape of each node, by node index.
    shapes: Vec<Shape>,
    known: HashMap<Box<[(Key<'a>, Shape)]>, usize>,
    /// The nesting depth of each shape, by shape number.
    depths: Vec<usize>,
    stack: Vec<Frame>,
    columns: Vec<(Key<'a>, Shape)>,
    /// The table whose shape was found last. The next table often has the same shape.
    last: Option<(OutlineNodeId, usize)>,
}

/// A container whose children are visited.
#[derive(Debug)]
struct Frame {
    id: OutlineNodeId,
    next: Option<OutlineNodeId>,
    /// Whether the shape of this container is needed.
    is_needed: bool,
    /// Whether the shapes of its children are needed.
    needs_children: bool,
}

impl<'a> Shapes<'a> {
    /// Finds the shapes of a node and of all nodes in it.
    pub(super) fn find(&mut self, outline: &Outline<'a>, root: OutlineNodeId) {
        self.shapes.clear();
        self.shapes.resize(outline.len(), Shape::Cell);
        self.last = None;
        self.visit(outline, root, false);
        while let Some(frame) = self.stack.last_mut() {
            if let Some(child) = frame.next {
                frame.next = outline.next(child);
                let is_needed = frame.needs_children;
                self.visit(outline, child, is_needed);
            } else {
                let Frame { id, is_needed, .. } = *frame;
                self.stack.pop();
                self.shapes[id.index()] =
                    if is_needed { self.shape(outline, id) } else { Shape::Other };
            }
        }
    }

    fn visit(&mut self, outline: &Outline<'a>, id: OutlineNodeId, is_needed: bool) {
        let (children, fewest) = match outline.node(id).value {
            Value::Scalar(_) => return,
            Value::Array(children) => (children, 1),
            Value::Table(children) => (children, 2),
        };
        let needs_children =
            is_needed || (children.len() >= fewest && could_be_rows(outline, children));
        self.stack.push(Frame { id, next: children.first(), is_needed, needs_children });
    }

    /// Returns the shape of a container whose children's shapes are known.
    fn shape(&mut self, outline: &Outline<'a>, id: OutlineNodeId) -> Shape {
        let Value::Table(children) = outline.node(id).value else { return Shape::Other };
        if let Some((last, row)) = self.last
            && self.has_columns_of(outline, children, last)
        {
            return Shape::Row(row);
        }
        let mut depth = 0;
        for (child, _) in outline.nodes(children) {
            match self.shapes[child.index()] {
                Shape::Cell => {}
                Shape::Row(row) => depth = depth.max(self.depths[row] + 1),
                Shape::Other => return Shape::Other,
            }
        }
        if children.is_empty() || depth > MAX_DEPTH {
            return Shape::Other;
        }
        let column = |(id, node): (OutlineNodeId, &crate::outline::OutlineNode<'a>)| {
            (node.key.clone(), self.shapes[id.index()])
        };
        self.columns.clear();
        self.columns.extend(outline.nodes(children).map(column));
        self.columns.sort_unstable_by(|(a, _), (b, _)| a.same().cmp(&b.same()));
        let row = match self.known.get(self.columns.as_slice()) {
            Some(known) => *known,
            None => {
                let new = self.depths.len();
                self.known.insert(self.columns.as_slice().into(), new);
                self.depths.push(depth);
                new
            }
        };
        self.last = Some((id, row));
        Shape::Row(row)
    }

    /// Returns whether a table has the columns of another, in the same order.
    fn has_columns_of(
        &self,
        outline: &Outline<'_>,
        children: Children,
        other: OutlineNodeId,
    ) -> bool {
        let Value::Table(others) = outline.node(other).value else { return false };
        let mut pairs = outline.nodes(children).zip(outline.nodes(others));
        let alike = |((a, node), (b, other)): (
            (OutlineNodeId, &OutlineNode<'_>),
            (OutlineNodeId, &OutlineNode<'_>),
        )| {
            self.shapes[a.index()] == self.shapes[b.index()] && node.key == other.key
        };
        children.len() == others.len() && pairs.all(alike)
    }

    /// Returns the first of these nodes if all are rows of one shape.
    pub(super) fn rows(&self, outline: &Outline<'a>, children: Children) -> Option<OutlineNodeId> {
        let first = children.first()?;
        let shape = self.shapes[first.index()];
        let alike = |(id, _): (OutlineNodeId, &_)| self.shapes[id.index()] == shape;
        (matches!(shape, Shape::Row(_)) && outline.nodes(children).all(alike)).then_some(first)
    }
}

/// A cheap first check: whether the nodes are tables with the same number of entries, and the first
/// key of each is a key of the first table. Keys are not compared if the first table has many.
fn could_be_rows(outline: &Outline<'_>, children: Children) -> bool {
    const MANY: usize = 8;
    let table = |id: OutlineNodeId| match outline.node(id).value {
        Value::Table(entries) => Some((entries, entries.first()?)),
        _ => None,
    };
    let Some((columns, _)) = children.first().and_then(table) else { return false };
    outline.nodes(children).all(|(id, _)| {
        table(id).is_some_and(|(row, first)| {
            let key = &outline.node(first).key;
            row.len() == columns.len()
                && (row.len() > MANY
                    || outline.nodes(columns).any(|(_, column)| column.key == *key))
        })
    })
}

/// Calls `cell` for the cells of a row, in the order of the columns of another row.
pub(super) fn for_each_cell<'a>(
    outline: &Outline<'a>,
    columns: OutlineNodeId,
    row: OutlineNodeId,
    mut cell: impl FnMut(OutlineNodeId),
) {
    let mut stack = vec![Cells::of(outline, columns, row)];
    while let Some(cells) = stack.last_mut() {
        let Some((column, id)) = cells.next(outline) else {
            stack.pop();
            continue;
        };
        match outline.node(id).value {
            Value::Table(_) => stack.push(Cells::of(outline, column, id)),
            _ => cell(id),
        }
    }
}

/// Returns whether the columns of two rows of one shape are in the same order.
pub(super) fn same_order(outline: &Outline<'_>, a: OutlineNodeId, b: OutlineNodeId) -> bool {
    let mut stack = vec![(a, b)];
    while let Some((a, b)) = stack.pop() {
        let (Value::Table(a), Value::Table(b)) = (outline.node(a).value, outline.node(b).value)
        else {
            continue;
        };
        for ((a, node), (b, other)) in outline.nodes(a).zip(outline.nodes(b)) {
            if node.key != other.key {
                return false;
            }
            if matches!(node.value, Value::Table(_)) {
                stack.push((a, b));
            }
        }
    }
    true
}

/// The values of a table, in the order of the columns of another table.
struct Cells<'a, 'o> {
    column: Option<OutlineNodeId>,
    row: Row<'a, 'o>,
}

enum Row<'a, 'o> {
    InOrder(Option<OutlineNodeId>),
    ByKey(HashMap<&'o Key<'a>, OutlineNodeId>),
}

impl<'a, 'o> Cells<'a, 'o> {
    fn of(outline: &'o Outline<'a>, columns: OutlineNodeId, row: OutlineNodeId) -> Self {
        let (Value::Table(columns), Value::Table(row)) =
            (outline.node(columns).value, outline.node(row).value)
        else {
            return Self { column: None, row: Row::InOrder(None) };
        };
        let pairs = || outline.nodes(columns).zip(outline.nodes(row));
        let in_order = pairs().all(|((_, column), (_, value))| column.key == value.key);
        let row = if in_order {
            Row::InOrder(row.first())
        } else {
            Row::ByKey(outline.nodes(row).map(|(id, node)| (&node.key, id)).collect())
        };
        Self { column: columns.first(), row }
    }

    fn next(&mut self, outline: &Outline<'_>) -> Option<(OutlineNodeId, OutlineNodeId)> {
        let column = self.column?;
        self.column = outline.next(column);
        let value = match &mut self.row {
            Row::InOrder(next) => {
                let value = (*next)?;
                *next = outline.next(value);
                value
            }
            Row::ByKey(values) => *values.get(&outline.node(column).key)?,
        };
        Some((column, value))
    }
}
