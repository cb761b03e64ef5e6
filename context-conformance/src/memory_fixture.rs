//! Fixture for memories: written to a store and to a model, so that a case is a few readable lines.

mod model;
mod random;

use std::sync::atomic::{AtomicU64, Ordering};

use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, StoredMemory,
};
use context_core::store::{
    MemoryExpected, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryStats,
    MemoryWrite, MemoryWritten, Page,
};
use context_core::{Error, ErrorKind, Result, Retry, UserId};

use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, fail, same};
use crate::verdict::{Check, Stop};
pub(crate) use model::{Entry, MemoryModel};
pub(crate) use random::{MemoryLife, MemoryStep, scope, search_words, vector};

/// The number of pages after which a listing is considered endless.
const MOST_PAGES: usize = 10_000;

/// The number of increments that this process has written.
static WRITES: AtomicU64 = AtomicU64::new(0);

impl ChatFixture {
    pub(crate) fn memories(&self) -> Check<&dyn MemoryRecordStore> {
        self.store.memories().ok_or_else(|| Stop::Skip("no memories".to_owned()))
    }

    /// Builds the write of a new note whose text is its words.
    pub(crate) fn note(&self, scope: &MemoryScope, id: &str, words: &str) -> MemoryWrite {
        MemoryWrite::new(MemoryRecord::new(scope.clone(), id, "note", self.at(), words), words)
    }

    /// Writes, with retries while the store is unavailable.
    pub(crate) async fn write_memories(&self, writes: &[MemoryWrite]) -> Check<MemoryOutcome> {
        let store = self.memories()?;
        Ok(patiently(|| store.write_memories(writes)).await?)
    }

    pub(crate) async fn forget_memories(&self, forget: &MemoryForget) -> Check<MemoriesForgotten> {
        let store = self.memories()?;
        Ok(patiently(|| store.forget_memories(forget)).await?)
    }

