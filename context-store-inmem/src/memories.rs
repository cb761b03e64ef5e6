//! In-memory memory records. Every search reads all records of its scopes.

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemoryVector, StoredMemory,
};
use context_core::store::{
    Bm25, Cursor, MemoriesFound, MemoryExpected, MemoryFind, MemoryHit, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, Page, check_memory_writes,
};
use context_core::{Error, Result, UserId};
use context_store_kit::MemoryWords;

use crate::store::Shared;

#[derive(Debug, Default)]
pub(crate) struct Memories {
    by_scope: BTreeMap<MemoryScope, ScopeRecords>,
    /// The number of records ever created. The next record's place is one higher.
    written: u64,
}

#[derive(Debug, Default)]
struct ScopeRecords {
    records: BTreeMap<MemoryId, RecordEntry>,
    forgotten: HashSet<[u8; 16]>,
}

#[derive(Debug)]
struct RecordEntry {
    stored: StoredMemory,
    words: String,
    vector: Option<MemoryVector>,
}

impl Memories {
    fn get(&self, scope: &MemoryScope, id: &MemoryId) -> Option<&RecordEntry> {
        self.by_scope.get(scope)?.records.get(id)
    }

    /// Decides the result of each write. Returns the index of the first conflicting write as the
    /// error.
    fn judge(&self, writes: &[MemoryWrite]) -> Result<Vec<MemoryWritten>, usize> {
        let judged = writes.iter().enumerate().map(|(at, write)| {
            let MemoryRecord { scope, id, .. } = &write.record;
            let stored = self.get(scope, id).map(|entry| &entry.stored);
            let version = stored.map_or(0, |stored| stored.version);
            let forgotten = || {
                let scoped = self.by_scope.get(scope);
                scoped.is_some_and(|of| of.forgotten.contains(&MemoryRecord::mark(scope, id)))
            };
            match write.expected {
                _ if stored.is_some_and(|stored| write.is_replay_of(stored)) => {
                    Ok(MemoryWritten::Written(version))
                }
                MemoryExpected::Absent if stored.is_some() => Ok(MemoryWritten::Unchanged(version)),
                MemoryExpected::Absent if forgotten() => Ok(MemoryWritten::Forgotten),
                MemoryExpected::Version(expected) if expected != version => Err(at),
                _ => Ok(MemoryWritten::Written(version + 1)),
            }
        });
        judged.collect()
    }

    fn write(&mut self, writes: &[MemoryWrite]) -> MemoryOutcome {
        let judged = match self.judge(writes) {
            Ok(judged) => judged,
            Err(at) => {
                let MemoryRecord { scope, id, .. } = &writes[at].record;
                let stored = self.get(scope, id).map(|entry| Box::new(entry.stored.clone()));
                return MemoryOutcome::Conflict { write: at, stored };
            }
        };
        for (write, judged) in writes.iter().zip(&judged) {
            let MemoryWritten::Written(version) = *judged else { continue };
            if self
                .get(&write.record.scope, &write.record.id)
                .is_some_and(|entry| entry.stored.version == version)
            {
                continue;
            }
            let record = write.record.clone();
            let scoped = self.by_scope.entry(record.scope.clone()).or_default();
            scoped.forgotten.remove(&MemoryRecord::mark(&record.scope, &record.id));
            let place = scoped.records.get(&record.id).map(|entry| entry.stored.place);
            let place = place.unwrap_or_else(|| {
                self.written += 1;
                self.written
            });
            let (words, vector) = (write.words.clone(), write.vector.clone());
            let id = record.id.clone();
            let stored = StoredMemory::new(record, version, place);
            scoped.records.insert(id, RecordEntry { stored, words, vector });
        }
        MemoryOutcome::Applied(judged)
    }

    /// Returns the records of some scopes, of every kind.
    fn in_scopes<'a>(&'a self, scopes: &'a [MemoryScope]) -> impl Iterator<Item = &'a RecordEntry> {
        // A scope that is listed twice counts once.
        let once = scopes.iter().enumerate().filter(|(at, scope)| !scopes[..*at].contains(scope));
        once.filter_map(|(_, scope)| self.by_scope.get(scope))
            .flat_map(|scoped| scoped.records.values())
    }

