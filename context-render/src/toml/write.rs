//! The layout of a TOML document: headers, dotted keys, arrays and inline tables.
//!
//! Two loops with a stack each: one for tables whose entries have lines of their own, whose depth
//! is limited by the length of a path, and one for the values inside a line.

use context_core::fragment::Form;

use super::text::{push_key, push_line_scalar, push_scalar};
use crate::outline::{Children, Key, Outline, OutlineNode, OutlineNodeId, Value};

/// A table with a header.
pub(super) const HEADED: Form = Form(0);
/// A table whose entries have dotted keys, because a key that is not dotted follows.
pub(super) const DOTTED: Form = Form(1);
/// An item of the array of all fragments.
pub(super) const ITEM: Form = Form(2);

/// The array of all fragments.
const FRAGMENTS: &str = "fragments";

/// Maximum number of names in a header or a dotted key.
const MAX_PATH_NAMES: usize = 8;

/// Maximum length in bytes of a path that is repeated for the entries under it.
const MAX_PATH_BYTES: usize = 256;

/// Writes pieces. Its buffers are reused from one piece to the next.
#[derive(Debug, Default)]
pub(super) struct Writer {
    levels: Vec<Level>,
    /// The names of the open tables in written form.
    path: String,
    frames: Vec<Frame>,
}

/// A table whose entries have lines of their own.
#[derive(Debug)]
struct Level {
    next: Option<OutlineNodeId>,
    /// The number of entries, from `next` on, before the first that may have a header.
    before_headers: usize,
    /// Start of the part of the path that no header states; that part is written in front of each
    /// key.
    dotted_from: usize,
    /// The length of its path.
    path: usize,
}

/// An array or a table inside a value.
#[derive(Debug)]
struct Frame {
    next: Option<OutlineNodeId>,
    kind: Kind,
    first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A table on one line.
    Table,
    /// An array on one line.
    Array,
    /// An array with a line for each item.
    Lines,
}

impl Writer {
    pub(super) fn write(
        &mut self,
        outline: &Outline<'_>,
        root: OutlineNodeId,
        form: Form,
        out: &mut String,
    ) {
        let start = out.len();
        self.levels.clear();
        self.path.clear();
        let node = outline.node(root);
        match node.value {
            Value::Table(children) if form == ITEM => {
                self.path.push_str(FRAGMENTS);
                out.push_str("[[");
                out.push_str(FRAGMENTS);
                out.push_str("]]");
                self.open(outline, children, true);
            }
            Value::Table(children) if form == HEADED => {
                self.push_name(&node.key);
                self.push_header(out);
                self.open(outline, children, true);
            }
            value => {
                self.push_name(&node.key);
                match value {
                    Value::Table(children) if self.can_be_dotted(children, 0) => {
                        self.open(outline, children, false);
                    }
                    _ => {
                        out.push_str(&self.path);
                        self.write_value(outline, value, out);
                    }
                }
            }
        }
        self.write_entries(outline, start, out);
    }

    /// Writes the entries of the open tables.
    fn write_entries(&mut self, outline: &Outline<'_>, start: usize, out: &mut String) {
        while let Some(level) = self.levels.last_mut() {
            self.path.truncate(level.path);
            let Some(id) = level.next else {
                self.levels.pop();
                continue;
            };
            level.next = outline.next(id);
            let before_headers = level.before_headers > 0;
            level.before_headers = level.before_headers.saturating_sub(1);
            let dotted_from = level.dotted_from;
            let OutlineNode { key, value, .. } = outline.node(id);
            self.push_name(key);
            match *value {
                Value::Table(children) if !before_headers => {
                    out.push_str("\n\n");
                    self.push_header(out);
                    self.open(outline, children, true);
                }
                Value::Table(children) if self.can_be_dotted(children, dotted_from) => {
                    self.open(outline, children, false);
                }
                value => {
                    if out.len() > start {
                        out.push('\n');
                    }
                    out.push_str(&self.path[dotted_from..]);
                    self.write_value(outline, value, out);
                }
            }
        }
    }

    /// Returns whether the keys of the table at the current path may be written with that path in
    /// front.
    fn can_be_dotted(&self, children: Children, dotted_from: usize) -> bool {
        !children.is_empty()
            && self.levels.len() + 1 < MAX_PATH_NAMES
            && self.path.len() - dotted_from <= MAX_PATH_BYTES
    }

    /// Opens the table at the current path, after its header if it has one.
    fn open(&mut self, outline: &Outline<'_>, children: Children, headed: bool) {
        let may_have_headers =
            headed && self.levels.len() + 1 < MAX_PATH_NAMES && self.path.len() <= MAX_PATH_BYTES;
        let before_headers = if may_have_headers {
            let values = outline.nodes(children).map(|(_, node)| &node.value).enumerate();
            let plain = values.filter(|(_, value)| !matches!(value, Value::Table(_)));
            plain.last().map_or(0, |(index, _)| index + 1)
        } else {
            children.len()
        };
        let dotted_from = match (headed, self.levels.last()) {
            // The header also makes the dot unnecessary.
            (true, _) => self.path.len() + 1,
            (false, Some(around)) => around.dotted_from,
            (false, None) => 0,
        };
        self.levels.push(Level {
            next: children.first(),
            before_headers,
            dotted_from,
            path: self.path.len(),
        });
    }

    fn push_name(&mut self, key: &Key<'_>) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        push_key(&mut self.path, key);
    }

    fn push_header(&self, out: &mut String) {
        out.push('[');
        out.push_str(&self.path);
        out.push(']');
    }

    fn write_value(&mut self, outline: &Outline<'_>, value: Value<'_>, out: &mut String) {
        out.push_str(" = ");
        match value {
            Value::Scalar(value) => push_line_scalar(out, value),
            Value::Array(children) => {
                let mut values = outline.nodes(children).map(|(_, node)| &node.value);
                let flat = values.all(|value| matches!(value, Value::Scalar(_)));
                let kind = if flat { Kind::Array } else { Kind::Lines };
                self.begin(children, kind, out);
            }
            Value::Table(children) => self.begin(children, Kind::Table, out),
        }
        self.write_inside(outline, out);
    }

    fn begin(&mut self, children: Children, kind: Kind, out: &mut String) {
        match kind {
            Kind::Table if children.is_empty() => return out.push_str("{}"),
            Kind::Table => out.push_str("{ "),
            Kind::Array | Kind::Lines => out.push('['),
        }
        self.frames.push(Frame { next: children.first(), kind, first: true });
    }

    fn write_inside(&mut self, outline: &Outline<'_>, out: &mut String) {
        while let Some(frame) = self.frames.last_mut() {
            let Some(id) = frame.next else {
                out.push_str(match frame.kind {
                    Kind::Table => " }",
                    Kind::Array => "]",
                    Kind::Lines => ",\n]",
                });
                self.frames.pop();
                continue;
            };
            frame.next = outline.next(id);
            let first = std::mem::take(&mut frame.first);
            out.push_str(match (frame.kind, first) {
                (Kind::Lines, true) => "\n  ",
                (Kind::Lines, false) => ",\n  ",
                (_, true) => "",
                (_, false) => ", ",
            });
            let node = outline.node(id);
            if frame.kind == Kind::Table {
                push_key(out, &node.key);
                out.push_str(" = ");
            }
            match node.value {
                Value::Scalar(value) => push_scalar(out, value),
                Value::Array(children) => self.begin(children, Kind::Array, out),
                Value::Table(children) => self.begin(children, Kind::Table, out),
            }
        }
    }
}
