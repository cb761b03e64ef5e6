//! The options of a case: those of the call, else those of the constructor.

use std::collections::BTreeSet;

use context_core::history::ToolNames;
use context_runtime::FragmentData;

use super::{Case, json};
use crate::encoding::{entry, items};

/// An unknown option.
pub(super) struct Unknown(pub(super) String);

/// The options of a case, and which of them were read.
pub(super) struct Options<'a> {
    places: [&'a FragmentData; 3],
    seen: BTreeSet<String>,
}

impl<'a> Options<'a> {
    pub(super) fn of(case: &'a Case) -> Self {
        let part = |key: &str| entry(case.input(), key).unwrap_or(&FragmentData::Null);
        Self { places: [part("options"), part("ctor"), case.part("ctor")], seen: BTreeSet::new() }
    }

    fn get(&mut self, key: &str) -> Option<&'a FragmentData> {
        self.seen.insert(key.to_owned());
        self.places.iter().find_map(|place| entry(place, key))
    }

    /// Whether the feature is switched off.
    pub(super) fn switched_off(&mut self) -> bool {
        self.get("enabled") == Some(&FragmentData::Bool(false))
    }

    /// Returns a number, rounded down and not below zero.
    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        let number = json(self.get(key)?).as_f64()?;
        Some(number.max(0.0).floor() as u64)
    }

    /// Returns the tool names under a key with this prefix. A value without names selects no tool.
    pub(super) fn names(&mut self, begins: &str) -> Option<ToolNames> {
        let maps = self.places.iter().filter_map(|place| match place {
            FragmentData::Map(map) => Some((place, map)),
            _ => None,
        });
        let mut keys =
            maps.flat_map(|(place, map)| map.iter().map(move |(key, _)| (*place, key.to_string())));
        let (place, key) = keys.find(|(_, key)| key.starts_with(begins))?;
        let names = ToolNames::new(items(place, &key).iter().filter_map(FragmentData::as_text));
        self.seen.insert(key);
        Some(names)
    }

    /// Checks that all given options were read.
    pub(super) fn all_known(&self) -> Result<(), Unknown> {
        for place in self.places {
            if let FragmentData::Map(map) = place
                && let Some((key, _)) = map.iter().find(|(key, _)| !self.seen.contains(&***key))
            {
                return Err(Unknown(key.to_string()));
            }
        }
        Ok(())
    }
}
