//! What a memory is asked and what it answers.

use std::fmt;
use std::sync::Arc;

use super::MemoryScope;
use crate::base::MemoryId;
use crate::memory::MemorySource;
use crate::{Diagnostic, Message, Metadata, Timestamp};

/// What to remember something about. `Debug` shows whose and how long it is, not what it says.
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
    /// From where: nothing is recalled that is not [visible](MemoryScope::sees) from here.
    pub scope: MemoryScope,
    /// What the user asked last.
    pub text: String,
    /// The conversation.
    pub recent: Vec<Arc<Message>>,
    /// How many tokens the memories may have, if there is a limit.
    pub max_tokens: Option<u64>,
    /// Now, for what the text says of time.
    pub at: Option<Timestamp>,
}

impl RecallQuery {
    /// About this.
    pub fn new(scope: MemoryScope, text: impl Into<String>) -> Self {
        Self { scope, text: text.into(), recent: Vec::new(), max_tokens: None, at: None }
    }

    /// At most so many tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Asked then.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
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
            .finish()
    }
}

/// One thing that is remembered. `Debug` does not show what.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RecalledMemory {
    /// What kind of memory: `episode`, `fact`, `block`, or what a provider calls its own.
    pub kind: String,
    /// What is remembered.
    pub text: String,
    /// Its name among the memories of its scope, for forgetting it.
    pub id: Option<MemoryId>,
    /// Under which scope it is filed.
    pub scope: Option<MemoryScope>,
    /// Where it was said.
    pub source: Option<MemorySource>,
    /// By whom.
    pub speaker: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// How well it fits: higher is better. Only good for comparing memories of one recall.
    pub score: f64,
}

impl RecalledMemory {
    /// Something of which nothing else is known.
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
            .field("text_bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// What was remembered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recalled {
    /// What is worth telling, the best first: what does not fit is left out from the end.
    pub memories: Vec<RecalledMemory>,
    /// What the caller should know.
    pub diagnostics: Vec<Diagnostic>,
    /// Facts beside it.
    pub metadata: Metadata,
}

impl Recalled {
    /// These were remembered.
    pub fn new(memories: Vec<RecalledMemory>) -> Self {
        Self { memories, ..Self::default() }
    }

    /// A text of which nothing else is known, as a memory of the kind `note`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![RecalledMemory::new("note", text)])
    }
}
