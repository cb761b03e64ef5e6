//! A fragment as tables, arrays and scalars, for the formats of plain data.
//!
//! TOML and TOON have no fragments, only keys and values, so both write the same plain tree:
//!
//! * Null is left out. A map is a table. A value that is a fragment is a table of one entry.
//! * A list that holds only fragments, all of different names, is a table of them. Every other list
//!   is an array, and the fragments in it are tables of one entry. So order is kept and no name is
//!   lost.
//! * With grouping, a list that holds only fragments becomes a table of arrays, one for each name,
//!   under the plural. If two plurals are the same word, or something other than a fragment stands
//!   in the list, the list is not grouped.
//! * The key of an untrusted fragment ends with [`MARK`].
//!
//! The nodes are stored in one arena and know their first child and their next sibling, so reading,
//! writing and dropping need no recursion. The outline does not depend on how a format looks.

mod key;
mod lists;

use std::num::NonZeroUsize;

use context_core::Fragment;
use context_core::fragment::RenderError;

pub(crate) use self::key::{Key, MARK};
pub(crate) use self::lists::{all_different, is_shown, is_table};
use crate::inflect::{Inflector, Name};
use crate::walk::{Grouping, Label, Rules, Scalar, Shape, Visitor, Walker};

/// The id of a node of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutlineNodeId(NonZeroUsize);

impl OutlineNodeId {
    /// Returns the id of the next node that is added to `nodes` nodes.
    fn new(nodes: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(nodes))
    }

    /// Returns the node's index in the arena.
    pub(crate) fn index(self) -> usize {
        self.0.get() - 1
    }
}

/// A node of an outline: a value and its key. An item of an array has an empty key.
#[derive(Debug)]
pub(crate) struct OutlineNode<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) value: Value<'a>,
    /// Whether the node is a fragment under its own name.
    is_fragment: bool,
    next: Option<OutlineNodeId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Scalar(Scalar<'a>),
    Array(Children),
    Table(Children),
}

/// Sibling nodes in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Children {
    first: Option<OutlineNodeId>,
    len: usize,
}

/// A list of sibling nodes in order, to which more are appended.
#[derive(Clone, Copy, Debug, Default)]
struct ChildList {
    children: Children,
    last: Option<OutlineNodeId>,
}

impl Children {
    pub(crate) fn first(&self) -> Option<OutlineNodeId> {
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
    nodes: Vec<OutlineNode<'a>>,
    open: Vec<Open>,
    /// The last node that was read at the top level.
    read: Option<OutlineNodeId>,
    group: bool,
    untrusted: bool,
    inflector: Inflector,
}

/// An open container.
#[derive(Debug)]
struct Open {
    node: OutlineNodeId,
    shape: Shape,
    children: ChildList,
    /// The number of children that are fragments.
    fragments: usize,
    /// Whether one of the children is marked as untrusted.
    marked: bool,
}

impl<'a> Outline<'a> {
    /// Creates an empty outline. `group`: lists are grouped. `untrusted`: all fragments at the top
    /// level are marked.
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

    /// Reads a fragment; returns `None` if its data is null.
    pub(crate) fn read(
        &mut self,
        fragment: &'a Fragment,
    ) -> Result<Option<OutlineNodeId>, RenderError> {
        self.open.clear();
        self.read = None;
        // Lists that cannot be grouped need the original order, so grouping is done here and not by
        // the walk.
        Walker::new(Rules { grouping: Grouping::Off, empties: true }).fragment(fragment, self)?;
        Ok(self.read)
    }

    /// Removes every node.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Returns the number of nodes.
    #[cfg(feature = "toon")]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, id: OutlineNodeId) -> &OutlineNode<'a> {
        &self.nodes[id.index()]
    }

    pub(crate) fn next(&self, id: OutlineNodeId) -> Option<OutlineNodeId> {
        self.nodes[id.index()].next
    }

    pub(crate) fn nodes(
        &self,
        children: Children,
    ) -> impl Iterator<Item = (OutlineNodeId, &OutlineNode<'a>)> {
        let ids = std::iter::successors(children.first(), |id| self.next(*id));
        ids.take(children.len).map(|id| (id, self.node(id)))
    }

    /// Replaces a node that has a key by a table whose only entry is that node. The table has no
    /// key.
    pub(crate) fn wrap(&mut self, id: OutlineNodeId) {
        let next = self.nodes[id.index()].next;
        let inner = OutlineNodeId::new(self.nodes.len());
        let table = Value::Table(Children { first: Some(inner), len: 1 });
        let outer = OutlineNode { key: Key::none(), value: table, is_fragment: false, next };
        let mut moved = std::mem::replace(&mut self.nodes[id.index()], outer);
        moved.next = None;
        self.nodes.push(moved);
    }

    /// Adds a node that contains other nodes.
    #[cfg(feature = "toon")]
    pub(crate) fn gather(
        &mut self,
        ids: &[OutlineNodeId],
        value: fn(Children) -> Value<'a>,
    ) -> OutlineNodeId {
        let mut list = ChildList::default();
        ids.iter().for_each(|id| append(&mut self.nodes, &mut list, *id));
        self.add(Key::none(), value(list.children), false)
    }

    fn add(&mut self, key: Key<'a>, value: Value<'a>, is_fragment: bool) -> OutlineNodeId {
        let id = OutlineNodeId::new(self.nodes.len());
        self.nodes.push(OutlineNode { key, value, is_fragment, next: None });
        id
    }

    /// Adds a node to the innermost open container.
    fn insert(&mut self, label: Label<'a>, value: Value<'a>) -> OutlineNodeId {
        let top = self.open.is_empty();
        let (key, is_fragment) = match label {
            Label::Fragment { name, untrusted } => {
                (Key::new(Name::Borrowed(name), untrusted || (top && self.untrusted)), true)
            }
            Label::Key(name) | Label::Group(name) => (Key::new(Name::Borrowed(name), false), false),
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

fn append(nodes: &mut [OutlineNode<'_>], list: &mut ChildList, id: OutlineNodeId) {
    nodes[id.index()].next = None;
    match list.last {
        None => list.children.first = Some(id),
        Some(last) => nodes[last.index()].next = Some(id),
    }
    list.last = Some(id);
    list.children.len += 1;
}

impl<'a> Visitor<'a> for Outline<'a> {
    fn enter(&mut self, label: Label<'a>, shape: Shape, _depth: usize) {
        let node = self.insert(label, Value::Table(Children::default()));
        self.open.push(Open {
            node,
            shape,
            children: ChildList::default(),
            fragments: 0,
            marked: false,
        });
    }

    fn leaf(&mut self, label: Label<'a>, value: Scalar<'a>, _depth: usize) {
        self.insert(label, Value::Scalar(value));
    }

    fn leave(&mut self, _depth: usize) {
        let Some(open) = self.open.pop() else { return };
        let value = match open.shape {
            Shape::List | Shape::Group => self.list(&open),
            Shape::Map => {
                if open.marked {
                    self.separate_marked_entries(open.children.children);
                }
                Value::Table(open.children.children)
            }
            Shape::Single => Value::Table(open.children.children),
        };
        self.nodes[open.node.index()].value = value;
    }
}
