//! The walk that all renderers share: it decides which nodes are rendered, and in which order.
//!
//! * An entry whose value is a fragment contains that fragment, unless both have the same name:
//!   then they are one node.
//! * Null is left out. An empty container is left out as well, and so is a container that holds
//!   only such values, unless the format asks for [empties](Rules::empties).
//! * With grouping, the fragments of a list that is a fragment's data are gathered by name, each
//!   group at the position of its first member. Lists inside maps and lists stay as they are, and
//!   so does the top level.
//!
//! The walk does not depend on a format: the [`Visitor`] decides how a node looks and how it is
//! named. The walk keeps its own stack, so only memory limits the depth of the tree. A value that
//! occurs in several places is visited in each of them.

use std::collections::HashMap;
use std::{slice, vec};

use context_core::fragment::{FragmentMap, Number, RenderError};
use context_core::{Fragment, FragmentData};

/// A value without children.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Number(Number),
    Text(&'a str),
}

/// The role of a value in its container.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Label<'a> {
    /// A fragment of this name.
    Fragment {
        name: &'a str,
        /// Whether the fragment is marked as untrusted.
        untrusted: bool,
    },
    /// The value of a key.
    Key(&'a str),
    /// An item of a list.
    Item,
    /// A group of the fragments of this name.
    Group(&'a str),
}

/// The kind of content of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Items and fragments in order.
    List,
    /// Values by key.
    Map,
    /// One fragment: the data of another fragment, or the value of a key of another name.
    Single,
    /// Fragments of one name.
    Group,
}

/// The operations of a format on the nodes of the tree. Depth 0 is the top level.
pub(crate) trait Visitor<'a> {
    /// Begins a container.
    fn enter(&mut self, label: Label<'a>, shape: Shape, depth: usize);

    /// Begins an item that is a map in which only the entry that follows can have content.
    fn enter_pair(&mut self, depth: usize) {
        self.enter(Label::Item, Shape::Map, depth);
    }

    /// Writes a value.
    fn leaf(&mut self, label: Label<'a>, value: Scalar<'a>, depth: usize);

    /// Ends the container entered last.
    fn leave(&mut self, depth: usize);
}

/// The extent to which fragments are gathered by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Grouping {
    #[default]
    Off,
    /// Among the children of a fragment at the top level.
    Top,
    /// Among the children of every fragment.
    Everywhere,
}

/// The format's requirements on the walk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) grouping: Grouping,
    /// Whether empty containers are visited.
    pub(crate) empties: bool,
}

/// Walks through fragments. A walker can be used any number of times.
pub(crate) struct Walker<'a> {
    rules: Rules,
    stack: Vec<Frame<'a>>,
    /// The number of frames of the stack that the visitor has entered. The visitor enters the
    /// others once a value in them is found.
    entered: usize,
}

/// A container whose children are being visited.
struct Frame<'a> {
    label: Label<'a>,
    shape: Shape,
    children: Children<'a>,
}

impl Frame<'_> {
    /// Returns whether the container is a map and none of its remaining entries can have content.
    /// Only what is visible without a descent counts; otherwise the same nodes would be examined
    /// again and again. Containers are examined when their turn comes.
    fn is_pair(&self) -> bool {
        let is_nothing = |value: &FragmentData| match value {
            FragmentData::Null => true,
            FragmentData::List(list) => list.as_slice().is_empty(),
            FragmentData::Map(map) => map.is_empty(),
            _ => false,
        };
        matches!(&self.children,
            Children::Entries(rest) if rest.clone().all(|(_, value)| is_nothing(value)))
    }
}

