//! What the formats of plain data write: a fragment as tables, arrays and scalars.
//!
//! TOML and TOON have no fragments, only keys and values, so both write the same plain tree:
//!
//! * Null is left out. A map is a table, and so is a value that is a fragment: a table of one
//!   entry.
//! * A list of fragments alone, all of different names, is a table of them. Every other list is an
//!   array, and the fragments in it are tables of one entry. So order is kept and no name is lost.
//! * Asked to group, a list of fragments alone becomes a table of arrays, one for each name, under
//!   the plural. If two plurals are the same word, or something loose stands among the fragments,
//!   the list is not grouped.
//! * A fragment that somebody else wrote says so in its name: [`MARK`].
//!
//! The nodes lie in one arena and know their first child and their next sibling, so neither reading
//! nor writing nor dropping needs a stack. It knows nothing of how a format looks.

mod key;
mod lists;

use std::num::NonZeroUsize;

use context_core::Fragment;
use context_core::fragment::RenderError;

pub(crate) use self::key::{Key, MARK};
pub(crate) use self::lists::{all_different, is_shown, is_table};
use crate::inflect::{Inflector, Name};
use crate::walk::{Grouping, Label, Rules, Scalar, Shape, Visitor, Walker};

/// A node of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(NonZeroUsize);

impl NodeId {
    /// That of the node that is added when there are so many.
    fn new(nodes: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(nodes))
    }

    /// Its place among the nodes.
    pub(crate) fn index(self) -> usize {
        self.0.get() - 1
    }
}

/// A value and the key under which it stands; an item of an array has an empty one.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) value: Value<'a>,
    /// Whether a fragment stands here under its own name.
    is_fragment: bool,
    next: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Scalar(Scalar<'a>),
    Array(Children),
    Table(Children),
}

/// Nodes in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Children {
    first: Option<NodeId>,
    len: usize,
}

/// Nodes in order, of which there will be more.
#[derive(Clone, Copy, Debug, Default)]
struct Growing {
    children: Children,
    last: Option<NodeId>,
}

impl Children {
    pub(crate) fn first(&self) -> Option<NodeId> {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Plain trees of fragments, in one arena.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    nodes: Vec<Node<'a>>,
    open: Vec<Open>,
    /// What has been read at the top level.
    read: Option<NodeId>,
    group: bool,
    untrusted: bool,
    inflector: Inflector,
}

/// A container that has not ended.
#[derive(Debug)]
struct Open {
    node: NodeId,
    shape: Shape,
    children: Growing,
    /// How many of the children are fragments.
    fragments: usize,
    /// Whether one of the children says that somebody else wrote it.
    marked: bool,
}

impl<'a> Outline<'a> {
    /// Whether lists are grouped, and whether everything at the top level is taken for what
    /// somebody else wrote.
    pub(crate) fn new(group: bool, untrusted: bool) -> Self {
        Self {
            nodes: Vec::new(),
            open: Vec::new(),
            read: None,
            group,
            untrusted,
            inflector: Inflector::default(),
        }
    }

    /// Reads a fragment; nothing if its data is null.
    pub(crate) fn read(&mut self, fragment: &'a Fragment) -> Result<Option<NodeId>, RenderError> {
        self.open.clear();
        self.read = None;
        // Grouping needs the order as it was, for the lists that cannot be grouped. So it is done
        // here.
        Walker::new(Rules { grouping: Grouping::Off, empties: true }).fragment(fragment, self)?;
        Ok(self.read)
    }

    /// Forgets every node.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// How many nodes there are.
    #[cfg(feature = "toon")]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.index()]
    }

    pub(crate) fn next(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].next
    }

    pub(crate) fn nodes(&self, children: Children) -> impl Iterator<Item = (NodeId, &Node<'a>)> {
        let ids = std::iter::successors(children.first(), |id| self.next(*id));
        ids.take(children.len).map(|id| (id, self.node(id)))
    }

    /// Puts a node of a key into a table of one entry, which takes its place. The table has no key.
    pub(crate) fn wrap(&mut self, id: NodeId) {
        let next = self.nodes[id.index()].next;
        let inner = NodeId::new(self.nodes.len());
        let table = Value::Table(Children { first: Some(inner), len: 1 });
        let outer = Node { key: Key::none(), value: table, is_fragment: false, next };
        let mut moved = std::mem::replace(&mut self.nodes[id.index()], outer);
        moved.next = None;
        self.nodes.push(moved);
    }

    /// A node around others.
    #[cfg(feature = "toon")]
    pub(crate) fn gather(&mut self, ids: &[NodeId], value: fn(Children) -> Value<'a>) -> NodeId {
        let mut growing = Growing::default();
        ids.iter().for_each(|id| append(&mut self.nodes, &mut growing, *id));
        self.add(Key::none(), value(growing.children), false)
    }

    fn add(&mut self, key: Key<'a>, value: Value<'a>, is_fragment: bool) -> NodeId {
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(Node { key, value, is_fragment, next: None });
        id
    }

    /// A node in the container around it.
    fn place(&mut self, label: Label<'a>, value: Value<'a>) -> NodeId {
        let top = self.open.is_empty();
        let (key, is_fragment) = match label {
            Label::Fragment { name, untrusted } => {
                (Key::new(Name::Given(name), untrusted || (top && self.untrusted)), true)
            }
            Label::Key(name) | Label::Group(name) => (Key::new(Name::Given(name), false), false),
            Label::Item => (Key::none(), false),
        };
        let marked = key.is_marked();
        let id = self.add(key, value, is_fragment);
        match self.open.last_mut() {
            Some(open) => {
                open.fragments += usize::from(is_fragment);
                open.marked |= marked;
                append(&mut self.nodes, &mut open.children, id);
            }
            None => self.read = Some(id),
        }
        id
    }
}

fn append(nodes: &mut [Node<'_>], growing: &mut Growing, id: NodeId) {
    nodes[id.index()].next = None;
    match growing.last {
        None => growing.children.first = Some(id),
        Some(last) => nodes[last.index()].next = Some(id),
    }
    growing.last = Some(id);
    growing.children.len += 1;
}

impl<'a> Visitor<'a> for Outline<'a> {
    fn enter(&mut self, label: Label<'a>, shape: Shape, _depth: usize) {
        let node = self.place(label, Value::Table(Children::default()));
        self.open.push(Open {
            node,
            shape,
            children: Growing::default(),
            fragments: 0,
            marked: false,
        });
    }

    fn leaf(&mut self, label: Label<'a>, value: Scalar<'a>, _depth: usize) {
        self.place(label, Value::Scalar(value));
    }

    fn leave(&mut self, _depth: usize) {
        let Some(open) = self.open.pop() else { return };
        let value = match open.shape {
            Shape::List | Shape::Group => self.list(&open),
            Shape::Map => {
                if open.marked {
                    self.part_marked_entries(open.children.children);
                }
                Value::Table(open.children.children)
            }
            Shape::Single => Value::Table(open.children.children),
        };
        self.nodes[open.node.index()].value = value;
    }
}
