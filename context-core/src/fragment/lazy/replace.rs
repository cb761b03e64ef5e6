//! Finding and replacing lazy data in a tree, without recursion.

use std::fmt::Write;

use indexmap::IndexMap;

use super::LazyData;
use crate::{Fragment, FragmentData};

impl FragmentData {
    /// Returns whether the tree contains data that is not loaded yet.
    pub fn has_lazy(&self) -> bool {
        let mut stack = vec![self];
        while let Some(data) = stack.pop() {
            match data {
                Self::Lazy(_) => return true,
                Self::List(list) => stack.extend(list.iter()),
                Self::Map(map) => stack.extend(map.values()),
                Self::Fragment(fragment) => stack.extend(fragment.data()),
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {}
            }
        }
        false
    }

    /// Returns the tree with all lazy data replaced. Unchanged containers are shared with this
    /// tree.
    ///
    /// `replace` is called with the path below `root`, such as `rules.policies[2]`, and the lazy
    /// data, in order.
    pub fn replace_lazy(
        &self,
        root: &str,
        mut replace: impl FnMut(&str, &LazyData) -> FragmentData,
    ) -> FragmentData {
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut next = self;
        loop {
            // Descend to a leaf or an empty container.
            let mut done = match next {
                Self::Lazy(lazy) => (replace(&path(root, &open), lazy), true),
                Self::List(list) => match list.as_slice().first() {
                    Some(first) => {
                        open.push(Open::new(next));
                        next = first;
                        continue;
                    }
                    None => (next.clone(), false),
                },
                Self::Map(map) => match map.values().next() {
                    Some(first) => {
                        open.push(Open::new(next));
                        next = first;
                        continue;
                    }
                    None => (next.clone(), false),
                },
                Self::Fragment(fragment) => match fragment.data() {
                    Some(data) => {
                        open.push(Open::new(next));
                        next = data;
                        continue;
                    }
                    None => (next.clone(), false),
                },
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {
                    (next.clone(), false)
                }
            };
            // Ascend to the first container with another child.
            loop {
                let Some(mut parent) = open.pop() else { return done.0 };
                let (data, changed) = done;
                parent.done.push(data);
                parent.changed |= changed;
                if let Some(child) = parent.next_child() {
                    next = child;
                    open.push(parent);
                    break;
                }
                done = parent.close();
            }
        }
    }
}

/// A container whose children are being visited.
struct Open<'a> {
    data: &'a FragmentData,
    done: Vec<FragmentData>,
    changed: bool,
}

impl<'a> Open<'a> {
    fn new(data: &'a FragmentData) -> Self {
        Self { data, done: Vec::new(), changed: false }
    }

    fn next_child(&self) -> Option<&'a FragmentData> {
        match self.data {
            FragmentData::List(list) => list.as_slice().get(self.done.len()),
            FragmentData::Map(map) => map.at(self.done.len()).map(|(_, value)| value),
            _ => None,
        }
    }

    fn close(self) -> (FragmentData, bool) {
        if !self.changed {
            return (self.data.clone(), false);
        }
        let data = match self.data {
            FragmentData::Map(map) => {
                let keys = map.iter().map(|(key, _)| key.clone());
                FragmentData::map(keys.zip(self.done).collect::<IndexMap<_, _>>())
            }
            FragmentData::Fragment(fragment) => {
                let data = self.done.into_iter().next().unwrap_or_default();
                Fragment::clone(fragment).with_data(data).into()
            }
            _ => FragmentData::list(self.done),
        };
        (data, true)
    }
}

fn path(root: &str, open: &[Open<'_>]) -> String {
    let mut path = root.to_owned();
    for parent in open {
        // Writing to a string never fails.
        let _ = match parent.data {
            FragmentData::List(_) => write!(path, "[{}]", parent.done.len()),
            FragmentData::Map(map) => {
                write!(path, ".{}", map.at(parent.done.len()).map_or("", |(key, _)| key))
            }
            FragmentData::Fragment(fragment) => write!(path, ".{}", fragment.name()),
            _ => Ok(()),
        };
    }
    path
}
