//! A runtime that only limits the number of messages.

use async_trait::async_trait;
use context_codec_kit::normalize::{HistoryRules, normalize};
use context_core::base::{DiagnosticCode, Severity, limits};
use context_core::history::RecoveryDecision;
use context_core::model::Unanswered;
use context_core::runtime::{
    ModelContext, PrepareInput, RecoveryInput, ToolResultInput, ToolResultOutput,
};
use context_core::{ContextRuntime, Diagnostic, Result};

use super::append::append;
use super::history::CallHistory;
use super::prompt::Prompt;
use super::{history, limit};

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
/// assert_eq!(context.request.messages.len(), 2);
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
        limits::check_chat("prepare_for_model", &input.turn.chat)?;
        input.cancel.check("prepare_for_model")?;
        history::check("prepare_for_model", &input)?;
        let prompt = Prompt::of(&input, None);
        let mut context = ModelContext::default();
        let given = std::mem::take(&mut input.request.messages);
        let mut history = CallHistory::new(given, input.rewrite.take());
        let is_rewritten = history.rewrite().is_some();
        let max = input.limits.max_messages.or(self.max_messages);
        if max.is_none() {
            context.diagnostics.push(Diagnostic::new(
                DiagnosticCode::BudgetNotEnforced,
                Severity::Info,
                "messages",
                "nothing keeps the history within the window: no limit was given",
            ));
        }
        if let Some(retained) = max.and_then(|max| limit::limit(history.messages(), max)) {
            context.diagnostics.push(retained.diagnostic(history.messages().len()));
            history.cut(retained.of(history.messages()));
        }
        let (messages, rewrite) = history.into_parts();
        context.boundaries =
            rewrite.as_ref().map(|rewrite| rewrite.boundaries.clone()).unwrap_or_default();
        context.rewrite = rewrite.filter(|_| is_rewritten);
        let repaired = normalize(&messages, &HistoryRules::new(), Unanswered::Answer, false);
        context.diagnostics.extend(repaired.diagnostics);
        context.request = input.request;
        context.request.system = prompt.into_texts();
        context.request.messages = repaired.messages.into_owned().into();
        Ok(context)
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        limits::check_chat("apply_tool_results", &input.turn.chat)?;
        input.cancel.check("apply_tool_results")?;
        Ok(append(input))
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        limits::check_chat("recover_from_model_error", &input.turn.chat)?;
        let reason = input.error.code.as_str();
        Ok(match input.partial {
            Some(_) => RecoveryDecision::AcceptPartial { reason: reason.to_owned() },
            None => RecoveryDecision::give_up(reason),
        })
    }
}
