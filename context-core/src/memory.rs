//! The seam of memories: what is worth remembering comes back before a turn, and is kept behind it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{CancelSignal, Diagnostic, Message, Metadata, Result};

/// Whose memories are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MemoryScope {
    /// The session.
    pub session: String,
    /// The user, if memories are kept apart by users.
    pub user: Option<String>,
    /// The project, such as a folder, if they are kept apart by projects.
    pub project: Option<String>,
}

impl MemoryScope {
    /// Of a session.
    pub fn session(session: impl Into<String>) -> Self {
        Self { session: session.into(), ..Self::default() }
    }
}

/// What to remember something about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecallQuery {
    /// Whose.
    pub scope: MemoryScope,
    /// What the user asked last.
    pub text: String,
    /// The conversation.
    pub recent: Vec<Arc<Message>>,
    /// How many tokens the memories may have, if there is a limit.
    pub max_tokens: Option<u64>,
}

impl RecallQuery {
    /// About this.
    pub fn new(scope: MemoryScope, text: impl Into<String>) -> Self {
        Self { scope, text: text.into(), recent: Vec::new(), max_tokens: None }
    }
}

/// What was remembered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recalled {
    /// For the model; nothing if nothing fits.
    pub text: Option<String>,
    /// What the caller should know.
    pub diagnostics: Vec<Diagnostic>,
    /// Facts beside it, such as how many memories it holds.
    pub metadata: Metadata,
}

impl Recalled {
    /// This was remembered.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CapturedTurn {
    /// Whose.
    pub scope: MemoryScope,
    /// Which turn.
    pub turn: String,
    /// What was said since the last capture of this session.
    pub messages: Vec<Arc<Message>>,
    /// Whether the turn failed.
    pub errored: bool,
}

impl CapturedTurn {
    /// A turn of these messages.
    pub fn new(scope: MemoryScope, turn: impl Into<String>, messages: Vec<Arc<Message>>) -> Self {
        Self { scope, turn: turn.into(), messages, errored: false }
    }
}

/// Remembers.
///
/// Implementors: whoever calls gives up waiting after a while and drops the future; leave nothing half done then. What is
/// recalled is shown to the model as untrusted text.
#[async_trait]
pub trait MemoryProvider: fmt::Debug + Send + Sync + 'static {
    /// What is worth telling the model about a query.
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled>;

    /// Keeps what is worth it of a turn. The same turn may come again; it counts once.
    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()>;

    /// Forgets everything of a scope and says how many memories that were.
    async fn forget(&self, scope: &MemoryScope) -> Result<u64>;
}
