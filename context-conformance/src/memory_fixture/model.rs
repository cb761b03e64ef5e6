//! The expected memories of a store: a small model.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use context_core::UserId;
use context_core::base::MemoryId;
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope};
use context_core::store::{
    Bm25, MemoryExpected, MemoryFind, MemoryList, MemoryStats, MemoryWrite, MemoryWritten,
};
use context_store_kit::MemoryWords;

/// A stored record.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) write: MemoryWrite,
    pub(crate) version: u64,
}

impl Entry {
    pub(crate) fn record(&self) -> &MemoryRecord {
        &self.write.record
    }
}

/// A found record, its score and its similarity.
pub(crate) type MemoryHit<'a> = (&'a Entry, f64, Option<f32>);

/// All records, in the order in which they were first written.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryModel {
    pub(crate) entries: Vec<Entry>,
    marks: BTreeSet<(MemoryScope, MemoryId)>,
    /// Every name that was ever used.
    pub(crate) names: BTreeMap<MemoryScope, BTreeSet<MemoryId>>,
}

impl MemoryModel {
    pub(crate) fn get(&self, scope: &MemoryScope, id: &MemoryId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.record().scope == *scope && entry.record().id == *id)
    }

    fn judge(&self, write: &MemoryWrite) -> Option<MemoryWritten> {
        let MemoryRecord { scope, id, .. } = &write.record;
        let entry = self.get(scope, id);
        let version = entry.map_or(0, |entry| entry.version);
        match write.expected {
            MemoryExpected::Absent if entry.is_some() => Some(MemoryWritten::Unchanged(version)),
            MemoryExpected::Absent if self.marks.contains(&(scope.clone(), id.clone())) => {
                Some(MemoryWritten::Forgotten)
            }
            MemoryExpected::Version(expected) if expected == version => {
                Some(MemoryWritten::Written(version + 1))
            }
            // A retry after a lost reply: the record was written already.
            MemoryExpected::Version(expected) => entry
                .filter(|entry| {
                    expected.checked_add(1) == Some(version) && *entry.record() == write.record
                })
                .map(|_| MemoryWritten::Written(version)),
            _ => Some(MemoryWritten::Written(version + 1)),
        }
    }

    /// Returns the outcome of each write. If any of them conflict, returns their indices and writes
    /// nothing.
    pub(crate) fn write(
        &mut self,
        writes: &[MemoryWrite],
    ) -> Result<Vec<MemoryWritten>, Vec<usize>> {
        let judged: Vec<_> = writes.iter().map(|write| self.judge(write)).collect();
        let conflicts: Vec<_> = (0..writes.len()).filter(|at| judged[*at].is_none()).collect();
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let judged: Vec<_> = judged.into_iter().flatten().collect();
        for (write, judged) in writes.iter().zip(&judged) {
            let MemoryRecord { scope, id, .. } = &write.record;
            self.names.entry(scope.clone()).or_default().insert(id.clone());
            let MemoryWritten::Written(version) = *judged else { continue };
            self.marks.remove(&(scope.clone(), id.clone()));
            let known = self.entries.iter_mut().find(|entry| {
                let record = &entry.write.record;
                record.scope == *scope && record.id == *id
            });
            match known {
                Some(entry) if entry.version == version => {}
                Some(entry) => *entry = Entry { write: write.clone(), version },
                None => self.entries.push(Entry { write: write.clone(), version }),
            }
        }
        Ok(judged)
    }

    /// Forgets, and returns the number of removed records.
    pub(crate) fn forget(&mut self, forget: &MemoryForget) -> u64 {
        let gone = self.entries.extract_if(.., |entry| forget.takes(&entry.write.record));
        let gone: Vec<_> =
            gone.map(|Entry { write, .. }| (write.record.scope, write.record.id)).collect();
        let removed = gone.len() as u64;
        if forget.leaves_marks() {
            self.marks.extend(gone);
        } else {
            self.marks.retain(|(scope, _)| !forget.scope().covers(scope));
        }
        removed
    }

    pub(crate) fn erase(&mut self, user: &UserId) -> u64 {
        self.forget(&MemoryForget::Scope(MemoryScope::new(user.clone())))
    }

    /// Returns a whole listing, without paging.
    pub(crate) fn list(&self, list: &MemoryList) -> Vec<&Entry> {
        self.entries.iter().rev().filter(|entry| list.takes(entry.record())).collect()
    }

    pub(crate) fn find(&self, find: &MemoryFind) -> (Vec<MemoryHit<'_>>, Bm25) {
        let mut bm25 = Bm25::new(0, 0, vec![0; find.words.len()]);
        let mut counted = Vec::new();
        let within = self.entries.iter().enumerate();
        for (place, entry) in
            within.filter(|(_, entry)| find.scopes.contains(&entry.record().scope))
        {
            let words = MemoryWords::count(&find.words, &entry.write.words);
            bm25.texts += 1;
            bm25.words += words.length;
            for (found, count) in bm25.found.iter_mut().zip(&words.counts) {
                *found += u64::from(*count > 0);
            }
            counted.push((place, entry, words));
        }
        counted.retain(|(_, entry, _)| find.takes(&entry.record().kind));
        let mut hits: Vec<_> = counted
            .into_iter()
            .map(|(place, entry, words)| {
                let own = entry.write.vector.as_ref();
                let both =
                    find.vector.as_ref().zip(own).filter(|(asked, own)| asked.model == own.model);
                let similarity = both.map(|(asked, own)| asked.similarity(own));
                let score = bm25.score(words.length, words.counts.iter().copied());
                (words.is_hit(), score, similarity, place, entry)
            })
            .collect();
        // Newest first. The sorts below are stable.
        hits.reverse();
        let (mut fitting, mut others): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| hit.0);
        fitting.sort_by(|a, b| b.1.total_cmp(&a.1));
        others.extend(fitting.split_off(find.limit.min(fitting.len())));
        others.retain(|hit| hit.2.is_some());
        others.sort_by_key(|hit| Reverse(hit.3));
        others.sort_by(|a, b| b.2.unwrap_or_default().total_cmp(&a.2.unwrap_or_default()));
        others.truncate(find.limit);
        let hits = fitting.into_iter().chain(others);
        (hits.map(|(_, score, similarity, _, entry)| (entry, score, similarity)).collect(), bm25)
    }

    /// Returns the records next to a record in its session, in order.
    pub(crate) fn beside(
        &self,
        scope: &MemoryScope,
        id: &MemoryId,
        each_side: usize,
    ) -> Vec<&Entry> {
        let Some(one) = self.get(scope, id) else { return Vec::new() };
        let Some(session) = one.record().source.as_ref().map(|source| &source.session) else {
            return Vec::new();
        };
        let alike = |entry: &&Entry| {
            let record = entry.record();
            let of_session =
                record.source.as_ref().is_some_and(|source| source.session == *session);
            record.scope == *scope && record.kind == one.record().kind && of_session
        };
        let all: Vec<_> = self.entries.iter().filter(alike).collect();
        let at = all.iter().position(|entry| entry.record().id == *id).unwrap_or_default();
        let from = at.saturating_sub(each_side);
        let to = all.len().min(at + each_side + 1);
        (from..to).filter(|place| *place != at).map(|place| all[place]).collect()
    }

    pub(crate) fn stats(&self, user: &UserId) -> Vec<MemoryStats> {
        let mut by_key: BTreeMap<String, MemoryStats> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.record().scope.user == *user) {
            let record = entry.record();
            let of_scope = || MemoryStats::new(record.scope.clone());
            let stats = by_key.entry(record.scope.key()).or_insert_with(of_scope);
            *stats.kinds.entry(record.kind.clone()).or_default() += 1;
            stats.vectors += u64::from(entry.write.vector.is_some());
            stats.bytes += record.text.len() as u64;
        }
        by_key.into_values().collect()
    }
}
