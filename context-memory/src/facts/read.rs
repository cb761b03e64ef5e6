//! Reading statements and deriving facts.

use std::collections::HashSet;

use context_core::Result;
use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{MemoryFind, MemoryList};
use futures_util::future::try_join_all;

use super::statement_record::StatementRecord;
use super::store::OPERATION;
use super::timeline::timeline;
use super::{Cardinality, Fact, Facts, names, statement_record};
use crate::review::RecallFilter;

type RecordName = (MemoryScope, MemoryId);

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

    /// Returns the facts for each key, derived from the statements in these scopes that pass the
    /// filter.
    pub(super) async fn timelines(
        &self,
        scopes: Vec<MemoryScope>,
        keys: Vec<String>,
        filter: &RecallFilter,
    ) -> Result<Vec<Vec<Fact>>> {
        let lines = keys.into_iter().map(|key| self.timeline(scopes.clone(), key, filter));
        try_join_all(lines).await
    }

    async fn timeline(
        &self,
        scopes: Vec<MemoryScope>,
        key: String,
        filter: &RecallFilter,
    ) -> Result<Vec<Fact>> {
        let list = MemoryList::new(scopes, limits::MAX_PAGE).kind(statement_record::KIND).key(key);
        let mut stored = self.records.all(list, limits::MAX_PAGE, OPERATION).await?;
        let excluded = self.excluded(&stored, filter);
        stored.retain(|stored| {
            let name = (stored.record.scope.clone(), stored.record.id.clone());
            filter.takes(&stored.record) && !excluded.contains(&name)
        });
        let record: Vec<_> = stored.into_iter().filter_map(statement_record::read).collect();
        let rule = self.rule(&record);
        Ok(timeline(record, rule))
    }

    fn rule(&self, record: &[StatementRecord]) -> Option<Cardinality> {
        let relation = names::folded(&record.first()?.statement.relation);
        self.relations.get(&relation).copied()
    }

    /// Returns the statements of facts of which one statement is in quarantine by its id: a fact
    /// from several messages is taken out of recall as a whole.
    fn excluded(&self, stored: &[StoredMemory], filter: &RecallFilter) -> HashSet<RecordName> {
        let is_named =
            |stored: &StoredMemory| filter.names(&stored.record.scope, &stored.record.id);
        if filter.takes_all() || !stored.iter().any(is_named) {
            return HashSet::new();
        }
        let record: Vec<_> = stored.iter().cloned().filter_map(statement_record::read).collect();
        let rule = self.rule(&record);
        let facts = timeline(record, rule).into_iter();
        let named =
            facts.filter(|fact| fact.statements.iter().any(|(scope, id)| filter.names(scope, id)));
        named.flat_map(|fact| fact.statements).collect()
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
