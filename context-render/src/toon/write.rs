//! The layout of TOON: fields, items and rows on lines of their own.
//!
//! One loop with a stack of the fields and items that are still to be written.

use std::fmt::Write;

use context_core::fragment::Form;

use super::shape::{Shapes, for_each_cell};
use super::text::{push_key, push_scalar};
use crate::outline::{Children, Outline, OutlineNodeId, Value};

/// A field of a prompt that is an object.
pub(super) const FIELD: Form = Form(0);
/// An item of a prompt that is an array.
pub(super) const ITEM: Form = Form(1);
/// An item of a prompt that is an array, as a row under a header.
pub(super) const ROW: Form = Form(2);
/// A field as a row under a header.
pub(super) const KEYED_ROW: Form = Form(3);
/// A piece that is already written in the head of the prompt.
pub(super) const IN_HEAD: Form = Form(4);

const SPACES: &str = "                                                                ";

/// Writes pieces and whole prompts.
pub(super) struct Writer<'w, 'a> {
    outline: &'w Outline<'a>,
    shapes: &'w Shapes<'a>,
    out: &'w mut String,
    start: usize,
    stack: Vec<Frame>,
}

/// Fields or items still to be written.
struct Frame {
    next: Option<OutlineNodeId>,
    depth: usize,
    items: bool,
}

impl<'w, 'a> Writer<'w, 'a> {
    pub(super) fn new(
        outline: &'w Outline<'a>,
        shapes: &'w Shapes<'a>,
        out: &'w mut String,
    ) -> Self {
        let start = out.len();
        Self { outline, shapes, out, start, stack: Vec::new() }
    }

    /// Writes the piece of a fragment. An item or a row of an array is a table of one entry.
    pub(super) fn piece(mut self, root: OutlineNodeId, form: Form) {
        match form {
            IN_HEAD => {}
            ITEM => self.item(root, 1),
            ROW => self.row(root, root, 1),
            KEYED_ROW => self.keyed_row(root, root, 1),
            _ => self.field(root, 0),
        }
        self.run();
    }

    /// Writes a whole prompt.
    pub(super) fn document(mut self, root: OutlineNodeId) {
        self.header_of_document(root);
        match self.outline.node(root).value {
            Value::Scalar(_) => {}
            Value::Array(children) => match self.shapes.rows(self.outline, children) {
                Some(columns) => self.rows(children, columns, 1, false),
                None => self.push(children.first(), 1, true),
            },
            Value::Table(children) => match self.keyed_rows(children) {
                Some(columns) => self.rows(children, columns, 1, true),
                None => self.push(children.first(), 0, false),
            },
        }
        self.run();
    }

    /// Writes the header in front of the pieces of a prompt.
    pub(super) fn header_of_document(&mut self, root: OutlineNodeId) {
        match self.outline.node(root).value {
            Value::Scalar(_) => {}
            Value::Array(children) => {
                self.length(children, false);
                self.columns(self.shapes.rows(self.outline, children));
                self.out.push(':');
            }
            Value::Table(children) => {
                let Some(columns) = self.keyed_rows(children) else { return };
                self.length(children, true);
                self.columns(Some(columns));
                self.out.push(':');
            }
        }
    }

    fn run(&mut self) {
        while let Some(frame) = self.stack.last_mut() {
            let Some(id) = frame.next else {
                self.stack.pop();
                continue;
            };
            frame.next = self.outline.next(id);
            let (depth, items) = (frame.depth, frame.items);
            if items {
                self.item(id, depth);
            } else {
                self.new_line(depth);
                self.field(id, depth);
            }
        }
    }

    fn push(&mut self, next: Option<OutlineNodeId>, depth: usize, items: bool) {
        if next.is_some() {
            self.stack.push(Frame { next, depth, items });
        }
    }

    /// Writes a key and its value on a line that has begun. The content of the value is one level
    /// deeper.
    fn field(&mut self, id: OutlineNodeId, depth: usize) {
        let node = self.outline.node(id);
        push_key(self.out, &node.key);
        match node.value {
            Value::Scalar(value) => {
                self.out.push_str(": ");
                push_scalar(self.out, value);
            }
            Value::Array(children) if children.is_empty() => self.out.push_str(": []"),
            Value::Array(children) => {
                self.length(children, false);
                if self.is_flat(children) {
                    return self.flat(children);
                }
                let columns = self.shapes.rows(self.outline, children);
                self.columns(columns);
                self.out.push(':');
                match columns {
                    Some(columns) => self.rows(children, columns, depth + 1, false),
                    None => self.push(children.first(), depth + 1, true),
                }
            }
            Value::Table(children) => match self.keyed_rows(children) {
                Some(columns) => {
                    self.length(children, true);
                    self.columns(Some(columns));
                    self.out.push(':');
                    self.rows(children, columns, depth + 1, true);
                }
                None => {
                    self.out.push(':');
                    self.push(children.first(), depth + 1, false);
                }
            },
        }
    }

