//! The configuration of a runtime.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::model::TokenCounter;
use context_core::{ChatRef, Clock, Error, MemoryProvider, Renderer, Result, Store, UserId};
use context_tokens::ModelTable;

use super::{CacheKey, LiveMedia, ProviderClearing, RecallPlace, Spill, ToolResultLimits};
use crate::RecoveryChain;
use crate::observer::Observers;
use crate::runtime::{Pipeline, StageFault};

/// The operation that errors of a prepared call name.
pub(super) const PREPARE: &str = "prepare_for_model";

/// The configuration of a runtime, as built. It never changes.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) models: Arc<ModelTable>,
    pub(super) model: Option<String>,
    pub(super) window: Option<u64>,
    pub(super) reserve: Option<u64>,
    pub(super) counter: Option<Arc<dyn TokenCounter>>,
    pub(super) pipeline: Pipeline,
    pub(super) clearing: Option<ProviderClearing>,
    /// `None` for the built-in policies, limited to the decisions that the caller supports.
    pub(super) recovery: Option<RecoveryChain>,
    pub(super) memory: Option<Arc<dyn MemoryProvider>>,
    /// The only user that is served. `None` if all are.
    pub(super) user: Option<UserId>,
    /// The agent of the memory scope.
    pub(super) agent: Option<String>,
    /// The renderer of recalled memories.
    pub(super) recall_renderer: Arc<dyn Renderer>,
    pub(super) recall_place: RecallPlace,
    pub(super) recall_timeout: Duration,
    pub(super) recall_tokens: u64,
    /// Whether the program set how to recall, so that it expects a memory.
    pub(super) expects_recall: bool,
    /// The store for results that are too large.
    pub(super) spill: Option<Arc<dyn Store>>,
    pub(super) tool_results: ToolResultLimits,
    pub(super) live_media: LiveMedia,
    pub(super) observers: Observers,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) environment: bool,
    pub(super) max_messages: Option<usize>,
    pub(super) max_sessions: usize,
    pub(super) expected_calls: u32,
    /// The share of the room for the history that the user's words fill unchanged.
    pub(super) user_words: f64,
    pub(super) cache_key: CacheKey,
    /// `None` for the lifetime that is the cheapest for a chat.
    pub(super) cache_lifetime: Option<Duration>,
    pub(super) summary_cooldown: Duration,
}

impl Parts {
    /// Refuses an invalid chat reference, and a chat of a user that is not served.
    pub(super) fn check_chat(&self, operation: &'static str, chat: &ChatRef) -> Result<()> {
        served(operation, self.user.as_ref(), chat)
    }

    /// Whether the chat's user is served.
    pub(super) fn serves(&self, chat: &ChatRef) -> bool {
        self.user.as_ref().is_none_or(|user| *user == chat.user)
    }

    /// Returns the memory scope of a chat.
    pub(super) fn memory_scope(&self, chat: &ChatRef, cwd: Option<&Path>) -> MemoryScope {
        let mut scope = MemoryScope::new(&chat.user).session(chat.chat.as_str());
        scope.project = cwd.map(|cwd| cwd.display().to_string());
        scope.agent.clone_from(&self.agent);
        scope
    }

    /// Returns the spill for results that are too large.
    pub(super) fn spill(&self) -> Option<Spill> {
        let store = Arc::clone(self.spill.as_ref()?);
        Some(Spill::composed(store, self.user.clone(), Arc::clone(&self.clock)))
    }
}

/// Refuses an invalid chat reference, and a chat of another user than the only one that is served.
/// The error does not name the served user.
pub(super) fn served(operation: &'static str, only: Option<&UserId>, chat: &ChatRef) -> Result<()> {
    limits::check_chat(operation, chat)?;
    if only.is_none_or(|user| *user == chat.user) {
        return Ok(());
    }
    let text = "this runtime serves only another user: leave its `user` out, or build a runtime for each user";
    Err(Error::invalid(operation, text).with("user", &chat.user).with("chat", &chat.chat))
}

/// A fault in the configuration of a runtime.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeFault {
    /// The reserve leaves nothing of the window for input.
    #[error("a window of {window} tokens has no room beside {reserve} for the answer")]
    Window {
        /// The window, in tokens.
        window: u64,
        /// The reserve for the answer in tokens.
        reserve: u64,
    },
    /// A number is 0 that must be greater.
    #[error("{setting} may not be 0")]
    Zero {
        /// The limited quantity.
        setting: &'static str,
    },
    /// A share is out of range.
    #[error("{setting} may be a share from 0 to {most}, not {share}")]
    Share {
        /// The name of the method.
        setting: &'static str,
        /// The share.
        share: f64,
        /// The largest share.
        most: f64,
    },
    /// A name is empty.
    #[error("the {setting} may not be empty: name one, or leave `{setting}` out")]
    Empty {
        /// The name of the method.
        setting: &'static str,
    },
    /// The model is not in the table, so its window is unknown.
    #[error(
        "the window of the model {model} is not known: set `window`, or give a table of `models` that has it"
    )]
    UnknownModel {
        /// The model.
        model: String,
    },
    /// No model is named.
    #[error("no model is named: set `model`, or a `client`")]
    NoModel,
    /// The codec of the model's provider is not part of the program.
    #[error(
        "the codec of the provider {provider} is not built in: turn on its feature, or set `provider`"
    )]
    NoCodec {
        /// The provider.
        provider: &'static str,
    },
    /// The store does not support blobs.
    #[error("the store {store} keeps no blobs, so nothing can be spilled to it")]
    NoBlobs {
        /// The store.
        store: &'static str,
    },
    /// A stage of the compaction is invalid.
    #[error(transparent)]
    Stage(#[from] StageFault),
}

/// All faults in the configuration of a runtime.
#[derive(Clone, PartialEq)]
pub struct RuntimeFaults(pub Vec<RuntimeFault>);

impl fmt::Display for RuntimeFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parts of the runtime are invalid")?;
        for (i, fault) in self.0.iter().enumerate() {
            write!(f, "{} {fault}", if i == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for RuntimeFaults {}

context_core::readable_debug!(RuntimeFault, RuntimeFaults);

impl From<RuntimeFaults> for Error {
    fn from(faults: RuntimeFaults) -> Self {
        Self::invalid("build_runtime", "the parts of the runtime are invalid").with_source(faults)
    }
}
