//! The walk every renderer shares: it decides what is rendered, in which order and under which name.
//!
//! * A fragment and a map entry are named by themselves; an item of a list is named after the list, in the
//!   singular.
//! * What holds nothing (null, a container of nothing) is left out, and so is everything that holds only that.
//! * An entry whose value is a fragment holds that fragment, unless both have the same name: then they are one.
//! * Asked to group, it gathers the fragments of a list that is a fragment's data by name, each group where the
//!   first of its members stood. Lists inside maps and lists stay as they are.
//!
//! It knows nothing of formats: how a node looks is up to the [`Visitor`]. It keeps its own stack, so the depth
//! of the tree is limited by memory only. A value that stands in several places is visited in each of them.

use std::collections::HashMap;
use std::slice;
use std::vec;

use context_core::{Fragment, FragmentData, FragmentMap, Number, RenderError};

use crate::inflect::{Inflector, Name};

/// A value without children.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Number(Number),
    Text(&'a str),
}

/// What a format does with the nodes of the tree. Depth 0 is the top level.
pub(crate) trait Visitor {
    /// A container begins; something is in it.
    fn enter(&mut self, name: &str, depth: usize);

    /// A named value.
    fn leaf(&mut self, name: &str, value: Scalar<'_>, depth: usize);

    /// The container entered last ends.
    fn leave(&mut self, name: &str, depth: usize);
}

/// Walks through `fragments`, as children of a fragment named `wrapper` if there is one.
pub(crate) fn walk(
    wrapper: Option<&str>,
    fragments: &[Fragment],
    group: bool,
    visitor: &mut impl Visitor,
) -> Result<(), RenderError> {
    let mut walk = Walk { stack: Vec::new(), entered: 0, group, inflector: Inflector::default(), visitor };
    match wrapper {
        Some(name) => {
            let children = match group {
                true => Children::Grouped(group_fragments(fragments.iter().map(Entry::Fragment))),
                false => Children::Fragments(fragments.iter()),
            };
            walk.push(Name::Given(name), children);
            walk.run()
        }
        None => fragments.iter().try_for_each(|fragment| {
            walk.fragment(fragment)?;
            walk.run()
        }),
    }
}

struct Walk<'a, 'v, V> {
    stack: Vec<Frame<'a>>,
    /// How many frames of the stack the visitor has entered. The others wait for something to hold.
    entered: usize,
    group: bool,
    inflector: Inflector,
    visitor: &'v mut V,
}

/// A container whose children are being visited.
struct Frame<'a> {
    name: Name<'a>,
    /// What the items are called, once one needs it.
    item: Option<Name<'a>>,
    children: Children<'a>,
}

enum Children<'a> {
    Fragments(slice::Iter<'a, Fragment>),
    Items(slice::Iter<'a, FragmentData>),
    Entries(<&'a FragmentMap as IntoIterator>::IntoIter),
    Grouped(vec::IntoIter<Entry<'a>>),
    Members(vec::IntoIter<&'a Fragment>),
    One(Option<&'a Fragment>),
}

/// A child of a list, or several gathered.
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

impl<'a, V: Visitor> Walk<'a, '_, V> {
    fn run(&mut self) -> Result<(), RenderError> {
        while let Some(frame) = self.stack.last_mut() {
            match frame.children.next() {
                None => self.pop(),
                Some((Some(key), Entry::Item(value))) => self.entry(key, value)?,
                Some((_, Entry::Item(value))) => {
                    let name = frame.item.get_or_insert_with(|| self.inflector.item(&frame.name)).clone();
                    self.value(name, value, false)?;
                }
                Some((_, Entry::Fragment(fragment))) => self.fragment(fragment)?,
                Some((_, Entry::Group(members))) => {
                    if let Some(first) = members.first() {
                        let name = self.inflector.group(&Name::Given(first.name()));
                        self.push(name, Children::Members(members.into_iter()));
                    }
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, key: &'a str, value: &'a FragmentData) -> Result<(), RenderError> {
        match value {
            FragmentData::Fragment(fragment) if fragment.name() == key => self.fragment(fragment),
            _ => self.value(Name::Given(key), value, false),
        }
    }

    fn fragment(&mut self, fragment: &'a Fragment) -> Result<(), RenderError> {
        let data =
            fragment.data().ok_or_else(|| RenderError::NotData { name: fragment.name().to_owned() })?;
        self.value(Name::Given(fragment.name()), data, self.group)
    }

    fn value(&mut self, name: Name<'a>, data: &'a FragmentData, group: bool) -> Result<(), RenderError> {
        match data {
            FragmentData::Null => {}
            FragmentData::Bool(value) => self.leaf(&name, Scalar::Bool(*value)),
            FragmentData::Number(number) => self.leaf(&name, Scalar::Number(*number)),
            FragmentData::Text(text) => self.leaf(&name, Scalar::Text(text)),
            FragmentData::Fragment(fragment) => self.push(name, Children::One(Some(fragment))),
            FragmentData::List(list) if group && list.iter().any(FragmentData::is_fragment) => {
                self.push(name, Children::Grouped(group_fragments(list.iter().map(Entry::from))));
            }
            FragmentData::List(list) => self.push(name, Children::Items(list.iter())),
            FragmentData::Map(map) => self.push(name, Children::Entries(map.iter())),
            // A kind of data younger than this walk: better refused than lost.
            _ => return Err(RenderError::NotData { name: name.to_string() }),
        }
        Ok(())
    }

    fn push(&mut self, name: Name<'a>, children: Children<'a>) {
        self.stack.push(Frame { name, item: None, children });
    }

    fn pop(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        let depth = self.stack.len();
        if self.entered > depth {
            self.entered = depth;
            self.visitor.leave(&frame.name, depth);
        }
    }

    fn leaf(&mut self, name: &str, value: Scalar<'_>) {
        let depth = self.stack.len();
        for waiting in self.entered..depth {
            self.visitor.enter(&self.stack[waiting].name, waiting);
        }
        self.entered = depth;
        self.visitor.leaf(name, value, depth);
    }
}

fn group_fragments<'a>(children: impl Iterator<Item = Entry<'a>>) -> vec::IntoIter<Entry<'a>> {
    let mut places = HashMap::new();
    let mut out = Vec::new();
    for child in children {
        let Entry::Fragment(fragment) = child else {
            out.push(child);
            continue;
        };
        let place = *places.entry(fragment.name()).or_insert(out.len());
        match out.get_mut(place) {
            Some(Entry::Group(members)) => members.push(fragment),
            _ => out.push(Entry::Group(vec![fragment])),
        }
    }
    out.into_iter()
}
