//! The plain tree of fragments that TOML and TOON must read back. It follows the rules in the docs
//! and uses none of the crate's own code but its plurals.

use std::collections::HashSet;

use context_core::fragment::Number;
use context_core::{Fragment, FragmentData};
use context_render::plural;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plain {
    Bool(bool),
    Number(Number),
    Text(String),
    Array(Vec<Plain>),
    Table(Vec<(String, Plain)>),
}

impl Plain {
    /// Returns all values as text, without keys.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::Bool(value) => vec![value.to_string()],
            Self::Number(number) => vec![number.to_string()],
            Self::Text(text) => vec![text.clone()],
            Self::Array(items) => items.iter().flat_map(Self::texts).collect(),
            Self::Table(entries) => entries.iter().flat_map(|(_, value)| value.texts()).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) group: bool,
    pub(crate) untrusted: bool,
}

/// An entry of a list: its name if it is a fragment.
type Entry = (Option<String>, Plain);

/// Returns the whole prompt: a table of the fragments, or an array of them if two have the same
/// name.
pub(crate) fn document(fragments: &[Fragment], rules: Rules) -> Plain {
    let entries = fragments.iter().filter_map(|fragment| top(fragment, rules));
    match listed(entries.map(|(name, value)| (Some(name), value)).collect()) {
        Plain::Array(items) if items.is_empty() => Plain::Table(vec![]),
        plain => plain,
    }
}

fn top(fragment: &Fragment, rules: Rules) -> Option<(String, Plain)> {
    let (name, value) = named(fragment, rules)?;
    let marked = rules.untrusted && !fragment.is_untrusted();
    Some((if marked { marked_name(&name) } else { name }, value))
}

fn marked_name(name: &str) -> String {
    format!("{name} (untrusted)")
}

fn named(fragment: &Fragment, rules: Rules) -> Option<(String, Plain)> {
    let value = match fragment.data().expect("made of data") {
        FragmentData::List(list) if rules.group => grouped(list.iter(), rules),
        data => value(data, rules)?,
    };
    let name = fragment.name();
    Some((if fragment.is_untrusted() { marked_name(name) } else { name.to_owned() }, value))
}

fn value(data: &FragmentData, rules: Rules) -> Option<Plain> {
    Some(match data {
        FragmentData::Null => return None,
        FragmentData::Bool(value) => Plain::Bool(*value),
        FragmentData::Number(number) => Plain::Number(*number),
        FragmentData::Text(text) => Plain::Text(text.to_string()),
        FragmentData::Fragment(fragment) => {
            Plain::Table(named(fragment, rules).into_iter().collect())
        }
        FragmentData::List(list) => listed(entries(list.iter(), rules)),
        FragmentData::Map(map) => {
            let entry = |(key, data): (&String, &FragmentData)| match data {
                FragmentData::Fragment(fragment) if fragment.name() == key => {
                    let (name, value) = named(fragment, rules)?;
                    let meets = fragment.is_untrusted()
                        && map.get(&name).is_some_and(|other| is_shown(&name, other));
                    Some(if meets {
                        (key.clone(), Plain::Table(vec![(name, value)]))
                    } else {
                        (name, value)
                    })
                }
                data => Some((key.clone(), value(data, rules)?)),
            };
            Plain::Table(map.iter().filter_map(entry).collect())
        }
        other => panic!("a new kind of data: {other:?}"),
    })
}

/// Returns whether an entry of a map is rendered.
fn is_shown(key: &str, data: &FragmentData) -> bool {
    match data {
        FragmentData::Null => false,
        FragmentData::Fragment(fragment) if fragment.name() == key => {
            !matches!(fragment.data(), Some(FragmentData::Null))
        }
        _ => true,
    }
}

fn entries<'a>(items: impl Iterator<Item = &'a FragmentData>, rules: Rules) -> Vec<Entry> {
    let entry = |item: &FragmentData| match item {
        FragmentData::Fragment(fragment) => {
            named(fragment, rules).map(|(name, value)| (Some(name), value))
        }
        item => value(item, rules).map(|value| (None, value)),
    };
    items.filter_map(entry).collect()
}

fn listed(entries: Vec<Entry>) -> Plain {
    let names: Vec<_> = entries.iter().filter_map(|(name, _)| name.as_ref()).collect();
    let different = names.iter().collect::<HashSet<_>>().len() == entries.len();
    if different && !entries.is_empty() {
        return Plain::Table(
            entries.into_iter().filter_map(|(name, value)| Some((name?, value))).collect(),
        );
    }
    let item = |(name, value): Entry| match name {
        Some(name) => Plain::Table(vec![(name, value)]),
        None => value,
    };
    Plain::Array(entries.into_iter().map(item).collect())
}

fn grouped<'a>(items: impl Iterator<Item = &'a FragmentData>, rules: Rules) -> Plain {
    let entries = entries(items, rules);
    let mut groups: Vec<(&str, Vec<Plain>)> = Vec::new();
    for (name, value) in &entries {
        let Some(name) = name else { return listed(entries) };
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, members)) => members.push(value.clone()),
            None => groups.push((name, vec![value.clone()])),
        }
    }
    let plurals: Vec<String> = groups.iter().map(|(name, _)| plural_of(name)).collect();
    if groups.is_empty() || plurals.iter().collect::<HashSet<_>>().len() < plurals.len() {
        return listed(entries);
    }
    Plain::Table(
        plurals
            .into_iter()
            .zip(groups)
            .map(|(name, (_, members))| (name, Plain::Array(members)))
            .collect(),
    )
}

/// The mark is not part of the word.
fn plural_of(name: &str) -> String {
    match name.strip_suffix(" (untrusted)") {
        Some(word) => marked_name(&plural(word)),
        None => plural(name).into_owned(),
    }
}
