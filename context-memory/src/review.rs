//! Review of the memories of a store: quarantines and uses are records of kinds of their own.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    MemoryForget, MemoryRecord, MemoryReview, MemoryScope, MemoryUse, Quarantine, QuarantineTarget,
    StoredMemory, Trust,
};
use context_core::store::{MemoryExpected, MemoryFind, MemoryList, MemoryWrite, MemoryWritten};
use context_core::{Error, ErrorKind, Json, Result};
use serde::{Deserialize, Serialize};

use crate::records::Records;

/// The kind of the records of quarantines.
pub const QUARANTINE: &str = "quarantine";
/// The kind of the records of uses.
pub const MEMORY_USE: &str = "memory-use";

const DATA: &str = "review";
/// The most quarantines that are filed under one scope.
const MOST_QUARANTINES: usize = limits::MAX_PAGE;
/// The most quarantines that one recall reads: those of all visible scopes.
const MOST_READ: usize = MOST_QUARANTINES * limits::MAX_MEMORY_SCOPES;

/// The structured data of a use.
#[derive(Serialize, Deserialize)]
struct UseData {
    turn: String,
}

/// Returns the word under which the uses of a memory are found.
fn use_word(scope: &MemoryScope, id: &MemoryId) -> String {
    format!("u{}", MemoryId::derived("memory-use", &[&scope.key(), id.as_str()]))
}

fn json(data: &impl Serialize) -> Result<Json> {
    Json::from_serialize(data).map_err(|error| {
        Error::new(ErrorKind::Bug, "review", "a record cannot be written as JSON")
            .with_source(error)
    })
}

/// Reads the quarantine of a record.
fn quarantine_of(stored: StoredMemory) -> Result<Quarantine> {
    let MemoryRecord { scope, id, at, text, data, .. } = stored.record;
    // A quarantine that cannot be read must not let its memories through.
    match data.get(DATA).map(Json::parse::<QuarantineTarget>) {
        Some(Ok(target)) => Ok(Quarantine::new(scope, target, text, at)),
        _ => Err(Error::new(ErrorKind::Corrupt, "recall", "a quarantine cannot be read")
            .with("memory", id)),
    }
}

impl Records {
    async fn read_quarantines(&self, scopes: Vec<MemoryScope>) -> Result<Vec<Quarantine>> {
        let list = MemoryList::new(scopes, limits::MAX_PAGE).kind(QUARANTINE);
        let stored = self.all(list, MOST_READ, "recall").await?;
        stored.into_iter().map(quarantine_of).collect()
    }

    /// Returns the scopes in which uses of memories of this scope are filed.
    async fn use_scopes(&self, scope: &MemoryScope) -> Result<Vec<MemoryScope>> {
        let (mut scopes, mut after) = (Vec::new(), None);
        loop {
            let records = self.get("uses")?;
            let page = records.memory_stats(&scope.user, limits::MAX_PAGE, after.as_ref()).await?;
            let uses = page
                .items
                .into_iter()
                .filter(|stats| stats.kinds.contains_key(MEMORY_USE) && scope.covers(&stats.scope));
            scopes.extend(uses.map(|stats| stats.scope));
            after = page.next;
            if after.is_none() {
                return Ok(scopes);
            }
        }
    }
}

#[async_trait]
impl MemoryReview for Records {
    async fn quarantine(&self, quarantine: &Quarantine) -> Result<()> {
        const OPERATION: &str = "quarantine";
        quarantine.check()?;
        let Quarantine { scope, target, reason, at, .. } = quarantine;
        let records = self.get(OPERATION)?;
        let id = quarantine.id();
        let list = MemoryList::new(vec![scope.clone()], MOST_QUARANTINES).kind(QUARANTINE);
        let there = records.list_memories(&list).await?.items;
        let is_known = there.iter().any(|stored| stored.record.id == id);
        if there.len() >= MOST_QUARANTINES && !is_known {
            return Err(Error::invalid(OPERATION, "there are too many quarantines in this scope")
                .with("scope", scope)
                .with("limit", MOST_QUARANTINES));
        }
        let mut record = MemoryRecord::new(scope.clone(), id, QUARANTINE, *at, reason);
        record.data.insert(DATA, json(target)?);
        // A quarantine that was released leaves a mark, which must not keep it from coming back.
        let write = MemoryWrite::new(record, "").expected(MemoryExpected::Anything);
        records.write_memories(&[write]).await.map(drop)
    }

    async fn release(&self, scope: &MemoryScope, id: &MemoryId) -> Result<bool> {
        const OPERATION: &str = "release";
        scope.check_ids(OPERATION, std::slice::from_ref(id))?;
        let records = self.get(OPERATION)?;
        let there = records.memories(scope, std::slice::from_ref(id)).await?;
        if !there.iter().any(|stored| stored.record.kind == QUARANTINE) {
            return Ok(false);
        }
        let forgotten =
            records.forget_memories(&MemoryForget::ids(scope.clone(), [id.clone()])).await?;
        Ok(forgotten.removed > 0)
    }