    fn item(&mut self, id: OutlineNodeId, depth: usize) {
        self.new_line(depth);
        self.out.push('-');
        match self.outline.node(id).value {
            Value::Scalar(value) => {
                self.out.push(' ');
                push_scalar(self.out, value);
            }
            Value::Array(children) => {
                self.out.push(' ');
                self.length(children, false);
                if self.is_flat(children) {
                    return self.flat(children);
                }
                // Rows need a key in front of their header.
                self.out.push(':');
                self.push(children.first(), depth + 1, true);
            }
            Value::Table(children) => {
                let Some(first) = children.first() else { return };
                self.out.push(' ');
                // The other fields follow the content of the first field.
                self.push(self.outline.next(first), depth + 1, false);
                self.field(first, depth + 1);
            }
        }
    }

    fn is_flat(&self, children: Children) -> bool {
        self.outline.nodes(children).all(|(_, node)| matches!(node.value, Value::Scalar(_)))
    }

    /// Writes the scalars of an array after its length.
    fn flat(&mut self, children: Children) {
        self.out.push(':');
        for (index, (_, node)) in self.outline.nodes(children).enumerate() {
            self.out.push(if index == 0 { ' ' } else { ',' });
            if let Value::Scalar(value) = node.value {
                push_scalar(self.out, value);
            }
        }
    }

    fn length(&mut self, children: Children, keyed: bool) {
        // Writing to a string never fails.
        let _ = write!(self.out, "[{}{}]", children.len(), if keyed { ":" } else { "" });
    }

    /// Returns the first value of a table if its values can be rows with keys.
    fn keyed_rows(&self, children: Children) -> Option<OutlineNodeId> {
        if children.len() < 2 { None } else { self.shapes.rows(self.outline, children) }
    }

    /// Writes the names of the columns, in the order of this row.
    fn columns(&mut self, row: Option<OutlineNodeId>) {
        let outline = self.outline;
        let mut stack = Vec::new();
        if let Some(row) = row {
            self.out.push('{');
            stack.push(first_of(outline, row));
        }
        while let Some(next) = stack.last_mut() {
            let Some(id) = *next else {
                self.out.push('}');
                stack.pop();
                continue;
            };
            *next = outline.next(id);
            if !self.out.ends_with('{') {
                self.out.push(',');
            }
            push_key(self.out, &outline.node(id).key);
            if let Value::Table(_) = outline.node(id).value {
                self.out.push('{');
                stack.push(first_of(outline, id));
            }
        }
    }

    fn rows(&mut self, children: Children, columns: OutlineNodeId, depth: usize, keyed: bool) {
        let outline = self.outline;
        for (id, _) in outline.nodes(children) {
            if keyed {
                self.keyed_row(columns, id, depth);
            } else {
                self.row(columns, id, depth);
            }
        }
    }

    fn keyed_row(&mut self, columns: OutlineNodeId, row: OutlineNodeId, depth: usize) {
        self.new_line(depth);
        push_key(self.out, &self.outline.node(row).key);
        self.out.push_str(": ");
        self.cells(columns, row);
    }

    fn row(&mut self, columns: OutlineNodeId, row: OutlineNodeId, depth: usize) {
        self.new_line(depth);
        self.cells(columns, row);
    }

    fn cells(&mut self, columns: OutlineNodeId, row: OutlineNodeId) {
        let (outline, out) = (self.outline, &mut *self.out);
        let mut first = true;
        for_each_cell(outline, columns, row, |id| {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            if let Value::Scalar(value) = outline.node(id).value {
                push_scalar(out, value);
            }
        });
    }

    fn new_line(&mut self, depth: usize) {
        if self.out.len() > self.start {
            self.out.push('\n');
        }
        let mut spaces = 2 * depth;
        while spaces > 0 {
            let now = spaces.min(SPACES.len());
            self.out.push_str(&SPACES[..now]);
            spaces -= now;
        }
    }
}

fn first_of(outline: &Outline<'_>, id: OutlineNodeId) -> Option<OutlineNodeId> {
    match outline.node(id).value {
        Value::Scalar(_) => None,
        Value::Array(children) | Value::Table(children) => children.first(),
    }
}
