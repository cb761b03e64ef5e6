//! Recall queries and results.

use std::fmt;

use super::MemoryScope;
use crate::base::MemoryId;
use crate::memory::{MemorySource, Trust};
use crate::{Diagnostic, Messages, Metadata, Timestamp};

/// A query for relevant memories. `Debug` shows the scope and the length of the text, not the text.
///
/// ```
/// use context_core::memory::{MemoryScope, RecallQuery};
///
/// let scope = MemoryScope::new("ada").project("trip").session("friday");
/// let query = RecallQuery::new(scope, "What is my cat's name?").max_tokens(500);
/// assert_eq!(query.max_tokens, Some(500));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RecallQuery {
    /// The scope of the query. Only memories that are [visible](MemoryScope::sees) from it are
    /// recalled.
    pub scope: MemoryScope,
    /// The user's last request.
    pub text: String,
    /// The recent conversation.
    pub recent: Messages,
    /// The maximum number of tokens of the recalled memories, if there is a limit.
    pub max_tokens: Option<u64>,
    /// The current time, for relative times in the text.
    pub at: Option<Timestamp>,
    /// The least class of the memories to recall. Memories of an unknown class are left out too.
    /// `None`: memories of any class.
    pub least_trust: Option<Trust>,
}

impl RecallQuery {
    /// Creates a query about a text.
    pub fn new(scope: MemoryScope, text: impl Into<String>) -> Self {
        Self {
            scope,
            text: text.into(),
            recent: Messages::new(),
            max_tokens: None,
            at: None,
            least_trust: None,
        }
    }

    /// Limits the number of tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the current time.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Sets the least class of the memories to recall.
    #[must_use]
    pub fn least_trust(mut self, least: Trust) -> Self {
        self.least_trust = Some(least);
        self
    }
}

impl fmt::Debug for RecallQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecallQuery")
            .field("scope", &self.scope)
            .field("text_bytes", &self.text.len())
            .field("recent", &self.recent.len())
            .field("max_tokens", &self.max_tokens)
            .field("at", &self.at)
            .field("least_trust", &self.least_trust)
            .finish()
    }
}

/// A recalled memory. `Debug` does not show its text.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RecalledMemory {
    /// The kind of memory: `episode`, `fact`, `block`, or a kind of the provider's own.
    pub kind: String,
    /// The text of the memory.
    pub text: String,
    /// The id of the memory in its scope, for forgetting it.
    pub id: Option<MemoryId>,
    /// The scope of the memory.
    pub scope: Option<MemoryScope>,
    /// The session or message where it was said.
    pub source: Option<MemorySource>,
    /// The speaker.
    pub speaker: Option<String>,
    /// The time when it was said.
    pub at: Option<Timestamp>,
    /// The relevance: higher is better. Comparable only within one recall.
    pub score: f64,
    /// The class of trust, if it is known.
    pub trust: Option<Trust>,
}

impl RecalledMemory {
    /// Creates a memory with a kind and a text, without further details.
    pub fn new(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            text: text.into(),
            id: None,
            scope: None,
            source: None,
            speaker: None,
            at: None,
            score: 0.0,
            trust: None,
        }
    }
}

impl fmt::Debug for RecalledMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecalledMemory")
            .field("kind", &self.kind)
            .field("id", &self.id)
            .field("scope", &self.scope)
            .field("source", &self.source)
            .field("at", &self.at)
            .field("score", &self.score)
            .field("trust", &self.trust)
            .field("text_bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// The result of a recall.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recalled {
    /// The memories, best first. If there is too little room, the last ones are left out.
    pub memories: Vec<RecalledMemory>,
    /// Diagnostics for the caller.
    pub diagnostics: Vec<Diagnostic>,
    /// Additional facts about the recall.
    pub metadata: Metadata,
}

impl Recalled {
    /// Creates a result from memories.
    pub fn new(memories: Vec<RecalledMemory>) -> Self {
        Self { memories, ..Self::default() }
    }

    /// Creates a result with one text, as a memory of the kind `note`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![RecalledMemory::new("note", text)])
    }
}
