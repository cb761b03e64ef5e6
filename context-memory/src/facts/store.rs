//! The facts of a store, for applications.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use context_core::base::{MemoryId, limits};
use context_core::memory::MemoryScope;
use context_core::store::{MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{Clock, Error, ErrorKind, Result, Store, Timestamp};

use super::statement::check_part;
use super::{Cardinality, Fact, FactExtractor, Statement, names, statement_record};
use crate::ScopeLevel;
use crate::records::{Records, filed};
use crate::review::RecallFilter;

pub(super) const OPERATION: &str = "facts";

/// The facts of a store. Applications use the methods of this type, and turns use it as a
/// [`MemoryProvider`](context_core::MemoryProvider) that recalls facts that match the question and
/// are true at its time.
///
/// ```
/// # use std::sync::Arc;
/// # use context_conformance::FixedClock;
/// # use context_core::Timestamp;
/// # use context_core::memory::MemoryScope;
/// # use context_memory::{Facts, Cardinality, Statement};
/// # use context_store_inmem::InMemoryStore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_core::Result<()> {
/// let facts = Facts::new(Arc::new(InMemoryStore::default()), Arc::new(FixedClock::at(0)))?;
/// let (scope, said_at) = (MemoryScope::new("ada"), Timestamp::from_micros(1_772_323_200_000_000));
///
/// let works = Statement::new("Ada", "works at", "Initech", Cardinality::One, said_at).from(said_at);
/// facts.state(&scope, &[works]).await?;
/// let known = facts.about(&scope, "ada", None).await?;
/// assert_eq!(known[0].text(), "Ada works at Initech (since 2026-03-01)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Facts {
    pub(super) records: Records,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) relations: BTreeMap<String, Cardinality>,
    pub(super) scope_level: ScopeLevel,
    pub(super) extractor: Option<Arc<dyn FactExtractor>>,
    pub(super) answers: bool,
}

/// The outcome of storing a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementOutcome {
    /// The statement is stored under this id.
    Stored(MemoryId),
    /// The same statement from the same source was already stored under this id.
    Known(MemoryId),
    /// The same statement from the same source was forgotten before, and stays forgotten.
    Forgotten,
}

impl Facts {
    /// Creates facts on a store, with timestamps from this clock, filed [across
    /// sessions](ScopeLevel::Agent). Fails with [`Unsupported`](ErrorKind::Unsupported) if the
    /// store does not support memories.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self> {
        let records = Records::new(store, OPERATION)?;
        let (relations, scope_level) = (BTreeMap::new(), ScopeLevel::default());
        Ok(Self { records, clock, relations, scope_level, extractor: None, answers: false })
    }

    /// Sets how many values a relation has at one time, which overrides the statements.
    #[must_use]
    pub fn relation(mut self, relation: &str, cardinality: Cardinality) -> Self {
        self.relations.insert(names::folded(relation), cardinality);
        self
    }

    /// Sets the part of the scope that statements are filed under.
    #[must_use]
    pub fn scope_level(mut self, level: ScopeLevel) -> Self {
        self.scope_level = level;
        self
    }

    /// Extracts facts from user messages with this extractor.
    #[must_use]
    pub fn with_extractor(mut self, extractor: Arc<dyn FactExtractor>) -> Self {
        self.extractor = Some(extractor);
        self
    }

    /// Sets whether facts are also extracted from model answers. Default: false, since a model may
    /// repeat what it read elsewhere. Tool results are never used.
    #[must_use]
    pub fn from_answers(mut self, wanted: bool) -> Self {
        self.answers = wanted;
        self
    }

    /// Stores up to 1,000 statements, all or none. `scope` is the scope of the caller. Fails if a
    /// statement is [invalid](Statement::check).
    pub async fn state(
        &self,
        scope: &MemoryScope,
        statements: &[Statement],
    ) -> Result<Vec<StatementOutcome>> {
        let filed = filed(self.scope_level, scope, OPERATION)?;
        limits::check_page(OPERATION, statements.len())?;
        statements.iter().try_for_each(|statement| statement.check(OPERATION))?;
        let recorded = self.clock.now();
        let mut seen = HashSet::new();
        let mut writes: Vec<MemoryWrite> = Vec::with_capacity(statements.len());
        let ids: Vec<_> =
            statements.iter().map(|record| names::statement_id(&filed, record)).collect();
        for (statement, id) in statements.iter().zip(&ids) {
            if seen.insert(id) {
                writes.push(statement_record::write(&filed, statement, recorded)?);
            }
        }
        let outcome = self.records.get(OPERATION)?.write_memories(&writes).await?;
        let MemoryOutcome::Applied(written) = outcome else {
            return Err(Error::new(
                ErrorKind::Bug,
                OPERATION,
                "a write that expects nothing has no conflict",
            ));
        };
        let became: BTreeMap<_, _> =
            writes.iter().map(|write| &write.record.id).zip(written).collect();
        let stated = ids.iter().map(|id| match became.get(id) {
            Some(MemoryWritten::Written(_)) => StatementOutcome::Stored(id.clone()),
            Some(MemoryWritten::Forgotten) => StatementOutcome::Forgotten,
            _ => StatementOutcome::Known(id.clone()),
        });
        Ok(stated.collect())
    }

    /// Returns all facts about a subject, or one relation of it, that are visible from a scope:
    /// present, past and future ones, ordered by start. Statements in quarantine do not count.
    /// Without a relation, at most 1,000 statements are read.
    pub async fn about(
        &self,
        scope: &MemoryScope,
        subject: &str,
        relation: Option<&str>,
    ) -> Result<Vec<Fact>> {
        check_part(OPERATION, "subject", subject)?;
        let keys = match relation {
            Some(relation) => {
                check_part(OPERATION, "relation", relation)?;
                vec![names::key(subject, relation)]
            }
            None => self.keys_of(scope, subject).await?,
        };
        let filter = RecallFilter::read(&self.records, scope, None).await?;
        let lines = self.timelines(scope.visible(), keys, &filter).await?;
        let mut facts: Vec<_> = lines.into_iter().flatten().collect();
        facts.sort_by_cached_key(|fact| (fact.from.or(fact.until), names::folded(&fact.relation)));
        Ok(facts)
    }

    /// Returns the facts about a subject, or one relation of it, that are true at a time and
    /// visible from a scope.
    pub async fn as_of(
        &self,
        scope: &MemoryScope,
        subject: &str,
        relation: Option<&str>,
        at: Timestamp,
    ) -> Result<Vec<Fact>> {
        let mut facts = self.about(scope, subject, relation).await?;
        facts.retain(|fact| fact.holds_at(at));
        Ok(facts)
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("relations", &self.relations.len())
            .field("scope_level", &self.scope_level)
            .field("extractor", &self.extractor)
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}
