//! The ids of the messages that records become.

use std::collections::{HashMap, HashSet};

use context_core::Diagnostic;
use context_core::base::{DiagnosticCode, limits};

use super::RecordPlace;
use crate::chat::warning;

/// The ids of the messages of records.
pub(super) struct RecordIds {
    /// The id of the first message of each record.
    pub(super) names: Vec<String>,
    /// The records by their own ids.
    pub(super) indexes: HashMap<String, usize>,
    taken: HashSet<String>,
}

impl RecordIds {
    pub(super) fn of(places: &[RecordPlace], diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut indexes: HashMap<String, usize> = HashMap::new();
        for (index, place) in places.iter().enumerate() {
            if let Some(id) = &place.id {
                indexes.entry(id.clone()).or_insert(index);
            }
        }
        let names = Vec::with_capacity(places.len());
        let mut ids = Self { names, taken: indexes.keys().cloned().collect(), indexes };
        for (index, place) in places.iter().enumerate() {
            // Ids of further messages need some space.
            let fits = |id: &&String| (1..=limits::MAX_ID_BYTES - 16).contains(&id.len());
            let own = place.id.as_ref().filter(fits);
            let is_own = own.is_some_and(|id| ids.indexes.get(id) == Some(&index));
            if own.is_some() && !is_own {
                let problem = "an earlier record has its id: its message gets another one";
                let path = format!("record {}", index + 1);
                diagnostics.push(warning(DiagnosticCode::Misplaced, path, problem));
            }
            let name = match own.filter(|_| is_own) {
                Some(id) => id.clone(),
                None => ids.free(format!("m{}", index + 1)),
            };
            ids.taken.insert(name.clone());
            ids.names.push(name);
        }
        ids
    }

    /// Returns an unused id.
    pub(super) fn free(&self, mut id: String) -> String {
        while self.taken.contains(&id) {
            id.push('\'');
        }
        id
    }

    /// Returns the id of a further message of a record.
    pub(super) fn further(&mut self, first: &str, number: usize) -> String {
        let id = self.free(format!("{first}.{number}"));
        self.taken.insert(id.clone());
        id
    }
}
