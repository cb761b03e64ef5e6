//! The calls of clients, as data that can be printed, compared and sent between processes.

use std::sync::Arc;

use bytes::Bytes;
use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::store::{
    ChatPatch, Commit, ForkName, MemoryExpected, MemoryWrite, RoundCommit, StreamAppend,
    StreamClaim, StreamEnd, Target,
};
use context_core::trajectory::AgentRef;
use context_core::{ChatRef, Metadata, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat_fixture::{id, message, says};

/// The part of a store whose calls are checked together. Calls of different objects do not affect
/// each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum CheckedObject {
    /// A chat with its messages, fragments and streams.
    Chat,
    /// A round of an agent.
    Round,
    /// The memories of a scope.
    Memories,
}

/// The names under which the calls of a run reach a store.
#[derive(Clone, Debug)]
pub(crate) struct ObjectNames {
    pub(crate) chat: ChatRef,
    pub(crate) agent: AgentRef,
    pub(crate) scope: MemoryScope,
}

impl ObjectNames {
    pub(crate) fn of_user(user: &str) -> Self {
        Self {
            chat: ChatRef::new(user, "chat"),
            agent: AgentRef::main(user, "session"),
            scope: MemoryScope::new(user),
        }
    }
}

/// A call of a client. Times are in microseconds, and the empty text stands for no id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ClientCall {
    CreateChat { at: i64 },
    DeleteChat { idle_since: Option<i64> },
    Commit(CommitCall),
    PutFragment { id: String, text: String, at: i64 },
    RemoveFragment { id: String, at: i64 },
    ActivateBranch { branch: String, at: i64 },
    RenameBranch { branch: String, to: String, at: i64 },
    DeleteBranch { branch: String, expected: String, at: i64 },
    SetCheckpoint { name: String, message: String, at: i64 },
    DeleteCheckpoint { name: String, at: i64 },
    ReadChat,
    ReadBranches,
    ReadChain { branch: String },
    ReadMessages { ids: Vec<String> },
    ReadRevisions { message: String },
    ReadFragments,
    ReadCheckpoints,
    CreateStream { stream: String, at: i64 },
    ClaimStream { stream: String, writer: String, idle_since: Option<i64>, at: i64 },
    AppendStream { stream: String, writer: String, offset: u64, chunk: String, end: bool, at: i64 },
    CancelStream { stream: String, at: i64 },
    ReopenStream { stream: String, run: u32, at: i64 },
    RemoveStream { stream: String },
    ReadStream { stream: String },
    RecordRound(RoundCall),
    LoadRound,
    WriteMemory { id: String, text: String, expected: Expectation, at: i64 },
    ForgetMemory { id: String },
    ReadMemories { ids: Vec<String> },
}

/// A commit to a chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommitCall {
    pub(crate) target: CallTarget,
    /// The new messages.
    pub(crate) messages: Vec<String>,
    /// The message to amend, and its new text.
    pub(crate) amend: Option<(String, String)>,
    pub(crate) redact: Option<String>,
    /// Whether the counter in the chat's metadata grows by one.
    pub(crate) count: bool,
    pub(crate) key: Option<String>,
    pub(crate) at: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum CallTarget {
    #[default]
    Stay,
    Extend {
        branch: String,
        expected: String,
    },
    Graft {
        branch: String,
        seen: String,
    },
    Fork {
        name: String,
        at: String,
        activate: bool,
    },
    ForkVersion {
        of: String,
        at: String,
    },
}

/// A commit to a round: one more node with this text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoundCall {
    pub(crate) expected: u64,
    pub(crate) key: String,
    pub(crate) text: String,
    /// The commit itself. Absent in a call that was read from another process.
    #[serde(skip)]
    pub(crate) commit: Option<Arc<RoundCommit>>,
}

/// The precondition of a write of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Expectation {
    Anything,
    Absent,
    Version(u64),
}

