//! Mutants of memories.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector,
    StoredMemory,
};
use context_core::store::{
    Cursor, Maintenance, MemoriesFound, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, Page,
};
use context_core::{Json, Result, Store, UserId};

use crate::fault::Fault;
use crate::mutant::{BrokenStore, lock};

type RecordKey = (MemoryScope, MemoryId);

/// Data that should have been removed.
#[derive(Default)]
pub(crate) struct Stale {
    words: HashMap<RecordKey, String>,
    vectors: HashMap<RecordKey, MemoryVector>,
    marks: HashSet<RecordKey>,
}

fn name(record: &MemoryRecord) -> RecordKey {
    (record.scope.clone(), record.id.clone())
}

impl BrokenStore {
    fn memory(&self) -> &dyn MemoryRecordStore {
        self.inner.memories().expect("the reference store keeps memories")
    }

    /// Returns the scope in which the fault files the records of a scope.
    fn filed(&self, scope: &MemoryScope) -> MemoryScope {
        if !self.is(Fault::JoinsScopes) {
            return scope.clone();
        }
        let part = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let (project, agent) = (part(scope.project.as_deref()), part(scope.agent.as_deref()));
        let session = part(scope.session.as_ref().map(|session| session.as_str()));
        MemoryScope::new(scope.user.clone()).project(format!("{project}|{agent}|{session}"))
    }

    fn all_filed(&self, scopes: &[MemoryScope]) -> Vec<MemoryScope> {
        let mut filed: Vec<_> = scopes.iter().map(|scope| self.filed(scope)).collect();
        if self.is(Fault::WidensScopes) {
            filed.push(MemoryScope::new(scopes[0].user.clone()));
        }
        filed
    }

    /// Returns a write as the fault changes it.
    fn spoiled(&self, mut write: MemoryWrite) -> MemoryWrite {
        let mut stale = lock(&self.stale);
        let name = name(&write.record);
        match self.fault {
            Fault::KeepsWordsOfRewritten => {
                let words = stale.words.entry(name).or_default();
                words.push(' ');
                words.push_str(&write.words);
                write.words.clone_from(words);
            }
            Fault::KeepsVectors => match &write.vector {
                Some(vector) => drop(stale.vectors.insert(name, vector.clone())),
                None => write.vector = stale.vectors.get(&name).cloned(),
            },
            Fault::FoldsWords => write.words = write.words.to_lowercase(),
            Fault::ComparesEmbedders => {
                write.vector =
                    write.vector.map(|vector| MemoryVector::new("one for all", vector.values));
            }
            Fault::IgnoresVersions if matches!(write.expected, MemoryExpected::Version(_)) => {
                write.expected = MemoryExpected::Anything;
            }
            Fault::JoinsScopes => {
                let own =
                    Json::from_serialize(&write.record.scope).expect("a scope prints as JSON");
                write.record.data.insert("filed", own);
                write.record.scope = self.filed(&write.record.scope);
            }
            _ => {}
        }
        write
    }

    /// Returns a record as the fault shows it.
    fn shown(&self, mut stored: StoredMemory) -> StoredMemory {
        match self.fault {
            Fault::EndsMemoriesAtNul => {
                stored.record.text =
                    stored.record.text.split('\0').next().unwrap_or_default().into();
            }
            Fault::MovesRewritten => stored.place += 1000 * (stored.version - 1),
            Fault::JoinsScopes => {
                if let Some(own) = stored.record.data.remove("filed") {
                    stored.record.scope = own.parse().expect("it was written as JSON");
                }
            }
            _ => {}
        }
        stored
    }

    fn all_shown(&self, stored: Vec<StoredMemory>) -> Vec<StoredMemory> {
        stored.into_iter().map(|stored| self.shown(stored)).collect()
    }

    /// Returns the stored record with the name of a write.
    async fn there(&self, write: &MemoryWrite) -> Result<Option<StoredMemory>> {
        let ids = std::slice::from_ref(&write.record.id);
        Ok(self.memory().memories(&write.record.scope, ids).await?.pop())
    }

    /// Returns all records of a scope, oldest first.
    async fn of_scope(&self, scope: &MemoryScope) -> Result<Vec<StoredMemory>> {
        let list = MemoryList::new(vec![scope.clone()], limits::MAX_PAGE);
        let mut items = self.memory().list_memories(&list).await?.items;
        items.reverse();
        Ok(items)
    }
}

