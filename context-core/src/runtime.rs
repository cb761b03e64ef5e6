//! The contract between an agent loop and the runtime that prepares its context.
//!
//! The main operations follow a turn: prepare for the model, apply tool results, recover from a
//! model error, capture the turn. A runtime calls no model. Work that needs a model is returned to
//! the loop as a decision or as a [`SummaryTask`].

mod context;
mod input;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
pub use context::{Breakdown, ModelContext, Prefix, ToolResultOutput};
pub use input::{
    CaptureTurnInput, CutOwner, Environment, PrepareInput, RecoveryInput, RequestLimits,
    SummariesAhead, ToolResultInput, TurnRef,
};

use crate::base::{DiagnosticCode, Severity};
use crate::history::{HistoryRewrite, RecoveryDecision, SummaryError, SummaryTask};
use crate::model::Usage;
use crate::{Answer, ChatRef, Diagnostic, Message, Result};

/// Prepares the context of model calls.
///
/// One runtime may serve any number of users and chats. Each call names its chat, and no data of
/// one user reaches another user's calls. A chat is identified by its user and its id together.
///
/// Contract with implementors: a caller may drop any future, and a future ends soon after the
/// cancel signal of its input is raised. Inputs are not modified. Outputs share the unchanged
/// messages with them.
#[async_trait]
pub trait ContextRuntime: fmt::Debug + Send + Sync + 'static {
    /// Prepares the request for a model: messages, system prompt, tools and diagnostics.
    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext>;

    /// Appends tool results to the history, cut to the runtime's limits.
    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput>;

    /// Decides how to recover from a model error. Recovery terminates: a caller that follows every
    /// decision makes a bounded number of model calls.
    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision>;

    /// Returns the model that is used if an input names none, if the runtime has a default.
    fn default_model(&self) -> Option<&str> {
        None
    }

    /// Validates the model's answer to [`ModelContext::summary`] and returns the cuts of the
    /// conversation with the summary in it. `messages` are those of the
    /// [input](PrepareInput::request) that the context was prepared from, optionally followed by
    /// newer ones. A refused answer changes nothing.
    fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<HistoryRewrite, SummaryError> {
        let _ = (chat, messages, task, answer);
        Err(SummaryError::NotAsked)
    }

    /// Reports that the summary could not be obtained from a model. Do not call it when the call
    /// was only cancelled.
    fn summary_failed(&self, chat: &ChatRef) {
        let _ = chat;
    }

    /// Learns from the token usage that the provider reported for the last prepared request of a
    /// chat.
    fn observe_usage(&self, chat: &ChatRef, usage: &Usage) {
        let _ = (chat, usage);
    }

    /// Returns whether [`capture_turn`](Self::capture_turn) has any effect.
    fn captures_turns(&self) -> bool {
        false
    }

    /// Passes a finished turn to the memory, if there is one. Capture is advisory: failures are
    /// returned as diagnostics, not as an error. Without a memory, nothing is stored, and the
    /// diagnostic [`MemoryDisabled`](crate::base::DiagnosticCode::MemoryDisabled) says so.
    async fn capture_turn(&self, input: CaptureTurnInput) -> Result<Vec<Diagnostic>> {
        let _ = input;
        let text = "the turn was not captured: this runtime has no memory; use one that has, or \
            call `capture_turn` only if `captures_turns`";
        let code = DiagnosticCode::MemoryDisabled;
        Ok(vec![Diagnostic::new(code, Severity::Info, "memory", text)])
    }
}
