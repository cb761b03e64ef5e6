//! Conversion of lists, and of maps in which two keys could collide.

use std::collections::{HashMap, HashSet};

use context_core::{Fragment, FragmentData};

use super::{
    ChildList, Children, Key, MARK, Open, Outline, OutlineNode, OutlineNodeId, Value, append,
};
use crate::inflect::Inflector;

/// Up to this many keys are compared one by one; beyond it they are hashed.
const FEW: usize = 8;

impl<'a> Outline<'a> {
    /// Returns the value of a list whose children are complete.
    pub(super) fn list(&mut self, open: &Open) -> Value<'a> {
        let children = open.children.children;
        let only_fragments = !children.is_empty() && open.fragments == children.len;
        if only_fragments {
            if self.group
                && self.node(open.node).is_fragment
                && let Some(groups) = self.groups(children)
            {
                return Value::Table(groups);
            }
            if all_different(self.nodes(children).map(|(_, node)| &node.key)) {
                return Value::Table(children);
            }
        }
        if open.fragments > 0 {
            let mut child = children.first();
            while let Some(id) = child {
                if self.node(id).is_fragment {
                    self.wrap(id);
                }
                child = self.next(id);
            }
        }
        Value::Array(children)
    }

    /// Gathers fragments by name, if the plurals of their names are all different.
    fn groups(&mut self, children: Children) -> Option<Children> {
        let ids: Vec<OutlineNodeId> = self.nodes(children).map(|(id, _)| id).collect();
        let mut inflector = std::mem::take(&mut self.inflector);
        let grouped = group(ids.iter().map(|id| &self.node(*id).key), &mut inflector);
        self.inflector = inflector;
        let KeyGroups { keys, groups } = grouped?;
        let mut members = vec![ChildList::default(); keys.len()];
        for (id, group) in ids.into_iter().zip(groups) {
            let OutlineNode { key, is_fragment, .. } = &mut self.nodes[id.index()];
            (*key, *is_fragment) = (Key::none(), false);
            append(&mut self.nodes, &mut members[group], id);
        }
        let mut groups = ChildList::default();
        for (key, members) in keys.into_iter().zip(members) {
            let id = self.add(key, Value::Array(members.children), false);
            append(&mut self.nodes, &mut groups, id);
        }
        Some(groups.children)
    }

    /// An entry whose value is a marked fragment of the same name is merged with it, under the
    /// marked name. If another key of the map has that marked name, the entry contains the fragment
    /// instead.
    pub(super) fn separate_marked_entries(&mut self, children: Children) {
        let names: HashSet<&str> =
            self.nodes(children).map(|(_, node)| &**node.key.name()).collect();
        let collides = |node: &OutlineNode<'_>| {
            node.key.is_marked() && names.contains([&**node.key.name(), MARK].concat().as_str())
        };
        let colliding: Vec<_> =
            self.nodes(children).filter(|(_, node)| collides(node)).map(|(id, _)| id).collect();
        for id in colliding {
            let name = self.node(id).key.name().clone();
            self.wrap(id);
            self.nodes[id.index()].key = Key::new(name, false);
        }
    }
}

struct KeyGroups<'a> {
    /// The keys of the groups, in the order of their first members.
    keys: Vec<Key<'a>>,
    /// For each member, the index of its group.
    groups: Vec<usize>,
}

fn group<'k, 'a: 'k>(
    members: impl Iterator<Item = &'k Key<'a>>,
    inflector: &mut Inflector,
) -> Option<KeyGroups<'a>> {
    let mut known = HashMap::new();
    let (mut keys, mut groups) = (Vec::new(), Vec::new());
    for key in members {
        let group = *known.entry(key).or_insert_with(|| {
            keys.push(key.plural(inflector));
            keys.len() - 1
        });
        groups.push(group);
    }
    all_different(keys.iter()).then_some(KeyGroups { keys, groups })
}

/// Returns whether no two keys have the same written form.
pub(crate) fn all_different<'k, 'a: 'k>(keys: impl Iterator<Item = &'k Key<'a>>) -> bool {
    let mut few: [Option<&Key<'_>>; FEW] = [None; FEW];
    let mut many = HashSet::new();
    let left = keys.size_hint().0;
    for (index, key) in keys.enumerate() {
        if index < FEW {
            if few[..index].contains(&Some(key)) {
                return false;
            }
            few[index] = Some(key);
            continue;
        }
        if index == FEW {
            many.reserve(FEW + left);
            many.extend(few.iter().flatten().copied());
        }
        if !many.insert(key) {
            return false;
        }
    }
    true
}

/// Returns whether the data of a fragment becomes a table. Examines only the kind of the data and,
/// for a list, the names in it. Data that cannot be rendered is not a table. Lists are grouped if
/// `inflector` is given.
pub(crate) fn is_table(data: &FragmentData, mut inflector: Option<&mut Inflector>) -> bool {
    let list = match data {
        FragmentData::Map(_) | FragmentData::Fragment(_) => return true,
        FragmentData::List(list) => list,
        _ => return false,
    };
    let mut keys = Vec::new();
    for item in list.iter() {
        match item {
            FragmentData::Fragment(fragment) if is_shown(fragment) => {
                keys.push(Key::of(fragment, false));
                // Most lists that are not tables are recognised here.
                if inflector.is_none() && matches!(keys.as_slice(), [.., a, b] if a == b) {
                    return false;
                }
            }
            FragmentData::Fragment(_) | FragmentData::Null => {}
            _ => return false,
        }
    }
    let mut groups =
        || inflector.as_mut().is_some_and(|inflector| group(keys.iter(), inflector).is_some());
    !keys.is_empty() && (all_different(keys.iter()) || groups())
}

/// Returns whether a fragment's data is not null.
pub(crate) fn is_shown(fragment: &Fragment) -> bool {
    !matches!(fragment.data(), Some(FragmentData::Null))
}
