//! A runtime that only limits the number of messages.

use async_trait::async_trait;
use context_codec_kit::normalize::{HistoryRules, normalize};
use context_core::base::{DiagnosticCode, Severity, limits};
use context_core::history::{BoundaryKind, RecoveryDecision};
use context_core::model::Unanswered;
use context_core::runtime::{
    Boundary, ModelContext, PrepareInput, RecoveryInput, ToolResultInput, ToolResultOutput,
};
use context_core::{ContextRuntime, Diagnostic, Result};

use super::append::append;
use super::limit;
use super::prompt::Prompt;

/// A runtime that limits the number of messages and repairs requests, for tests, small tools and
/// comparisons.
///
/// It counts no tokens, compacts nothing, recalls nothing, and gives up at every error. Tool
/// results are appended unchanged.
///
/// ```
/// use context_runtime::{ContextRuntime, Message, NullContextRuntime, PrepareInput, Role};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let runtime = NullContextRuntime::default().max_messages(2);
/// let history = [
///     Message::from("hello"),
///     Message::text(Role::Assistant, "Hello."),
///     Message::from("two tickets"),
///     Message::text(Role::Assistant, "Where to?"),
/// ];
/// let context = runtime.prepare_for_model(PrepareInput::new(("ada", "c"), "t", "openai", "gpt-4o").messages(history)).await?;
/// assert_eq!(context.messages.len(), 2);
/// assert_eq!(context.boundaries[0].retained_messages, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct NullContextRuntime {
    max_messages: Option<usize>,
}

impl NullContextRuntime {
    /// Sets the maximum number of messages, unless an input sets its own.
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.max_messages = Some(messages);
        self
    }
}

#[async_trait]
impl ContextRuntime for NullContextRuntime {
    async fn prepare_for_model(&self, mut input: PrepareInput) -> Result<ModelContext> {
        limits::check_chat("prepare_for_model", &input.chat)?;
        input.cancel.check("prepare_for_model")?;
        let prompt = Prompt::of(&input, None);
        let mut context = ModelContext::default();
        let messages = std::mem::take(&mut input.messages);
        let max = input.max_messages.or(self.max_messages);
        let kept = max.and_then(|max| limit::limit(&messages, max));
        if max.is_none() {
            context.diagnostics.push(Diagnostic::new(
                DiagnosticCode::BudgetNotEnforced,
                Severity::Info,
                "messages",
                "nothing keeps the history within the window: no limit was given",
            ));
        }
        let messages = match kept {
            Some(kept) => {
                context.diagnostics.push(kept.diagnostic(messages.len()));
                context.boundaries.push(Boundary::new(BoundaryKind::Compact, kept.len()));
                kept.of(&messages).messages
            }
            None => messages,
        };
        let repaired = normalize(&messages, &HistoryRules::new(), Unanswered::Answer, false);
        context.diagnostics.extend(repaired.diagnostics);
        context.messages = repaired.messages.into_owned();
        context.model = input.model;
        context.system_prompt = prompt.joined();
        context.system_prompt_parts = prompt.parts;
        context.tools = input.tools;
        context.tool_choice = input.tool_choice;
        context.output = input.output;
        context.max_output_tokens = input.max_output_tokens;
        Ok(context)
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        limits::check_chat("apply_tool_results", &input.chat)?;
        input.cancel.check("apply_tool_results")?;
        Ok(append(input))
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        limits::check_chat("recover_from_model_error", &input.chat)?;
        Ok(RecoveryDecision::give_up(input.error.code.as_str()))
    }
}