    async fn quarantined(&self, scope: &MemoryScope) -> Result<Vec<Quarantine>> {
        scope.check("quarantined")?;
        self.read_quarantines(scope.visible()).await
    }

    async fn record_use(&self, memory_use: &MemoryUse) -> Result<()> {
        memory_use.check()?;
        let MemoryUse { session, turn, at, memories, .. } = memory_use;
        // Filed under the session, so that the many records of uses do not change how rare the
        // words of the memories are.
        let mut by_scope: BTreeMap<MemoryScope, Vec<String>> = BTreeMap::new();
        for (scope, id) in memories {
            let mut filed = scope.clone();
            filed.session.get_or_insert_with(|| session.clone());
            by_scope.entry(filed).or_default().push(use_word(scope, id));
        }
        let write = |(filed, words): (MemoryScope, Vec<String>)| {
            let words = words.join(" ");
            let id = MemoryId::derived(MEMORY_USE, &[&filed.key(), session.as_str(), turn, &words]);
            let mut record = MemoryRecord::new(filed, id, MEMORY_USE, *at, "");
            record.source = Some(context_core::memory::MemorySource::session(session));
            record.data.insert(DATA, json(&UseData { turn: turn.clone() })?);
            Ok(MemoryWrite::new(record, words))
        };
        let writes: Vec<MemoryWrite> = by_scope.into_iter().map(write).collect::<Result<_>>()?;
        if writes.is_empty() {
            return Ok(());
        }
        let written = self.get("record_use")?.write_memories(&writes).await?;
        let context_core::store::MemoryOutcome::Applied(written) = written else {
            return Err(Error::new(ErrorKind::Bug, "record_use", "nothing was expected"));
        };
        // A mark of the same use can come only from forgetting its session.
        tracing::trace!(
            forgotten = written.iter().filter(|w| matches!(w, MemoryWritten::Forgotten)).count(),
            "uses of memories were recorded"
        );
        Ok(())
    }

    async fn uses(&self, scope: &MemoryScope, id: &MemoryId) -> Result<Vec<MemoryUse>> {
        const OPERATION: &str = "uses";
        scope.check_ids(OPERATION, std::slice::from_ref(id))?;
        let word = use_word(scope, id);
        let mut uses = Vec::new();
        for scopes in self.use_scopes(scope).await?.chunks(limits::MAX_MEMORY_SCOPES) {
            let words = vec![word.clone()];
            let mut find = MemoryFind::new(scopes.to_vec(), words, limits::MAX_PAGE);
            find.kinds = vec![MEMORY_USE.to_owned()];
            for hit in self.get(OPERATION)?.find_memories(&find).await?.hits {
                let MemoryRecord { source, at, data, .. } = hit.stored.record;
                let data = data.get(DATA).map(Json::parse::<UseData>);
                let (Some(source), Some(Ok(UseData { turn }))) = (source, data) else { continue };
                let memory = (scope.clone(), id.clone());
                uses.push(MemoryUse::new(source.session, turn, at, vec![memory]));
            }
        }
        uses.sort_by(|a, b| (b.at, &b.session, &b.turn).cmp(&(a.at, &a.session, &a.turn)));
        uses.truncate(limits::MAX_PAGE);
        Ok(uses)
    }
}

/// The memories that a recall may show: those of at least a class, and none in quarantine.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecallFilter {
    least: Option<Trust>,
    quarantines: Vec<Quarantine>,
}

impl RecallFilter {
    /// Reads the quarantines that are visible from a scope.
    pub(crate) async fn read(
        records: &Records,
        scope: &MemoryScope,
        least: Option<Trust>,
    ) -> Result<Self> {
        Ok(Self { least, quarantines: records.read_quarantines(scope.visible()).await? })
    }

    /// Returns whether every memory may be shown.
    pub(crate) fn takes_all(&self) -> bool {
        self.least.is_none() && self.quarantines.is_empty()
    }

    /// Returns whether a memory may be shown.
    pub(crate) fn takes(&self, record: &MemoryRecord) -> bool {
        self.least.is_none_or(|least| record.trust().is_some_and(|trust| trust >= least))
            && !self.quarantines.iter().any(|quarantine| quarantine.takes(record))
    }

    /// Returns whether one memory by its id is in quarantine.
    pub(crate) fn names(&self, scope: &MemoryScope, id: &MemoryId) -> bool {
        self.quarantines.iter().any(|quarantine| {
            quarantine.scope == *scope
                && matches!(&quarantine.target, QuarantineTarget::Id(named) if named == id)
        })
    }

    /// Returns a number that differs for another filter, within this process.
    pub(crate) fn hash(&self) -> u64 {
        if self.takes_all() {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        self.least.hash(&mut hasher);
        self.quarantines.iter().for_each(|quarantine| quarantine.id().hash(&mut hasher));
        hasher.finish()
    }
}