#[async_trait]
impl MemoryRecordStore for BrokenStore {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
        context_core::store::check_memory_writes(writes)?;
        let mut spoiled: Vec<_> = writes.iter().map(|write| self.spoiled(write.clone())).collect();
        if self.is(Fault::ChecksVersionsThenWrites) {
            for write in &mut spoiled {
                let version = self.there(write).await?.map_or(0, |stored| stored.version);
                if write.expected == MemoryExpected::Version(version) {
                    write.expected = MemoryExpected::Anything;
                }
            }
            tokio::task::yield_now().await;
        }
        if self.is(Fault::ReplaysAreConflicts) {
            for (at, write) in spoiled.iter().enumerate() {
                let stored = self.there(write).await?;
                let version = stored.as_ref().map_or(0, |stored| stored.version);
                if matches!(write.expected,
                    MemoryExpected::Version(expected) if expected != version)
                {
                    return Ok(MemoryOutcome::Conflict { write: at, stored: stored.map(Box::new) });
                }
            }
        }
        if self.is(Fault::MarksOutliveScopes) {
            let marks = lock(&self.stale).marks.clone();
            let marked = |write: &MemoryWrite| marks.contains(&name(&write.record));
            if spoiled.iter().all(|write| write.expected == MemoryExpected::Absent && marked(write))
            {
                return Ok(MemoryOutcome::Applied(vec![MemoryWritten::Forgotten; writes.len()]));
            }
        }
        let outcome = self.memory().write_memories(&spoiled).await?;
        match (self.fault, outcome) {
            (Fault::WritesHalfBatches, MemoryOutcome::Conflict { write, stored }) if write > 0 => {
                let _written = self.memory().write_memories(&spoiled[..write]).await?;
                Ok(MemoryOutcome::Conflict { write, stored })
            }
            (Fault::LosesMarks, MemoryOutcome::Applied(mut answers)) => {
                for (answer, write) in answers.iter_mut().zip(spoiled) {
                    if *answer == MemoryWritten::Forgotten {
                        let write = write.expected(MemoryExpected::Anything);
                        let _written = self.memory().write_memories(&[write]).await?;
                        *answer = MemoryWritten::Written(1);
                    }
                }
                Ok(MemoryOutcome::Applied(answers))
            }
            (_, outcome) => Ok(outcome),
        }
    }

    async fn memories(&self, scope: &MemoryScope, ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
        let mut stored = self.memory().memories(&self.filed(scope), ids).await?;
        if self.is(Fault::SortsMemoriesByName) {
            stored.sort_by(|one, other| one.record.id.cmp(&other.record.id));
        }
        Ok(self.all_shown(stored))
    }

    async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
        list.check()?;
        let mut filed = list.clone();
        filed.scopes = self.all_filed(&list.scopes);
        let Page { mut items, next } = self.memory().list_memories(&filed).await?;
        if self.is(Fault::ListsSkipMemories) && list.after.is_some() && !items.is_empty() {
            items.remove(0);
        }
        Ok(Page { items: self.all_shown(items), next })
    }

    async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
        find.check()?;
        let mut filed = find.clone();
        filed.scopes = self.all_filed(&find.scopes);
        match self.fault {
            Fault::FindsAllKinds => filed.kinds.clear(),
            Fault::FoldsWords => {
                filed.words.iter_mut().for_each(|word| *word = word.to_lowercase())
            }
            Fault::ComparesEmbedders => {
                filed.vector =
                    filed.vector.map(|vector| MemoryVector::new("one for all", vector.values));
            }
            _ => {}
        }
        let mut found = self.memory().find_memories(&filed).await?;
        match self.fault {
            Fault::CountsAskedKinds if !find.kinds.is_empty() => {
                found.bm25.texts = found.hits.len() as u64
            }
            Fault::OldestOfEqualFirst => {
                let key =
                    |hit: &context_core::store::MemoryHit| (hit.score.to_bits(), hit.stored.place);
                found.hits.sort_by_key(|hit| (std::cmp::Reverse(key(hit).0), key(hit).1));
            }
            Fault::LooksAtTheNewest => {
                let oldest = found.bm25.texts.saturating_sub(limits::EXACT_MEMORY_POSTINGS);
                found.hits.retain(|hit| hit.stored.place > oldest);
            }
            _ => {}
        }
        for hit in &mut found.hits {
            hit.stored = self.shown(hit.stored.clone());
        }
        Ok(found)
    }

    async fn memory_neighbours(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> Result<Vec<Vec<StoredMemory>>> {
        let scope = self.filed(scope);
        let mut beside = self.memory().memory_neighbours(&scope, ids, each_side).await?;
        if self.is(Fault::BesideAnySession) {
            let all = self.of_scope(&scope).await?;
            for (beside, id) in beside.iter_mut().zip(ids) {
                let Some(at) = all.iter().position(|stored| stored.record.id == *id) else {
                    continue;
                };
                let next = all.iter().skip(at + 1).take(each_side);
                *beside =
                    all[at.saturating_sub(each_side)..at].iter().chain(next).cloned().collect();
            }
        }
        Ok(beside.into_iter().map(|beside| self.all_shown(beside)).collect())
    }

    async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        let mut forget = forget.clone();
        if let MemoryForget::Ids { scope, ids } = &mut forget {
            if self.is(Fault::MarksOutliveScopes) {
                let names = ids.iter().map(|id| (scope.clone(), id.clone()));
                lock(&self.stale).marks.extend(names);
            }
            *scope = self.filed(scope);
        }
        match (self.fault, &forget) {
            (Fault::ForgetsWholeSessions, MemoryForget::Source { scope, source }) => {
                let source = MemorySource::session(source.session.clone());
                self.memory().forget_memories(&MemoryForget::source(scope.clone(), source)).await
            }
            (Fault::ForgetsTheScopeAlone, MemoryForget::Scope(scope)) => {
                let ids: Vec<_> = self
                    .of_scope(scope)
                    .await?
                    .into_iter()
                    .map(|stored| stored.record.id)
                    .collect();
                self.memory().forget_memories(&MemoryForget::ids(scope.clone(), ids)).await
            }
            _ => self.memory().forget_memories(&forget).await,
        }
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<MemoryStats>> {
        let mut page = self.memory().memory_stats(user, limit, after).await?;
        if self.is(Fault::StatsOfAllUsers) && page.next.is_none() {
            let maintenance: &dyn Maintenance =
                self.inner.maintenance().expect("the reference store has it");
            for other in maintenance.users(limits::MAX_PAGE, None).await?.items {
                if other != *user {
                    page.items.extend(
                        self.memory().memory_stats(&other, limits::MAX_PAGE, None).await?.items,
                    );
                }
            }
            page.items.truncate(limit);
        }
        Ok(page)
    }
}
