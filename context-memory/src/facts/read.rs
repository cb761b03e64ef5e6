//! Reading statements and deriving facts.

use context_core::Result;
use context_core::base::limits;
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{MemoryFind, MemoryList};
use futures_util::future::try_join_all;

use super::store::OPERATION;
use super::timeline::timeline;
use super::{Fact, Facts, names, statement_record};

/// The most relations of a subject that are read.
const MOST_KEYS: usize = 100;

impl Facts {
    /// Returns the lookup keys of a subject's relations, without duplicates.
    pub(super) async fn keys_of(&self, scope: &MemoryScope, subject: &str) -> Result<Vec<String>> {
        let words = vec![names::subject_word(subject)];
        let mut find = MemoryFind::new(scope.visible(), words, limits::MAX_PAGE);
        find.kinds = vec![statement_record::KIND.to_owned()];
        let found = self.records.get(OPERATION)?.find_memories(&find).await?;
        Ok(keys(found.hits.into_iter().map(|hit| hit.stored), MOST_KEYS))
    }

    /// Returns the facts for each key, derived from the statements in these scopes.
    pub(super) async fn timelines(
        &self,
        scopes: Vec<MemoryScope>,
        keys: Vec<String>,
    ) -> Result<Vec<Vec<Fact>>> {
        try_join_all(keys.into_iter().map(|key| self.timeline(scopes.clone(), key))).await
    }

    async fn timeline(&self, scopes: Vec<MemoryScope>, key: String) -> Result<Vec<Fact>> {
        let list = MemoryList::new(scopes, limits::MAX_PAGE).kind(statement_record::KIND).key(key);
        let stored = self.records.all(list, limits::MAX_PAGE, OPERATION).await?;
        let record: Vec<_> = stored.into_iter().filter_map(statement_record::read).collect();
        let relation = record.first().map(|record| names::folded(&record.statement.relation));
        let rule = relation.and_then(|relation| self.relations.get(&relation).copied());
        Ok(timeline(record, rule))
    }
}

/// Returns the lookup keys of records, in order and without duplicates.
pub(super) fn keys(stored: impl Iterator<Item = StoredMemory>, most: usize) -> Vec<String> {
    let mut keys = Vec::new();
    for key in stored.filter_map(|stored| stored.record.key) {
        if keys.len() < most && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
