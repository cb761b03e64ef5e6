//! Runtimes that are simpler, or worse, than the default one.

use context_runtime::Origin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use context_runtime::{
    ContextRuntime, DecisionSet, DefaultContextRuntime, Error, ErrorKind, Message, ModelContext,
    PrepareInput, RecoveryChain, RecoveryDecision, RecoveryInput, Result, ToolResultInput,
    ToolResultOutput,
    compaction::HistoryRewrite,
    model::{Answer, ModelRequest, SummaryError, SummaryTask},
};

pub(super) fn runtime() -> DefaultContextRuntime {
    let recovery = RecoveryChain::new(DecisionSet::Full);
    DefaultContextRuntime::builder().model("gpt-4o").recovery(recovery).build().unwrap()
}

/// Prepares as the default runtime does, but fails at recovery.
#[derive(Debug)]
pub(super) struct NoRecoveryRuntime(pub(super) DefaultContextRuntime);

#[async_trait]
impl ContextRuntime for NoRecoveryRuntime {
    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        self.0.prepare_for_model(input).await
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        self.0.apply_tool_results(input).await
    }

    async fn recover_from_model_error(&self, _: RecoveryInput) -> Result<RecoveryDecision> {
        Err(Error::new(ErrorKind::Unavailable, "recover", "the policy server is away"))
    }
}

/// Wants a summary of all but the last message each time, and accepts any text as one.
#[derive(Debug)]
pub(super) struct SummarisingRuntime {
    pub(super) inner: DefaultContextRuntime,
    pub(super) accepted: AtomicU32,
}

impl SummarisingRuntime {
    pub(super) fn new() -> Self {
        Self { inner: runtime(), accepted: AtomicU32::default() }
    }
}

#[async_trait]
impl ContextRuntime for SummarisingRuntime {
    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        let covered = input.request.messages.len() - 1;
        let mut context = self.inner.prepare_for_model(input).await?;
        let request = ModelRequest::new([Message::from("Summarise.")]);
        context.summary = Some(Box::new(SummaryTask::new("test", request, 0..covered, 1_000)));
        Ok(context)
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        self.inner.apply_tool_results(input).await
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        self.inner.recover_from_model_error(input).await
    }

    fn accept_summary(
        &self,
        _: &context_runtime::ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<HistoryRewrite, SummaryError> {
        let text = answer.message.plain_text();
        if text.is_empty() {
            return Err(SummaryError::Empty);
        }
        self.accepted.fetch_add(1, Ordering::Relaxed);
        let mut compacted = HistoryRewrite::identity(&messages[task.covers.end..]);
        for origin in compacted.origins.iter_mut().flatten() {
            *origin += task.covers.end;
        }
        compacted.messages.insert(
            0,
            Arc::new(Message::from(format!("so far: {text}")).with_origin(Origin::Synthetic)),
        );
        compacted.origins.insert(0, None);
        compacted.covered = messages.len();
        Ok(compacted)
    }
}
