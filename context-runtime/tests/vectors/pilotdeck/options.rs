//! Options that a case was recorded with: what was given to the call, else what was given when the
//! thing was made.

use std::collections::BTreeSet;

use context_core::history::ToolNames;
use context_runtime::FragmentData;

use super::{Case, json};
use crate::encoding::{entry, items};

/// An option that nobody here knows.
pub(super) struct Unknown(pub(super) String);

/// The options of a case, and which of them were looked at.
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

    /// Whether it is said that nothing is to be done.
    pub(super) fn switched_off(&mut self) -> bool {
        self.get("enabled") == Some(&FragmentData::Bool(false))
    }

    /// A number, rounded down and not below zero.
    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        let number = json(self.get(key)?).as_f64()?;
        Some(number.max(0.0).floor() as u64)
    }

    /// Names of tools under a key that begins like this; none at all, if it says nothing is meant.
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

    /// Whether all that was given was looked at.
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