enum Children<'a> {
    Fragments(slice::Iter<'a, Fragment>),
    Items(slice::Iter<'a, FragmentData>),
    Entries(<&'a FragmentMap as IntoIterator>::IntoIter),
    Grouped(vec::IntoIter<Entry<'a>>),
    Members(vec::IntoIter<&'a Fragment>),
    One(Option<&'a Fragment>),
}

/// A child of a list, or several grouped children.
enum Entry<'a> {
    Item(&'a FragmentData),
    Fragment(&'a Fragment),
    Group(Vec<&'a Fragment>),
}

impl<'a> Iterator for Children<'a> {
    type Item = (Option<&'a str>, Entry<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let unnamed = match self {
            Self::Entries(entries) => {
                let (key, value) = entries.next()?;
                return Some((Some(key), Entry::Item(value)));
            }
            Self::Items(items) => Entry::from(items.next()?),
            Self::Fragments(fragments) => Entry::Fragment(fragments.next()?),
            Self::Grouped(entries) => entries.next()?,
            Self::Members(members) => Entry::Fragment(members.next()?),
            Self::One(fragment) => Entry::Fragment(fragment.take()?),
        };
        Some((None, unnamed))
    }
}

impl<'a> From<&'a FragmentData> for Entry<'a> {
    fn from(item: &'a FragmentData) -> Self {
        match item {
            FragmentData::Fragment(fragment) => Self::Fragment(fragment),
            _ => Self::Item(item),
        }
    }
}

impl<'a> Walker<'a> {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, stack: Vec::new(), entered: 0 }
    }

    /// Walks through one fragment at the top level.
    pub(crate) fn fragment(
        &mut self,
        fragment: &'a Fragment,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), RenderError> {
        self.visit_fragment(fragment, visitor)?;
        self.run(visitor)
    }

    /// Walks through `fragments` as children of a fragment called `name`.
    pub(crate) fn wrapped(
        &mut self,
        name: &'a str,
        fragments: &'a [Fragment],
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), RenderError> {
        let children = match self.groups(0) {
            true => Children::Grouped(group_fragments(fragments.iter().map(Entry::Fragment))),
            false => Children::Fragments(fragments.iter()),
        };
        self.push(Label::Fragment { name, untrusted: false }, Shape::List, children, visitor);
        self.run(visitor)
    }

    fn run(&mut self, visitor: &mut impl Visitor<'a>) -> Result<(), RenderError> {
        while let Some(frame) = self.stack.last_mut() {
            match frame.children.next() {
                None => self.pop(visitor),
                Some((Some(key), Entry::Item(value))) => self.visit_entry(key, value, visitor)?,
                Some((_, Entry::Item(value))) => self.visit(Label::Item, value, false, visitor)?,
                Some((_, Entry::Fragment(fragment))) => self.visit_fragment(fragment, visitor)?,
                Some((_, Entry::Group(members))) => {
                    if let Some(first) = members.first() {
                        let label = Label::Group(first.name());
                        self.push(
                            label,
                            Shape::Group,
                            Children::Members(members.into_iter()),
                            visitor,
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn visit_entry(
        &mut self,
        key: &'a str,
        value: &'a FragmentData,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), RenderError> {
        match value {
            FragmentData::Fragment(fragment) if fragment.name() == key => {
                self.visit_fragment(fragment, visitor)
            }
            _ => self.visit(Label::Key(key), value, false, visitor),
        }
    }

    fn visit_fragment(
        &mut self,
        fragment: &'a Fragment,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), RenderError> {
        let data = fragment
            .data()
            .ok_or_else(|| RenderError::NotData { name: fragment.name().to_owned() })?;
        let label = Label::Fragment { name: fragment.name(), untrusted: fragment.is_untrusted() };
        self.visit(label, data, self.groups(self.stack.len()), visitor)
    }

    fn visit(
        &mut self,
        label: Label<'a>,
        data: &'a FragmentData,
        group: bool,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), RenderError> {
        match data {
            FragmentData::Null => {}
            FragmentData::Bool(value) => self.leaf(label, Scalar::Bool(*value), visitor),
            FragmentData::Number(number) => self.leaf(label, Scalar::Number(*number), visitor),
            FragmentData::Text(text) => self.leaf(label, Scalar::Text(text), visitor),
            FragmentData::Fragment(fragment) => {
                self.push(label, Shape::Single, Children::One(Some(fragment)), visitor);
            }
            FragmentData::List(list) if group && list.iter().any(FragmentData::is_fragment) => {
                let children = Children::Grouped(group_fragments(list.iter().map(Entry::from)));
                self.push(label, Shape::List, children, visitor);
            }
            FragmentData::List(list) => {
                self.push(label, Shape::List, Children::Items(list.iter()), visitor);
            }
            FragmentData::Map(map) => {
                self.push(label, Shape::Map, Children::Entries(map.iter()), visitor);
            }
            FragmentData::Lazy(_) => {
                return Err(RenderError::NotLoaded { name: self.name_of(label) });
            }
            // A kind of data that was added after this walk was written is refused rather than
            // lost.
            _ => return Err(RenderError::NotData { name: self.name_of(label) }),
        }
        Ok(())
    }

    fn groups(&self, depth: usize) -> bool {
        match self.rules.grouping {
            Grouping::Off => false,
            Grouping::Top => depth == 0,
            Grouping::Everywhere => true,
        }
    }

    /// Returns the nearest name around a value.
    fn name_of(&self, label: Label<'a>) -> String {
        let labels = std::iter::once(label).chain(self.stack.iter().rev().map(|frame| frame.label));
        let mut names = labels.filter_map(|label| match label {
            Label::Fragment { name, .. } | Label::Key(name) | Label::Group(name) => Some(name),
            Label::Item => None,
        });
        names.next().unwrap_or_default().to_owned()
    }

    fn push(
        &mut self,
        label: Label<'a>,
        shape: Shape,
        children: Children<'a>,
        visitor: &mut impl Visitor<'a>,
    ) {
        self.stack.push(Frame { label, shape, children });
        if self.rules.empties {
            self.enter(visitor);
        }
    }

    fn pop(&mut self, visitor: &mut impl Visitor<'a>) {
        self.stack.pop();
        let depth = self.stack.len();
        if self.entered > depth {
            self.entered = depth;
            visitor.leave(depth);
        }
    }

    #[inline]
    fn leaf(&mut self, label: Label<'a>, value: Scalar<'a>, visitor: &mut impl Visitor<'a>) {
        self.enter(visitor);
        visitor.leaf(label, value, self.stack.len());
    }

    /// Makes the visitor enter every open container that it has not entered yet.
    #[inline]
    fn enter(&mut self, visitor: &mut impl Visitor<'a>) {
        let depth = self.stack.len();
        for waiting in self.entered..depth {
            let frame = &self.stack[waiting];
            match frame.label {
                Label::Item if frame.is_pair() => visitor.enter_pair(waiting),
                label => visitor.enter(label, frame.shape, waiting),
            }
        }
        self.entered = depth;
    }
}

fn group_fragments<'a>(children: impl Iterator<Item = Entry<'a>>) -> vec::IntoIter<Entry<'a>> {
    let mut positions = HashMap::new();
    let mut out = Vec::new();
    for child in children {
        let Entry::Fragment(fragment) = child else {
            out.push(child);
            continue;
        };
        let position = *positions.entry(fragment.name()).or_insert(out.len());
        match out.get_mut(position) {
            Some(Entry::Group(members)) => members.push(fragment),
            _ => out.push(Entry::Group(vec![fragment])),
        }
    }
    out.into_iter()
}
