//! The facts of a store, for programs.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use context_core::base::{MemoryId, limits};
use context_core::memory::MemoryScope;
use context_core::store::{MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{Clock, Error, ErrorKind, Result, Store, Timestamp};

use super::statement::check_part;
use super::{Fact, FactExtractor, Holds, Statement, kept, names};
use crate::Reach;
use crate::records::{Records, filed};

pub(super) const OPERATION: &str = "facts";

/// The facts of a store: for programs as they are here, for turns as a
/// [`MemoryProvider`](context_core::MemoryProvider) that recalls what fits the question and is true
/// at its time.
///
/// ```
/// # use std::sync::Arc;
/// # use context_conformance::FixedClock;
/// # use context_core::Timestamp;
/// # use context_core::memory::MemoryScope;
/// # use context_memory::{Facts, Holds, Statement};
/// # use context_store_inmem::InMemoryStore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_core::Result<()> {
/// let facts = Facts::new(Arc::new(InMemoryStore::default()), Arc::new(FixedClock::at(0)))?;
/// let (scope, said_at) = (MemoryScope::new("ada"), Timestamp::from_micros(1_772_323_200_000_000));
///
/// let works = Statement::new("Ada", "works at", "Initech", Holds::One, said_at).from(said_at);
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
    pub(super) relations: BTreeMap<String, Holds>,
    pub(super) reach: Reach,
    pub(super) extractor: Option<Arc<dyn FactExtractor>>,
    pub(super) answers: bool,
}

/// What became of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stated {
    /// It is kept under this name.
    Kept(MemoryId),
    /// It had been said at the same place before, and is kept under this name.
    Known(MemoryId),
    /// It had been said at the same place before and was forgotten: it stays so.
    Forgotten,
}

impl Facts {
    /// The facts of a store, dated by this clock, filed [across sessions](Reach::Agent).
    /// [`Unsupported`](ErrorKind::Unsupported) if the store keeps no memories.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self> {
        let records = Records::new(store, OPERATION)?;
        let (relations, reach) = (BTreeMap::new(), Reach::default());
        Ok(Self { records, clock, relations, reach, extractor: None, answers: false })
    }

    /// This relation has so many values at one time, whatever statements say of it.
    #[must_use]
    pub fn relation(mut self, relation: &str, holds: Holds) -> Self {
        self.relations.insert(names::folded(relation), holds);
        self
    }

    /// Seen from there, and filed accordingly.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Looks for facts in what users write, by this.
    #[must_use]
    pub fn with_extractor(mut self, extractor: Arc<dyn FactExtractor>) -> Self {
        self.extractor = Some(extractor);
        self
    }

    /// Looks for facts in what the model answers as well. What a model says may be what it read
    /// somewhere: it is not asked by itself, and results of tools never are.
    #[must_use]
    pub fn from_answers(mut self, wanted: bool) -> Self {
        self.answers = wanted;
        self
    }

    /// Keeps statements, all or none: at most 1,000. `scope` is where they come from. An error if
    /// one is [bad](Statement::check).
    pub async fn state(
        &self,
        scope: &MemoryScope,
        statements: &[Statement],
    ) -> Result<Vec<Stated>> {
        let filed = filed(self.reach, scope, OPERATION)?;
        limits::check_page(OPERATION, statements.len())?;
        statements.iter().try_for_each(|statement| statement.check(OPERATION))?;
        let recorded = self.clock.now();
        let mut seen = HashSet::new();
        let mut writes: Vec<MemoryWrite> = Vec::with_capacity(statements.len());
        let ids: Vec<_> = statements.iter().map(|said| names::statement_id(&filed, said)).collect();
        for (statement, id) in statements.iter().zip(&ids) {
            if seen.insert(id) {
                writes.push(kept::write(&filed, statement, recorded)?);
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
            Some(MemoryWritten::Written(_)) => Stated::Kept(id.clone()),
            Some(MemoryWritten::Forgotten) => Stated::Forgotten,
            _ => Stated::Known(id.clone()),
        });
        Ok(stated.collect())
    }

    /// All that is seen from a scope about a subject, or about one relation of it: what is true,
    /// what was, and what will be, in the order of when it began. Of a subject without a relation
    /// at most 1,000 statements are read.
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
        let lines = self.timelines(scope.visible(), keys).await?;
        let mut facts: Vec<_> = lines.into_iter().flatten().collect();
        facts.sort_by_cached_key(|fact| (fact.from.or(fact.until), names::folded(&fact.relation)));
        Ok(facts)
    }

    /// What is true at a time of what is seen from a scope about a subject, or about one relation
    /// of it.
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
            .field("reach", &self.reach)
            .field("extractor", &self.extractor)
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}