    /// Increments the number in a record of the user `times` times, each time after a fresh read.
    pub(crate) async fn count_up(&self, name: &str, times: usize) -> Check {
        let scope = MemoryScope::new(self.chat.user.clone());
        for _ in 0..times {
            loop {
                let there = self.memories()?.memories(&scope, &[name.into()]).await?;
                let (version, count) = there.first().map_or((0, 0), |stored| {
                    (stored.version, stored.record.text.parse::<usize>().unwrap_or_default())
                });
                let mut write = self.note(&scope, name, &(count + 1).to_string());
                // Make each write unique. A write with the same content would count as a replay.
                let number = WRITES.fetch_add(1, Ordering::Relaxed);
                write.record.speaker = Some(format!("{}-{number}", std::process::id()));
                let write = write.expected(MemoryExpected::Version(version));
                if let MemoryOutcome::Applied(_) = self.write_memories(&[write]).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns a whole listing, page by page.
    pub(crate) async fn list_memories(&self, list: &MemoryList) -> Check<Vec<StoredMemory>> {
        let (mut all, mut list): (Vec<StoredMemory>, _) = (Vec::new(), list.clone());
        for _ in 0..MOST_PAGES {
            let Page { items, next } = self.memories()?.list_memories(&list).await?;
            let full = items.len() == list.limit || (next.is_none() && items.len() < list.limit);
            same(
                format!("whether a page of {} that is not the last is full", list.limit),
                &full,
                &true,
            )?;
            all.extend(items);
            list.after = next;
            if list.after.is_none() {
                let descend = all.is_sorted_by(|a, b| a.place > b.place);
                same("whether a listing has the newest first, by their places", &descend, &true)?;
                return Ok(all);
            }
        }
        fail("a listing of memories does not end")
    }

    /// Returns the statistics of a user, page by page.
    pub(crate) async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
    ) -> Check<Vec<MemoryStats>> {
        let (mut all, mut after) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = self.memories()?.memory_stats(user, limit, after.as_ref()).await?;
            same("whether a page is as large as asked for", &(page.items.len() <= limit), &true)?;
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
        fail("the stats of memories do not end")
    }
}

/// Retries a call while the store is unavailable and the error says that a retry is safe.
async fn patiently<T, F: Future<Output = Result<T>>>(mut call: impl FnMut() -> F) -> Result<T> {
    for _ in 0..200 {
        match call().await {
            Err(error)
                if error.kind() == ErrorKind::Unavailable && error.retry() == Retry::Safe =>
            {
                tokio::task::yield_now().await;
            }
            result => return result,
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "memories", "still unavailable after 200 tries"))
}

/// Memories in a store and in the model.
#[derive(Clone)]
pub(crate) struct MemoryFixture {
    pub(crate) fixture: ChatFixture,
    pub(crate) model: MemoryModel,
}

impl CaseContext {
    /// Returns a fixture with a fresh store without memories.
    pub(crate) async fn memory_fixture(&self) -> Check<MemoryFixture> {
        let fixture = self.fixture().await?;
        fixture.memories()?;
        Ok(MemoryFixture::new(&fixture))
    }
}

impl MemoryFixture {
    pub(crate) fn new(fixture: &ChatFixture) -> Self {
        Self { fixture: fixture.clone(), model: MemoryModel::default() }
    }

    /// Writes, and expects the outcome of the model.
    pub(crate) async fn write(
        &mut self,
        did: &str,
        writes: &[MemoryWrite],
    ) -> Check<MemoryOutcome> {
        let before = self.model.clone();
        let outcome = self.fixture.write_memories(writes).await?;
        match (&outcome, self.model.write(writes)) {
            (MemoryOutcome::Applied(saw), Ok(expected)) => {
                same(format!("the outcome of {did}"), saw, &expected)?;
            }
            (MemoryOutcome::Conflict { write, stored }, Err(conflicts)) => {
                same(format!("the conflict of {did}"), &conflicts.contains(write), &true)?;
                let MemoryRecord { scope, id, .. } = &writes[*write].record;
                let there: Vec<_> = before.get(scope, id).into_iter().collect();
                let told: Vec<_> = stored.iter().map(|stored| (**stored).clone()).collect();
                same_memories(&format!("the conflict of {did}"), &told, &there)?;
            }
            (saw, expected) => return fail(format!("{did}: expected {expected:?}, saw {saw:?}")),
        }
        Ok(outcome)
    }

    /// Writes new notes in one call.
    pub(crate) async fn notes(&mut self, notes: &[(&MemoryScope, &str, &str)]) -> Check {
        let writes: Vec<_> =
            notes.iter().map(|(scope, id, words)| self.fixture.note(scope, id, words)).collect();
        self.add(writes).await
    }

    /// Writes new records, and expects all of them to be written.
    pub(crate) async fn add(&mut self, writes: Vec<MemoryWrite>) -> Check {
        let written = MemoryOutcome::Applied(vec![MemoryWritten::Written(1); writes.len()]);
        let outcome = self.write("writing what is not there", &writes).await?;
        same("the outcome of writing what is not there", &outcome, &written)
    }

    /// Writes a record that may exist already.
    pub(crate) async fn put(&mut self, write: MemoryWrite) -> Check {
        self.write("writing over it", &[write.expected(MemoryExpected::Anything)]).await.map(drop)
    }

    pub(crate) async fn forget(&mut self, did: &str, forget: &MemoryForget) -> Check<u64> {
        let forgotten = self.fixture.forget_memories(forget).await?;
        let removed = self.model.forget(forget);
        let seen = (forgotten.removed, forgotten.remaining);
        same(format!("{did}: removed, remaining"), &seen, &(removed, 0))?;
        Ok(removed)
    }

    pub(crate) async fn step(&mut self, did: &str, step: &MemoryStep) -> Check {
        match step {
            MemoryStep::Write(writes) => self.write(did, writes).await.map(drop),
            MemoryStep::Forget(forget) => self.forget(did, forget).await.map(drop),
        }
    }

    /// Expects a search to find the hits of the model in the same order.
    pub(crate) async fn finds(&self, did: &str, find: &MemoryFind) -> Check {
        let found = self.fixture.memories()?.find_memories(find).await?;
        let (hits, bm25) = self.model.find(find);
        let did = format!("finding {:?} after {did}", find.words);
        let stored: Vec<_> = found.hits.iter().map(|hit| hit.stored.clone()).collect();
        let expected: Vec<_> = hits.iter().map(|(entry, ..)| *entry).collect();
        same_memories(&did, &stored, &expected)?;
        for (saw, (entry, score, similarity)) in found.hits.iter().zip(&hits) {
            let id = &entry.record().id;
            ensure((saw.score - score).abs() <= 1e-9 * score.abs().max(1.0), || {
                format!("{did}: the score of {id}: expected {score}, saw {}", saw.score)
            })?;
            let close = match (saw.similarity, similarity) {
                (None, None) => true,
                (Some(saw), Some(expected)) => (saw - expected).abs() <= 1e-5,
                _ => false,
            };
            ensure(close, || {
                format!(
                    "{did}: the similarity of {id}: expected {similarity:?}, saw {:?}",
                    saw.similarity
                )
            })?;
        }
        same(format!("{did}: how common the words are"), &found.bm25, &bm25)
    }

    pub(crate) async fn lists(&self, did: &str, list: &MemoryList) -> Check {
        let listed = self.fixture.list_memories(list).await?;
        same_memories(&format!("a listing after {did}"), &listed, &self.model.list(list))
    }

    /// Expects everything visible of these memories to match the model.
    pub(crate) async fn matches_model(&self, did: &str) -> Check {
        let mut users: Vec<_> = self.model.names.keys().map(|scope| scope.user.clone()).collect();
        users.dedup();
        for user in &users {
            let stats = self.fixture.memory_stats(user, 3).await?;
            same(format!("the stats of {user} after {did}"), &stats, &self.model.stats(user))?;
            let scopes: Vec<_> =
                self.model.names.keys().filter(|scope| scope.user == *user).collect();
            for scopes in scopes.chunks(context_core::base::limits::MAX_MEMORY_SCOPES) {
                let scopes: Vec<_> = scopes.iter().map(|scope| (*scope).clone()).collect();
                self.lists(did, &MemoryList::new(scopes, 4)).await?;
            }
        }
        for (scope, ids) in &self.model.names {
            let ids: Vec<_> = ids.iter().cloned().collect();
            let read = self.fixture.memories()?.memories(scope, &ids).await?;
            let expected: Vec<_> = ids.iter().filter_map(|id| self.model.get(scope, id)).collect();
            same_memories(&format!("reading by id after {did}"), &read, &expected)?;
            let beside = self.fixture.memories()?.memory_neighbours(scope, &ids, 2).await?;
            same(format!("how many answers there are after {did}"), &beside.len(), &ids.len())?;
            for (saw, id) in beside.iter().zip(&ids) {
                let expected = self.model.beside(scope, id, 2);
                same_memories(&format!("what is beside {id} after {did}"), saw, &expected)?;
            }
        }
        Ok(())
    }
}

/// Returns a search after a change.
pub(crate) fn with(mut find: MemoryFind, change: impl FnOnce(&mut MemoryFind)) -> MemoryFind {
    change(&mut find);
    find
}

/// The key of the scope, the name and the version of a record.
type RecordKey = (String, String, u64);

/// Expects both lists to be equal, in the same order. A failure names the part that differs.
pub(crate) fn same_memories(did: &str, saw: &[StoredMemory], expected: &[&Entry]) -> Check {
    let name =
        |record: &MemoryRecord, version| (record.scope.key(), record.id.to_string(), version);
    let names: Vec<RecordKey> =
        saw.iter().map(|stored| name(&stored.record, stored.version)).collect();
    let wanted: Vec<RecordKey> =
        expected.iter().map(|entry| name(entry.record(), entry.version)).collect();
    same(format!("{did}: which memories, in which version"), &names, &wanted)?;
    for (saw, expected) in saw.iter().zip(expected) {
        same_record(did, &saw.record, expected.record())?;
    }
    Ok(())
}

fn same_record(did: &str, saw: &MemoryRecord, expected: &MemoryRecord) -> Check {
    let about = |label: &str| format!("{did}: the {label} of memory {}", expected.id);
    same(about("kind"), &saw.kind, &expected.kind)?;
    same(about("key"), &saw.key, &expected.key)?;
    same(about("source"), &saw.source, &expected.source)?;
    same(about("speaker"), &saw.speaker, &expected.speaker)?;
    same(about("time"), &saw.at, &expected.at)?;
    same(about("text"), &saw.text, &expected.text)?;
    same(about("data"), &saw.data, &expected.data)?;
    same(about("whole"), saw, expected)
}
