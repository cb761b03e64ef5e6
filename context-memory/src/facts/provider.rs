//! Facts as a memory provider.

use std::collections::HashMap;

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, MemoryScope, RecallQuery,
    Recalled, RecalledMemory,
};
use context_core::store::MemoryFind;
use context_core::{CancelSignal, MemoryProvider, Result};

use super::{Fact, Facts, read, statement_record};
use crate::cost;
use crate::review::RecallFilter;
use crate::words::content_words;

/// The number of statements that are searched, and of subject-relation pairs whose facts are
/// derived.
const MOST_HITS: usize = 64;
const MOST_KEYS: usize = 16;

/// Recalls facts that match the words of the question and are true at its time, or now. The best
/// match comes first; of equal ones, the one that started last.
#[async_trait]
impl MemoryProvider for Facts {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        cancel.check("recall")?;
        query.scope.check("recall")?;
        let mut words: Vec<String> = Vec::new();
        for word in content_words(&query.text) {
            if words.len() < limits::MAX_MEMORY_TERMS && !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() {
            return Ok(Recalled::default());
        }
        let filter = RecallFilter::read(&self.records, &query.scope, query.least_trust).await?;
        let most = if filter.takes_all() { MOST_HITS } else { limits::MAX_PAGE };
        let mut find = MemoryFind::new(query.scope.visible(), words, most);
        find.kinds = vec![statement_record::KIND.to_owned()];
        let mut hits = self.records.get("recall")?.find_memories(&find).await?.hits;
        hits.retain(|hit| filter.takes(&hit.stored.record));
        hits.truncate(MOST_HITS);
        let record = |hit: &context_core::store::MemoryHit| {
            let record = &hit.stored.record;
            ((record.scope.clone(), record.id.clone()), hit.score)
        };
        let scores: HashMap<_, _> = hits.iter().map(record).collect();
        let keys = read::keys(hits.into_iter().map(|hit| hit.stored), MOST_KEYS);
        cancel.check("recall")?;
        let lines = self.timelines(query.scope.visible(), keys, &filter).await?;
        let at = query.at.unwrap_or_else(|| self.clock.now());
        let true_then = lines.into_iter().flatten().filter(|fact| fact.holds_at(at));
        let mut found: Vec<_> = true_then.filter_map(|fact| scored(fact, &scores)).collect();
        found.sort_by(|(a, one, _), (b, two, _)| {
            b.total_cmp(a).then(two.from.cmp(&one.from)).then(one.statements.cmp(&two.statements))
        });
        let memories =
            found.into_iter().map(|(score, fact, record)| recalled(score, fact, record)).collect();
        let mut recalled = Recalled::new(memories);
        // Half a block would have a different meaning, so a block that does not fit is left out
        // even if it is the only one.
        cost::fit(&mut recalled.memories, query.max_tokens);
        Ok(recalled)
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        turn.scope.check("capture")?;
        self.session_of(turn).map(drop)
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        self.extract_from(turn, cancel).await
    }

    /// A fact from several messages has one record per message. Forgetting one record by its id
    /// forgets all records of the fact in that scope; forgetting a message only removes that
    /// message as a source.
    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        let records = self.records.get("forget")?;
        let MemoryForget::Ids { scope, ids } = forget else {
            return records.forget_memories(forget).await;
        };
        let all = self.statements_with(scope, ids).await?;
        let mut forgotten = MemoriesForgotten::default();
        for ids in all.chunks(limits::MAX_PAGE) {
            let part = MemoryForget::ids(scope.clone(), ids.iter());
            forgotten = forgotten.and(records.forget_memories(&part).await?);
        }
        Ok(forgotten)
    }

    /// A quarantine of one statement by its id takes out the whole fact, as forgetting does.
    fn review(&self) -> Option<&dyn MemoryReview> {
        Some(&self.records)
    }
}

impl Facts {
    /// Returns the ids of all records, in exactly this scope, of the facts that these records
    /// state. Forgetting one of them by its id forgets all of them. Ids of other records are left
    /// out.
    pub async fn statements_with(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
    ) -> Result<Vec<MemoryId>> {
        let mut facts = self.records.get("forget")?.memories(scope, ids).await?;
        facts.retain(|stored| stored.record.kind == statement_record::KIND);
        let mut all: Vec<MemoryId> = facts.iter().map(|stored| stored.record.id.clone()).collect();
        let keys = read::keys(facts.into_iter(), limits::MAX_PAGE);
        let all_facts = RecallFilter::default();
        let lines = self.timelines(vec![scope.clone()], keys, &all_facts).await?;
        for fact in lines.into_iter().flatten() {
            let own: Vec<MemoryId> = fact.statements.into_iter().map(|(_, id)| id).collect();
            if own.iter().any(|id| ids.contains(id)) {
                let others: Vec<MemoryId> =
                    own.into_iter().filter(|id| !all.contains(id)).collect();
                all.extend(others);
            }
        }
        Ok(all)
    }
}

type RecordKey = (MemoryScope, MemoryId);

/// Returns a fact with the score of its best statement, or `None` if no statement was found.
fn scored(fact: Fact, scores: &HashMap<RecordKey, f64>) -> Option<(f64, Fact, RecordKey)> {
    let found =
        fact.statements.iter().filter_map(|named| scores.get(named).map(|score| (*score, named)));
    let (score, named) = found.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let named = named.clone();
    Some((score, fact, named))
}

fn recalled(score: f64, fact: Fact, (scope, id): RecordKey) -> RecalledMemory {
    let mut memory = RecalledMemory::new("fact", fact.text());
    memory.id = Some(id);
    memory.scope = Some(scope);
    memory.trust = fact.trust;
    memory.at = Some(fact.said_at);
    memory.source = fact.sources.into_iter().next_back();
    memory.score = score;
    memory
}