    fn list(&self, list: &MemoryList, after: Option<u64>) -> Page<StoredMemory> {
        let taken = |entry: &&RecordEntry| {
            list.takes(&entry.stored.record) && after.is_none_or(|after| entry.stored.place < after)
        };
        let mut items: Vec<_> =
            self.in_scopes(&list.scopes).filter(taken).map(|entry| entry.stored.clone()).collect();
        items.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.place));
        let more = items.len() > list.limit;
        items.truncate(list.limit);
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.place.to_string()));
        Page { items, next }
    }

    fn find(&self, find: &MemoryFind) -> MemoriesFound {
        let mut bm25 = Bm25::new(0, 0, vec![0; find.words.len()]);
        let mut counted = Vec::new();
        for entry in self.in_scopes(&find.scopes) {
            let words = MemoryWords::count(&find.words, &entry.words);
            bm25.texts += 1;
            bm25.words += words.length;
            for (found, count) in bm25.found.iter_mut().zip(&words.counts) {
                *found += u64::from(*count > 0);
            }
            counted.push((entry, words));
        }
        counted.retain(|(entry, _)| find.takes(&entry.stored.record.kind));
        let hits = counted.iter().map(|(entry, words)| {
            let vectors = find.vector.as_ref().zip(entry.vector.as_ref());
            let vectors = vectors.filter(|(query, stored)| {
                query.model == stored.model && query.values.len() == stored.values.len()
            });
            let similarity = vectors.map(|(query, stored)| query.similarity(stored));
            let score = bm25.score(words.length, words.counts.iter().copied());
            (words.is_hit(), MemoryHit::new(entry.stored.clone(), score, similarity))
        });
        let (mut fitting, mut others): (Vec<_>, Vec<_>) = hits.partition(|(is_hit, _)| *is_hit);
        let newest = |hit: &MemoryHit| std::cmp::Reverse(hit.stored.place);
        fitting
            .sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score).then(newest(a).cmp(&newest(b))));
        others.extend(fitting.split_off(find.limit.min(fitting.len())));
        others.retain(|(_, hit)| hit.similarity.is_some());
        others.sort_by(|(_, a), (_, b)| {
            let by_angle =
                b.similarity.unwrap_or_default().total_cmp(&a.similarity.unwrap_or_default());
            by_angle.then(newest(a).cmp(&newest(b)))
        });
        others.truncate(find.limit);
        MemoriesFound::new(fitting.into_iter().chain(others).map(|(_, hit)| hit).collect(), bm25)
    }

    fn neighbors(&self, scope: &MemoryScope, id: &MemoryId, each_side: usize) -> Vec<StoredMemory> {
        let Some(scoped) = self.by_scope.get(scope) else { return Vec::new() };
        let Some(entry) = scoped.records.get(id) else { return Vec::new() };
        let Some(source) = &entry.stored.record.source else { return Vec::new() };
        let (place, kind) = (entry.stored.place, &entry.stored.record.kind);
        let alike = |stored: &&StoredMemory| {
            let from = stored.record.source.as_ref();
            stored.record.kind == *kind && from.is_some_and(|from| from.session == source.session)
        };
        let mut session: Vec<_> =
            scoped.records.values().map(|entry| &entry.stored).filter(alike).cloned().collect();
        session.sort_unstable_by_key(|stored| stored.place);
        let at = session.partition_point(|stored| stored.place < place);
        let end = session.len().min(at + 1 + each_side);
        session.truncate(end);
        session.remove(at);
        session.drain(..at.saturating_sub(each_side));
        session
    }

    fn forget(&mut self, forget: &MemoryForget) -> MemoriesForgotten {
        let mut removed = 0;
        let of_user =
            self.by_scope.iter_mut().filter(|(scope, _)| scope.user == forget.scope().user);
        for (scope, scoped) in of_user {
            let records = &mut scoped.records;
            let forgotten_ids: Vec<MemoryId> = records
                .values()
                .filter(|entry| forget.takes(&entry.stored.record))
                .map(|entry| entry.stored.record.id.clone())
                .collect();
            for id in forgotten_ids {
                records.remove(&id);
                removed += 1;
                if forget.leaves_marks() {
                    scoped.forgotten.insert(MemoryRecord::mark(scope, &id));
                }
            }
        }
        if let MemoryForget::Scope(covering) = forget {
            self.by_scope.retain(|scope, _| !covering.covers(scope));
        }
        self.by_scope
            .retain(|_, scoped| !scoped.records.is_empty() || !scoped.forgotten.is_empty());
        let left = self.by_scope.values().flat_map(|scoped| scoped.records.values());
        let remaining = left.filter(|entry| forget.takes(&entry.stored.record)).count();
        MemoriesForgotten::new(removed, remaining as u64)
    }

    fn stats(&self, user: &UserId, limit: usize, after: Option<&Cursor>) -> Page<MemoryStats> {
        let mut items: Vec<_> =
            self.by_scope.iter().filter(|(scope, _)| scope.user == *user).collect();
        items.retain(|(scope, scoped)| {
            !scoped.records.is_empty()
                && after.is_none_or(|after| scope.key().as_str() > after.as_str())
        });
        items.sort_by_cached_key(|(scope, _)| scope.key());
        let more = items.len() > limit;
        items.truncate(limit);
        let count = |(scope, scoped): (&MemoryScope, &ScopeRecords)| {
            let mut stats = MemoryStats::new(scope.clone());
            for entry in scoped.records.values() {
                *stats.kinds.entry(entry.stored.record.kind.clone()).or_default() += 1;
                stats.vectors += u64::from(entry.vector.is_some());
                stats.bytes += entry.stored.record.text.len() as u64;
            }
            stats
        };
        let items: Vec<_> = items.into_iter().map(count).collect();
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.scope.key()));
        Page { items, next }
    }

    /// Returns the number of records of all users.
    pub(crate) fn all(&self) -> u64 {
        self.by_scope.values().map(|scoped| scoped.records.len() as u64).sum()
    }

    /// Returns the number of records of a user.
    pub(crate) fn count(&self, user: &UserId) -> u64 {
        let theirs = self.by_scope.iter().filter(|(scope, _)| scope.user == *user);
        theirs.map(|(_, scoped)| scoped.records.len() as u64).sum()
    }

    pub(crate) fn forget_user(&mut self, user: &UserId) {
        self.by_scope.retain(|scope, _| scope.user != *user);
    }

    /// Returns the user of every scope that has a record. A user may occur more than once.
    pub(crate) fn users(&self) -> impl Iterator<Item = &UserId> {
        let with_records = self.by_scope.iter().filter(|(_, scoped)| !scoped.records.is_empty());
        with_records.map(|(scope, _)| &scope.user)
    }
}

