//! The content that has to be stored: the acknowledged texts of every branch.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::{DayFailure, Invariant};
use crate::marker::DayMarker;

/// Whether a text is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    Stored,
    /// Its redaction failed, and perhaps took effect.
    PerhapsRedacted,
    Redacted,
}

/// A text of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) marker: DayMarker,
    pub(crate) is_question: bool,
    pub(crate) state: EntryState,
}

impl Entry {
    pub(crate) fn new(marker: DayMarker, is_question: bool) -> Self {
        Self { marker, is_question, state: EntryState::Stored }
    }
}

/// A text that was not acknowledged: it may be stored or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Uncertain {
    pub(crate) marker: DayMarker,
    pub(crate) is_question: bool,
}

/// A chat.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedChat {
    pub(crate) branches: BTreeMap<String, Vec<Entry>>,
    pub(crate) active: String,
    pub(crate) checkpoint: Option<Vec<Entry>>,
    /// Texts that the open handle may store or have stored.
    pub(crate) uncertain: BTreeSet<Uncertain>,
    /// Texts of the open turn that its next command stores.
    pub(crate) in_flight: Vec<Entry>,
    /// A move failed, and perhaps took effect.
    pub(crate) moved_perhaps: bool,
}

impl Default for ExpectedChat {
    fn default() -> Self {
        Self {
            branches: BTreeMap::from([("main".to_owned(), Vec::new())]),
            active: "main".to_owned(),
            checkpoint: None,
            uncertain: BTreeSet::new(),
            in_flight: Vec::new(),
            moved_perhaps: false,
        }
    }
}

impl ExpectedChat {
    pub(crate) fn entries(&self, branch: &str) -> &[Entry] {
        self.branches.get(branch).map_or(&[], Vec::as_slice)
    }

    /// The first request of a branch. `None` if there is none, or if it was redacted.
    pub(crate) fn first(&self, branch: &str) -> Option<DayMarker> {
        let first = self.entries(branch).iter().find(|entry| entry.is_question)?;
        (first.state == EntryState::Stored).then_some(first.marker)
    }

    /// Acknowledges texts at the end of a branch.
    pub(crate) fn acknowledge(&mut self, branch: &str, entries: impl IntoIterator<Item = Entry>) {
        for entry in entries {
            let all = self.branches.entry(branch.to_owned()).or_default();
            if !all.iter().any(|known| known.marker == entry.marker) {
                all.push(entry);
            }
        }
    }

    pub(crate) fn doubt(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let uncertain =
            |entry: Entry| Uncertain { marker: entry.marker, is_question: entry.is_question };
        self.uncertain.extend(entries.into_iter().map(uncertain));
    }

    /// Marks a text as redacted on every branch.
    pub(crate) fn redact(&mut self, marker: DayMarker, state: EntryState) {
        let lists = self.branches.values_mut().chain(&mut self.checkpoint);
        for entry in lists.flatten().filter(|entry| entry.marker == marker) {
            entry.state = state;
        }
    }

    /// Whether a text is on any branch.
    pub(crate) fn holds(&self, marker: DayMarker) -> bool {
        let lists = self.branches.values().chain(&self.checkpoint);
        lists.flatten().any(|entry| entry.marker == marker && entry.state != EntryState::Redacted)
    }

    /// Returns these texts of a branch, with those between and behind them that are redacted. They
    /// stay stored, without their words, and the first request may be one of them.
    pub(crate) fn part(&self, branch: &str, stored: &[DayMarker]) -> Vec<Entry> {
        let mut rest = self.entries(branch);
        let mut entries = Vec::new();
        for marker in stored {
            if let Some(at) = rest.iter().position(|entry| entry.marker == *marker) {
                let (before, behind) = rest.split_at(at + 1);
                let is_there = |it: &&Entry| it.marker == *marker || it.state != EntryState::Stored;
                entries.extend(before.iter().filter(is_there));
                rest = behind;
            } else {
                let known = self.uncertain.iter().find(|known| known.marker == *marker);
                entries.push(Entry::new(*marker, known.is_some_and(|known| known.is_question)));
            }
        }
        entries.extend(rest.iter().take_while(|entry| entry.state != EntryState::Stored));
        entries
    }

