//! The contract between an agent loop and what prepares its context.
//!
//! Shaped as the contract of the first generation of such runtimes, in Rust's names: prepare for
//! the model, apply tool results, recover from a model's error, capture the turn. A runtime calls
//! no model; what needs one is handed to the loop as a decision or a
//! [`SummaryTask`](crate::history::SummaryTask).

mod context;
mod input;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
pub use context::{Boundary, Breakdown, ModelContext, Prefix, ToolResultOutput};
pub use input::{CaptureTurnInput, PrepareInput, RecoveryInput, ToolResultInput};

use crate::history::{Compacted, RecoveryDecision, SummaryError, SummaryTask};
use crate::model::Usage;
use crate::{Answer, ChatRef, Message, Result};

/// Prepares the context of model calls.
///
/// One runtime may serve any number of users and chats: each call says whose turn it is, and
/// nothing of one user's is part of another's. A chat is told apart by its user and its id
/// together.
///
/// Implementors: every future may be dropped, and ends soon after its input's cancel signal is
/// raised. Inputs are not changed; what is returned shares with them what stayed the same.
#[async_trait]
pub trait ContextRuntime: fmt::Debug + Send + Sync + 'static {
    /// What the model is to be sent.
    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext>;

    /// The history with results of tools behind it, cut to limits.
    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput>;

    /// What to do about an error. It ends: who follows decisions blindly makes a bounded number of
    /// calls.
    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision>;

    /// The model that is prepared for where an input names none, if there is one.
    fn default_model(&self) -> Option<&str> {
        None
    }

    /// Takes the answer to a [`ModelContext::summary`] and gives the history with the summary in
    /// it. `messages` are those that the context was prepared from, perhaps with more behind them.
    /// If the answer is refused, nothing has happened.
    fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Compacted, SummaryError> {
        let _ = (chat, messages, task, answer);
        Err(SummaryError::NotAsked)
    }

    /// Hears that no model could be asked for a summary. Not to be told if it was only cancelled.
    fn summary_failed(&self, chat: &ChatRef) {
        let _ = chat;
    }

    /// Learns from what a provider says the last prepared request of a chat had.
    fn observe_usage(&self, chat: &ChatRef, usage: &Usage) {
        let _ = (chat, usage);
    }

    /// Whether [`capture_turn`](Self::capture_turn) does anything.
    fn captures_turns(&self) -> bool {
        false
    }

    /// Hands a turn that ended to the memory, if there is one. Advisory: what goes wrong is not
    /// returned as an error.
    async fn capture_turn(&self, input: CaptureTurnInput) -> Result<Vec<crate::Diagnostic>> {
        let _ = input;
        Ok(Vec::new())
    }
}