#[async_trait]
impl MemoryRecordStore for Shared {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        check_memory_writes(writes)?;
        Ok(self.chats_mut("write_memories")?.memories.write(writes))
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        scope.check_ids("memories", ids)?;
        let chats = self.chats("memories")?;
        let entries = ids.iter().filter_map(|id| chats.memories.get(scope, id));
        Ok(entries.map(|entry| entry.stored.clone()).collect())
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        list.check()?;
        let bad = || Error::invalid("list_memories", "no cursor of this store");
        let after = list.after.as_ref().map(|after| after.as_str().parse().map_err(|_| bad()));
        Ok(self.chats("list_memories")?.memories.list(list, after.transpose()?))
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        find.check()?;
        Ok(self.chats("find_memories")?.memories.find(find))
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        scope.check_neighbours("memory_neighbours", ids, each_side)?;
        let chats = self.chats("memory_neighbours")?;
        Ok(ids.iter().map(|id| chats.memories.neighbors(scope, id, each_side)).collect())
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        Ok(self.chats_mut("forget_memories")?.memories.forget(forget))
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        limits::check_id("memory_stats", "user", user.as_str())?;
        limits::check_page("memory_stats", limit)?;
        Ok(self.chats("memory_stats")?.memories.stats(user, limit, after))
    }
}
