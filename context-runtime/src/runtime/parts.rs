//! What a runtime is made of.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use context_core::{Clock, Error, MemoryProvider, MemoryScope, Renderer, Store, TokenCounter, UserId};
use context_tokens::ModelTable;

use super::spill::SessionChats;
use super::{LiveMedia, Pipeline, Spill, StageFault, ToolResultLimits};
use crate::RecoveryChain;

/// What a runtime is made of: what the builder says, and nothing that changes.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) models: Arc<ModelTable>,
    pub(super) model: Option<String>,
    pub(super) window: Option<u64>,
    pub(super) reserve: Option<u64>,
    pub(super) counter: Option<Arc<dyn TokenCounter>>,
    pub(super) pipeline: Pipeline,
    /// Nothing for the built-in policies, under the contract that the caller follows.
    pub(super) recovery: Option<RecoveryChain>,
    pub(super) memory: Option<Arc<dyn MemoryProvider>>,
    /// Whose memories they are, and of which agent.
    pub(super) user: Option<UserId>,
    pub(super) agent: Option<String>,
    /// How what was recalled is shown to the model.
    pub(super) recall_renderer: Option<Arc<dyn Renderer>>,
    pub(super) recall_timeout: Duration,
    pub(super) recall_tokens: u64,
    /// Where results too large are kept, and whose chats the sessions are.
    pub(super) spill: Option<(Arc<dyn Store>, UserId)>,
    pub(super) session_chats: Option<SessionChats>,
    pub(super) tool_results: ToolResultLimits,
    pub(super) live_media: LiveMedia,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) environment: bool,
    pub(super) max_messages: Option<usize>,
    pub(super) max_sessions: usize,
    pub(super) expected_calls: u32,
    pub(super) cache_lifetime: Duration,
    pub(super) summary_cooldown: Duration,
}

impl Parts {
    /// From where a session remembers: the user that was named, else the one whose chats the sessions are.
    pub(super) fn memory_scope(&self, session: &str, cwd: Option<&Path>) -> Option<MemoryScope> {
        let user = self.user.as_ref().or(self.spill.as_ref().map(|(_, user)| user))?;
        let mut scope = MemoryScope::new(user);
        scope.project = cwd.map(|cwd| cwd.display().to_string());
        scope.agent.clone_from(&self.agent);
        Some(scope.session(session))
    }

    /// Where results too large are kept.
    pub(super) fn spill(&self) -> Option<Spill> {
        let (store, user) = self.spill.as_ref()?;
        let (store, user) = (Arc::clone(store), user.clone());
        Some(Spill::composed(store, user, self.session_chats.clone(), Arc::clone(&self.clock)))
    }
}

/// Why a runtime cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeFault {
    /// Nothing of the window is left for input.
    #[error("a window of {window} tokens has no room beside {reserve} for the answer")]
    Window {
        /// The window, in tokens.
        window: u64,
        /// What is kept for the answer, in tokens.
        reserve: u64,
    },
    /// Something that must be more is nothing.
    #[error("{what} may not be 0")]
    Zero {
        /// What.
        what: &'static str,
    },
    /// The store keeps no bytes.
    #[error("the store {store} keeps no blobs, so nothing can be spilled to it")]
    NoBlobs {
        /// The store.
        store: &'static str,
    },
    /// Nobody said whose memories they are; they are never those of everybody.
    #[error("a memory needs to know whose it is: say `user`")]
    NoUser,
    /// No renderer is compiled in.
    #[error("what is recalled needs a renderer: say `recall_renderer`, or turn on the feature `xml`")]
    NoRenderer,
    /// A stage of the compaction cannot work.
    #[error(transparent)]
    Stage(#[from] StageFault),
}

/// Everything that keeps a runtime from working, at once.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeFaults(pub Vec<RuntimeFault>);

impl fmt::Display for RuntimeFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime cannot work")?;
        for (i, fault) in self.0.iter().enumerate() {
            write!(f, "{} {fault}", if i == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for RuntimeFaults {}

impl From<RuntimeFaults> for Error {
    fn from(faults: RuntimeFaults) -> Self {
        Self::invalid("build_runtime", "the runtime cannot work").with_source(faults)
    }
}
