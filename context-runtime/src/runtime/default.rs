//! The runtime of an agent.

use async_trait::async_trait;
use context_core::{
    CaptureTurnInput, ContextRuntime, Diagnostic, ModelContext, PrepareInput, RecoveryDecision,
    RecoveryInput, Result, ToolResultInput, ToolResultOutput,
};
use context_tokens::Calibrations;

use super::parts::Parts;
use super::{DefaultContextRuntimeBuilder, Spill, media, prepare, recover, tool_results};

/// A runtime that keeps conversations within the window of their model.
#[derive(Debug)]
pub struct DefaultContextRuntime {
    parts: Parts,
}

impl DefaultContextRuntime {
    /// Begins to compose one.
    pub fn builder() -> DefaultContextRuntimeBuilder {
        DefaultContextRuntimeBuilder::default()
    }

    /// Where large outputs of sessions are kept, if somewhere: for answering a model that reads them back.
    pub fn spill(&self) -> Option<Spill> {
        self.parts.spill()
    }

    pub(super) fn new(parts: Parts, _calibrations: Calibrations) -> Self {
        Self { parts }
    }
}

#[async_trait]
impl ContextRuntime for DefaultContextRuntime {
    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        let (session, cancel) = (input.session_id.clone(), input.cancel.clone());
        let context = prepare::prepare(&self.parts, input)?;
        media::shown(&self.parts, context, &session, &cancel).await
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        tool_results::apply(&self.parts, input).await
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        let counter = self.parts.models.model(self.parts.model.as_deref().unwrap_or_default()).counter();
        Ok(recover::recover(&self.parts, &counter, None, &input))
    }

    async fn capture_turn(&self, _input: CaptureTurnInput) -> Result<Vec<Diagnostic>> {
        Ok(Vec::new())
    }
}