    /// Returns the texts of a branch that a move of unknown outcome made of another one.
    fn moved(&self, stored: &[DayMarker]) -> Vec<Entry> {
        let is_kept = |entry: &&Entry| stored.contains(&entry.marker);
        let shared = |name: &&String| self.entries(name).iter().filter(is_kept).count();
        let origin = self.branches.keys().max_by_key(shared);
        self.part(origin.map_or("", String::as_str), stored)
    }

    /// Compares a branch with the stored texts. Uncertain ones that are stored are acknowledged by
    /// that: they must not be lost from now on.
    pub(crate) fn compare(
        &mut self,
        place: &str,
        branch: &str,
        stored: &[DayMarker],
    ) -> Result<(), DayFailure> {
        let broken = |text: String| {
            DayFailure::new(Invariant::Kept, format_args!("{place}, branch {branch}: {text}"))
        };
        if !self.branches.contains_key(branch) && self.moved_perhaps {
            self.branches.insert(branch.to_owned(), self.moved(stored));
        }
        let Some(entries) = self.branches.get_mut(branch) else {
            return Err(broken("nobody made it".to_owned()));
        };
        let mut at = 0;
        for marker in stored {
            while let Some(entry) = entries.get_mut(at).filter(|entry| entry.marker != *marker) {
                match entry.state {
                    EntryState::Redacted => {}
                    EntryState::PerhapsRedacted => entry.state = EntryState::Redacted,
                    EntryState::Stored => break,
                }
                at += 1;
            }
            match entries.get_mut(at) {
                Some(entry) if entry.marker == *marker => match entry.state {
                    EntryState::Redacted => {
                        let text = format!("{marker} was redacted and is stored");
                        return Err(DayFailure::new(Invariant::Erased, text));
                    }
                    _ => entry.state = EntryState::Stored,
                },
                _ => {
                    let known = self.uncertain.iter().find(|known| known.marker == *marker);
                    let Some(known) = known.copied() else {
                        let text = match entries.get(at) {
                            Some(entry) => format!("{} is not at its place", entry.marker),
                            None => "it is the last".to_owned(),
                        };
                        return Err(broken(format!("{marker} is not expected: {text}")));
                    };
                    self.uncertain.remove(&known);
                    entries.insert(at, Entry::new(*marker, known.is_question));
                }
            }
            at += 1;
        }
        for entry in entries.iter_mut().skip(at) {
            match entry.state {
                EntryState::Stored => {
                    return Err(broken(format!("{} is lost", entry.marker)));
                }
                _ => entry.state = EntryState::Redacted,
            }
        }
        Ok(())
    }
}

/// The content of a user that has to be stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedUser {
    pub(crate) life: u32,
    pub(crate) chats: BTreeMap<String, ExpectedChat>,
    /// The beginnings of the names of sub-agents' chats that a failed call perhaps made.
    pub(crate) perhaps: BTreeSet<String>,
    /// The stored facts.
    pub(crate) facts: BTreeSet<DayMarker>,
    /// Redacted texts that no other chat has a copy of.
    pub(crate) redacted: BTreeSet<DayMarker>,
}

impl ExpectedUser {
    /// Takes a stored chat for that of a sub-agent whose call failed, with what it holds. Returns
    /// whether there was such a call.
    pub(crate) fn adopt(&mut self, chat: &str) -> bool {
        let is_known = self.perhaps.iter().any(|begin| chat.starts_with(begin));
        if is_known {
            let mut adopted = ExpectedChat { moved_perhaps: true, ..ExpectedChat::default() };
            adopted.branches.clear();
            self.chats.insert(chat.to_owned(), adopted);
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_of_unknown_outcome_keeps_the_first_request() {
        let marker = |number| DayMarker { user: 0, life: 0, number };
        let mut chat = ExpectedChat { moved_perhaps: true, ..ExpectedChat::default() };
        let said = [(1, true), (2, false), (3, true), (4, false)];
        chat.acknowledge("main", said.map(|(number, asks)| Entry::new(marker(number), asks)));
        let kept = [marker(1), marker(2), marker(3)];
        assert!(chat.compare("desk", "rewound", &kept).is_ok());
        assert_eq!(chat.first("rewound"), Some(marker(1)));
        // A redacted first request is not seen, and the second one does not take its place.
        chat.redact(marker(1), EntryState::Redacted);
        let kept = [marker(2), marker(3)];
        assert!(chat.compare("desk", "again", &kept).is_ok());
        assert_eq!(chat.first("again"), None);
        chat.moved_perhaps = false;
        assert!(chat.compare("desk", "unknown", &kept).is_err());
    }
}