impl CommitCall {
    pub(crate) fn commit(&self, chat: &ChatRef) -> Commit {
        let target = match &self.target {
            CallTarget::Stay => Target::Stay,
            CallTarget::Extend { branch, expected } => {
                Target::Extend { branch: branch.as_str().into(), expected: id(expected) }
            }
            CallTarget::Graft { branch, seen } => {
                Target::Graft { branch: branch.as_str().into(), seen: id(seen) }
            }
            CallTarget::Fork { name, at, activate } => {
                let name = ForkName::Exact(name.as_str().into());
                Target::Fork { name, at: id(at), activate: *activate }
            }
            CallTarget::ForkVersion { of, at } => {
                let name = ForkName::NextVersionOf(of.as_str().into());
                Target::Fork { name, at: id(at), activate: false }
            }
        };
        let add = Metadata::default().with("count", 1);
        Commit {
            nodes: self.messages.iter().map(|id| message(id)).collect(),
            amendments: self.amend.iter().map(|(id, text)| says(id, text)).collect(),
            redactions: self.redact.iter().map(|id| says(id, "[redacted]")).collect(),
            patch: self.count.then(|| ChatPatch { add, ..ChatPatch::default() }),
            key: self.key.as_deref().map(Into::into),
            ..Commit::new(chat.clone(), target, time(self.at))
        }
    }
}

pub(crate) fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

impl ClientCall {
    pub(crate) fn object(&self) -> CheckedObject {
        match self {
            Self::RecordRound(_) | Self::LoadRound => CheckedObject::Round,
            Self::WriteMemory { .. } | Self::ForgetMemory { .. } | Self::ReadMemories { .. } => {
                CheckedObject::Memories
            }
            _ => CheckedObject::Chat,
        }
    }

    /// Whether the call changes nothing, whatever its outcome.
    pub(crate) fn is_read(&self) -> bool {
        matches!(
            self,
            Self::ReadChat
                | Self::ReadBranches
                | Self::ReadChain { .. }
                | Self::ReadMessages { .. }
                | Self::ReadRevisions { .. }
                | Self::ReadFragments
                | Self::ReadCheckpoints
                | Self::ReadStream { .. }
                | Self::LoadRound
                | Self::ReadMemories { .. }
        )
    }

    /// Returns the names that only this call, sent once or more, gives to what it writes.
    pub(crate) fn markers(&self) -> Vec<&str> {
        match self {
            Self::Commit(CommitCall { messages, amend, .. }) => {
                let texts = amend.iter().map(|(_, text)| text.as_str());
                messages.iter().map(String::as_str).chain(texts).collect()
            }
            Self::PutFragment { text, .. } | Self::WriteMemory { text, .. } => vec![text],
            Self::ClaimStream { writer, .. } => vec![writer],
            Self::AppendStream { chunk, .. } => vec![chunk],
            Self::RecordRound(RoundCall { text, .. }) => vec![text],
            _ => Vec::new(),
        }
    }

    /// Whether a layer that retries the call may reply something else than the last try: for
    /// writes to a chat that do not report a replay themselves.
    pub(crate) fn hides_retries(&self) -> bool {
        let is_stream = matches!(
            self,
            Self::CreateStream { .. }
                | Self::ClaimStream { .. }
                | Self::AppendStream { .. }
                | Self::ReopenStream { .. }
        );
        self.object() == CheckedObject::Chat && !self.is_read() && !is_stream
    }

    /// Builds the write of a memory.
    pub(crate) fn memory_write(
        scope: &MemoryScope,
        (id, text): (&str, &str),
        expected: Expectation,
        at: i64,
    ) -> MemoryWrite {
        let record = MemoryRecord::new(scope.clone(), id, "note", time(at), text);
        MemoryWrite::new(record, text).expected(match expected {
            Expectation::Anything => MemoryExpected::Anything,
            Expectation::Absent => MemoryExpected::Absent,
            Expectation::Version(version) => MemoryExpected::Version(version),
        })
    }

    /// Builds an append to a stream.
    pub(crate) fn append(
        writer: &str,
        offset: u64,
        chunk: &str,
        end: bool,
        at: i64,
    ) -> StreamAppend {
        let append = StreamAppend::new(writer, offset, [chunk.as_bytes().to_vec()], time(at));
        if end { append.end(StreamEnd::Completed) } else { append }
    }

    /// Builds the claim of a stream.
    pub(crate) fn claim(writer: &str, idle_since: Option<i64>, at: i64) -> StreamClaim {
        let claim = StreamClaim::new(writer, time(at));
        match idle_since {
            Some(since) => claim.take_over(time(since)),
            None => claim,
        }
    }
}

/// Returns the text of a chunk.
pub(crate) fn chunk_text(chunk: &Bytes) -> String {
    String::from_utf8_lossy(chunk).into_owned()
}
