//! The request and reply bodies. A server refuses unknown fields. A client ignores them, except in
//! scopes.

use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, MemorySource, QuarantineTarget, RecalledMemory, Trust};
use context_core::{Message, MessageId, Role, SessionId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

pub(super) const PROTOCOL: u32 = 1;

/// A scope without unknown fields, which might narrow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scope {
    user: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
}

impl From<&MemoryScope> for Scope {
    fn from(scope: &MemoryScope) -> Self {
        let MemoryScope { user, project, agent, session, .. } = scope.clone();
        Self { user, project, agent, session }
    }
}

impl From<Scope> for MemoryScope {
    fn from(wire: Scope) -> Self {
        let mut scope = Self::new(wire.user);
        (scope.project, scope.agent, scope.session) = (wire.project, wire.agent, wire.session);
        scope
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    pub(super) scope: Scope,
    pub(super) text: String,
    #[serde(default)]
    pub(super) recent: Vec<Recent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) least_trust: Option<Trust>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent {
    pub(super) role: Role,
    pub(super) text: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecallReply {
    pub(super) scope: Scope,
    pub(super) memories: Vec<Memory>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) scope: Scope,
    #[serde(default)]
    pub(super) score: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<MemoryId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<MemorySource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) speaker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trust: Option<Trust>,
}

impl Memory {
    /// Converts a memory for sending. If the provider states no scope, the memory gets the
    /// requested one.
    pub(super) fn of(memory: RecalledMemory, asked: &MemoryScope) -> Self {
        let RecalledMemory { kind, text, id, scope, source, speaker, at, score, trust, .. } =
            memory;
        let scope = Scope::from(scope.as_ref().unwrap_or(asked));
        Self { kind, text, scope, score, id, source, speaker, at, trust }
    }
}

impl From<Memory> for RecalledMemory {
    fn from(wire: Memory) -> Self {
        let mut memory = Self::new(wire.kind, wire.text);
        memory.scope = Some(wire.scope.into());
        (memory.id, memory.source, memory.speaker) = (wire.id, wire.source, wire.speaker);
        (memory.at, memory.score, memory.trust) = (wire.at, wire.score, wire.trust);
        memory
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    pub(super) scope: Scope,
    pub(super) turn: String,
    pub(super) at: Timestamp,
    #[serde(default)]
    pub(super) errored: bool,
    pub(super) messages: Vec<Captured>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Captured {
    pub(super) id: MessageId,
    pub(super) message: Message,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) speaker: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flush {}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forget {
    pub(super) scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ids: Option<Vec<MemoryId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) all: Option<bool>,
}

/// As strict as scopes, because an ignored field would widen a forget.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<MessageId>,
}

/// The reply to a capture, and the common part of all replies for a scope.
#[derive(Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) scope: Scope,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InScope {
    pub(super) scope: Scope,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quarantine {
    pub(super) scope: Scope,
    target: QuarantineTarget,
    #[serde(default)]
    reason: String,
    at: Timestamp,
}

impl From<&context_core::memory::Quarantine> for Quarantine {
    fn from(quarantine: &context_core::memory::Quarantine) -> Self {
        let context_core::memory::Quarantine { scope, target, reason, at, .. } = quarantine.clone();
        Self { scope: Scope::from(&scope), target, reason, at }
    }
}

impl From<Quarantine> for context_core::memory::Quarantine {
    fn from(wire: Quarantine) -> Self {
        Self::new(wire.scope.into(), wire.target, wire.reason, wire.at)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct QuarantinedReply {
    pub(super) scope: Scope,
    pub(super) quarantines: Vec<Quarantine>,
}

/// A memory or a quarantine by its id.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) scope: Scope,
    pub(super) id: MemoryId,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Released {
    pub(super) scope: Scope,
    pub(super) released: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Use {
    /// A scope of the user of the memories.
    pub(super) scope: Scope,
    pub(super) session: SessionId,
    pub(super) turn: String,
    pub(super) at: Timestamp,
    pub(super) memories: Vec<Named>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct UsesReply {
    pub(super) scope: Scope,
    pub(super) uses: Vec<UseOf>,
}

/// A use of the memory that was asked for.
#[derive(Serialize, Deserialize)]
pub(super) struct UseOf {
    pub(super) session: SessionId,
    pub(super) turn: String,
    pub(super) at: Timestamp,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Forgotten {
    pub(super) scope: Scope,
    pub(super) removed: u64,
    pub(super) remaining: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Info {
    pub(super) name: String,
    pub(super) protocol: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) error: Failed,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Failed {
    pub(super) kind: String,
    pub(super) message: String,
}
