//! Review of memories: quarantine, and the log of their uses.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{MemoryRecord, MemoryScope, MemorySource, Trust};
use crate::base::{MemoryId, limits};
use crate::{Error, Result, SessionId, Timestamp};

/// The longest reason of a quarantine, in bytes of UTF-8.
const LONGEST_REASON: usize = 4_096;

/// The memories that a quarantine takes out of recall.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuarantineTarget {
    /// One memory, by its id in exactly the scope of the quarantine.
    Id(MemoryId),
    /// Everything from a session or a message.
    Source(MemorySource),
    /// Everything that a speaker said.
    Speaker(String),
    /// Everything of exactly this class.
    Trust(Trust),
}

/// A quarantine: memories that are kept and not recalled, until they are released or forgotten.
///
/// It also holds for memories that are captured later. It holds within its scope, as
/// [forgetting](super::MemoryForget) does.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantine {
    /// The scope. It covers narrower scopes, except for a single memory.
    pub scope: MemoryScope,
    /// The memories.
    pub target: QuarantineTarget,
    /// The reason, for people. At most 4,096 bytes.
    pub reason: String,
    /// The time of the quarantine.
    pub at: Timestamp,
}

impl Quarantine {
    /// Creates a quarantine.
    pub fn new(
        scope: MemoryScope,
        target: QuarantineTarget,
        reason: impl Into<String>,
        at: Timestamp,
    ) -> Self {
        Self { scope, target, reason: reason.into(), at }
    }

    /// Returns the id, which is the same for the same target in the same scope.
    pub fn id(&self) -> MemoryId {
        let target = serde_json::to_string(&self.target).unwrap_or_default();
        MemoryId::derived("quarantine", &[&self.scope.key(), &target])
    }

    /// Returns whether a record is in this quarantine.
    pub fn takes(&self, record: &MemoryRecord) -> bool {
        let covered = self.scope.covers(&record.scope);
        match &self.target {
            QuarantineTarget::Id(id) => record.scope == self.scope && record.id == *id,
            QuarantineTarget::Source(source) => {
                covered && record.source.as_ref().is_some_and(|from| source.covers(from))
            }
            QuarantineTarget::Speaker(speaker) => {
                covered && record.speaker.as_ref() == Some(speaker)
            }
            QuarantineTarget::Trust(trust) => covered && record.trust() == Some(*trust),
        }
    }

    /// Refuses invalid names and a reason that is too long.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "quarantine";
        self.scope.check(OPERATION)?;
        limits::check_length(OPERATION, "reason", self.reason.len(), LONGEST_REASON)?;
        match &self.target {
            QuarantineTarget::Id(id) => limits::check_id(OPERATION, "memory", id.as_str()),
            QuarantineTarget::Source(source) => source.check(OPERATION),
            QuarantineTarget::Speaker(speaker) => limits::check_id(OPERATION, "speaker", speaker),
            QuarantineTarget::Trust(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Quarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quarantine")
            .field("scope", &self.scope)
            .field("target", &self.target)
            .field("at", &self.at)
            .field("reason_bytes", &self.reason.len())
            .finish()
    }
}

/// A use of memories: they were shown to a model in the requests of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// The session of the turn.
    pub session: SessionId,
    /// The id of the turn. `Agents` of the facade name a turn by the message of its question.
    pub turn: String,
    /// The time.
    pub at: Timestamp,
    /// The memories, each with its scope: at most [`limits::MAX_PAGE`].
    pub memories: Vec<(MemoryScope, MemoryId)>,
}

impl MemoryUse {
    /// Creates a use.
    pub fn new(
        session: impl Into<SessionId>,
        turn: impl Into<String>,
        at: Timestamp,
        memories: Vec<(MemoryScope, MemoryId)>,
    ) -> Self {
        Self { session: session.into(), turn: turn.into(), at, memories }
    }

    /// Refuses invalid names, too many memories, and memories of several users.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "record_use";
        limits::check_id(OPERATION, "session", self.session.as_str())?;
        limits::check_id(OPERATION, "turn", &self.turn)?;
        limits::check_length(OPERATION, "memories", self.memories.len(), limits::MAX_PAGE)?;
        for (scope, id) in &self.memories {
            scope.check(OPERATION)?;
            limits::check_id(OPERATION, "memory", id.as_str())?;
            if scope.user != self.memories[0].0.user {
                return Err(Error::invalid(OPERATION, "memories of two users in one use"));
            }
        }
        Ok(())
    }
}

/// Review of the memories of a provider: quarantine, and the log of their uses.
///
/// # Contract with implementors
///
/// * A memory in quarantine is not recalled by any process, from the return of
///   [`quarantine`](Self::quarantine) on. It is forgotten like any other.
/// * The log holds names and times, and no content. It outlives the forgetting of a memory by its
///   id, so that the answers which the memory reached are still found. It goes with the session of
///   the use, and with its scope.
#[async_trait]
pub trait MemoryReview: fmt::Debug + Send + Sync {
    /// Takes memories out of recall. The same target again replaces the reason and the time.
    async fn quarantine(&self, quarantine: &Quarantine) -> Result<()>;

    /// Ends a quarantine by its [id](Quarantine::id), filed under exactly this scope. Returns
    /// whether there was one.
    async fn release(&self, scope: &MemoryScope, id: &MemoryId) -> Result<bool>;

    /// Returns the quarantines that are visible from a scope, newest first.
    async fn quarantined(&self, scope: &MemoryScope) -> Result<Vec<Quarantine>>;

    /// Records a use. The same use again counts once.
    async fn record_use(&self, memory_use: &MemoryUse) -> Result<()>;

    /// Returns the uses of a memory, newest first: at most [`limits::MAX_PAGE`]. Each names this
    /// memory alone.
    async fn uses(&self, scope: &MemoryScope, id: &MemoryId) -> Result<Vec<MemoryUse>>;
}
