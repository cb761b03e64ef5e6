//! A cache of vectors and answers for repeated questions.
//!
//! Before a cached answer is used, the store is asked whether its records still exist unchanged.
//! A record that was forgotten is therefore never returned, whoever removed it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, RecallQuery, RecalledMemory};
use context_core::store::MemoryRecordStore;
use context_core::{Result, UserId};
use moka::future::Cache;

/// A cached answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) memories: Vec<RecalledMemory>,
    /// The version of each record.
    pub(super) versions: Vec<u64>,
}

/// The question, its scope, and the state of the user's memories.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    scope: MemoryScope,
    text: String,
    /// The meaning of relative times depends on the day.
    day: Option<i64>,
    state: u64,
}

pub(super) struct AnswerCache {
    answers: Option<Cache<Key, Arc<Answer>>>,
    vectors: Cache<String, Arc<[f32]>>,
    states: Cache<UserId, u64>,
    next: AtomicU64,
}

impl AnswerCache {
    pub(super) fn new(lifetime: Duration) -> Self {
        let answers = Cache::builder()
            .weigher(|key: &Key, answer: &Arc<Answer>| {
                let texts: usize =
                    answer.memories.iter().map(|memory| memory.text.len() + 300).sum();
                u32::try_from(key.text.len() + texts + 300).unwrap_or(u32::MAX)
            })
            .max_capacity(4 << 20)
            .time_to_live(lifetime);
        let vectors = Cache::builder()
            .weigher(|text: &String, vector: &Arc<[f32]>| {
                u32::try_from(text.len() + vector.len() * 4).unwrap_or(u32::MAX)
            })
            .max_capacity(4 << 20);
        Self {
            answers: (!lifetime.is_zero()).then(|| answers.build()),
            vectors: vectors.build(),
            states: Cache::new(10_000),
            next: AtomicU64::new(0),
        }
    }

    /// Marks a user's memories as changed.
    pub(super) async fn changed(&self, user: &UserId) {
        self.states.insert(user.clone(), self.new_state()).await;
    }

    fn new_state(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the state of a user's memories. For a user without a cached state a new one is
    /// created, which has no answers.
    pub(super) async fn state(&self, user: &UserId) -> u64 {
        self.states.get_with_by_ref(user, async { self.new_state() }).await
    }

    fn key(query: &RecallQuery, state: u64) -> Key {
        let day = query.at.map(|at| at.as_micros().div_euclid(86_400_000_000));
        Key { scope: query.scope.clone(), text: query.text.clone(), day, state }
    }

    /// Returns the cached answer to the same question, if all its records still exist unchanged.
    pub(super) async fn get(
        &self,
        store: &dyn MemoryRecordStore,
        query: &RecallQuery,
        state: u64,
    ) -> Result<Option<Arc<Answer>>> {
        let Some(answers) = &self.answers else { return Ok(None) };
        let Some(answer) = answers.get(&Self::key(query, state)).await else { return Ok(None) };
        let mut ids: BTreeMap<&MemoryScope, Vec<(MemoryId, u64)>> = BTreeMap::new();
        for (memory, version) in answer.memories.iter().zip(&answer.versions) {
            if let (Some(scope), Some(id)) = (&memory.scope, &memory.id) {
                ids.entry(scope).or_default().push((id.clone(), *version));
            }
        }
        for (scope, known) in ids {
            let wanted: Vec<_> = known.iter().map(|(id, _)| id.clone()).collect();
            let stored = store.memories(scope, &wanted).await?;
            let same = stored.len() == known.len()
                && stored
                    .iter()
                    .zip(&known)
                    .all(|(stored, (_, version))| stored.version == *version);
            if !same {
                return Ok(None);
            }
        }
        Ok(Some(answer))
    }

    pub(super) async fn put(&self, query: &RecallQuery, state: u64, answer: Arc<Answer>) {
        if let Some(answers) = &self.answers {
            answers.insert(Self::key(query, state), answer).await;
        }
    }

    pub(super) async fn vector(&self, text: &str) -> Option<Arc<[f32]>> {
        self.vectors.get(text).await
    }

    pub(super) async fn put_vector(&self, text: &str, vector: Arc<[f32]>) {
        self.vectors.insert(text.to_owned(), vector).await;
    }
}

impl fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = self.answers.as_ref().map(Cache::entry_count);
        f.debug_struct("Hot").field("answers", &answers).finish_non_exhaustive()
    }
}
