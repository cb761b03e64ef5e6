//! Calls and tools that have begun. Each of them ends, if only by being dropped.

#[cfg(feature = "agents")]
use std::sync::Arc;

use context_core::model::{ModelErrorCode, Usage};
use context_core::runtime::TurnRef;
use tokio::time::Instant;

use super::{CallOutcome, Observer, Observers, TurnEvent};

/// A call of a model.
pub(crate) struct BegunCall {
    observers: Observers,
    turn: TurnRef,
    provider: String,
    model: String,
    is_summary: bool,
    began: Instant,
    outcome: CallOutcome,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
}

impl BegunCall {
    /// Reports the begin of a call. `None` if nobody listens.
    pub(crate) fn new(
        observers: &Observers,
        turn: &TurnRef,
        (provider, model): (&str, &str),
        is_summary: bool,
    ) -> Option<Self> {
        if observers.is_empty() {
            return None;
        }
        observers.on_event(turn, &TurnEvent::CallBegan { provider, model, is_summary });
        Some(Self {
            observers: observers.clone(),
            turn: turn.clone(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            is_summary,
            began: Instant::now(),
            outcome: CallOutcome::Abandoned,
            usage: None,
            cost_usd: None,
        })
    }

    /// Ends the call with a reply. A call that is dropped without one was abandoned.
    pub(crate) fn replied(
        mut self,
        usage: Option<Usage>,
        cost_usd: Option<f64>,
        error: Option<ModelErrorCode>,
    ) {
        (self.usage, self.cost_usd) = (usage, cost_usd);
        self.outcome = error.map_or(CallOutcome::Answered, CallOutcome::Failed);
    }
}

impl Drop for BegunCall {
    fn drop(&mut self) {
        let ended = TurnEvent::CallEnded {
            provider: &self.provider,
            model: &self.model,
            is_summary: self.is_summary,
            outcome: self.outcome,
            usage: self.usage,
            cost_usd: self.cost_usd,
            elapsed: self.began.elapsed(),
        };
        self.observers.on_event(&self.turn, &ended);
    }
}

/// A tool that runs.
#[cfg(feature = "agents")]
pub(crate) struct BegunTool {
    observer: Arc<dyn Observer>,
    turn: TurnRef,
    name: String,
    call: String,
    began: Instant,
    pub(crate) failed: bool,
}

#[cfg(feature = "agents")]
impl BegunTool {
    /// Reports the begin of a tool.
    pub(crate) fn new(
        observer: Arc<dyn Observer>,
        turn: &TurnRef,
        call: &context_core::ToolCall,
    ) -> Self {
        observer.on_event(turn, &TurnEvent::ToolBegan { name: &call.name, call: &call.id });
        let (name, call) = (call.name.clone(), call.id.clone());
        Self { observer, turn: turn.clone(), name, call, began: Instant::now(), failed: true }
    }
}

#[cfg(feature = "agents")]
impl Drop for BegunTool {
    fn drop(&mut self) {
        let Self { name, call, failed, .. } = self;
        let (failed, elapsed) = (*failed, self.began.elapsed());
        self.observer.on_event(&self.turn, &TurnEvent::ToolEnded { name, call, failed, elapsed });
    }
}
