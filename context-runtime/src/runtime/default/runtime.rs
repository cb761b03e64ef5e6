//! The default runtime.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::history::{HistoryRewrite, RecoveryDecision, SummaryError, SummaryTask};
use context_core::model::{TokenCounter, Usage};
use context_core::runtime::{
    CaptureTurnInput, ModelContext, PrepareInput, RecoveryInput, ToolResultInput, ToolResultOutput,
};
use context_core::{
    Answer, CancelSignal, ChatRef, ContextRuntime, Diagnostic, Message, Result, Timestamp, UserId,
};
use context_tokens::Calibrations;
use tokio::time::Instant;
use tracing::Instrument;

use super::count::Counters;
use super::parts::Parts;
use super::session::{ReportedRequest, Session, Sessions, lock};
use super::{DefaultContextRuntimeBuilder, Spill, capture, media, prepare, recover, tool_results};
use crate::observer::{Observer, TurnEvent};
use crate::trace;
use crate::{DecisionSet, RecoveryChain};

/// A runtime that keeps conversations within the model's window, and the provider's prompt cache
/// valid where possible.
///
/// One runtime serves any number of users and chats concurrently and keeps them apart. Each call
/// names its user and chat. Sessions, recalled and captured memories, and stored outputs belong to
/// that user only.
///
/// The session of a chat makes calls cheap and preserves decisions: a compacted history stays
/// compacted, whether the caller continues with [`ModelContext::rewrite`] or with its own
/// history. For each model the runtime remembers the maximum output that a refusal reported, and
/// reserves and requests no more in any chat. None of this has to be stored. A new process counts
/// once more and decides anew.
///
/// ```
/// use context_runtime::{ContextRuntime, DefaultContextRuntime, Message, PrepareInput};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = DefaultContextRuntime::builder().model("claude-sonnet-4-5").build()?;
/// let input = PrepareInput::new(("ada", "lisbon"), "turn", "anthropic", "claude-sonnet-4-5")
///     .system("You book trips.")
///     .messages([Message::from("Two tickets to Lisbon, please.")]);
/// let context = runtime.prepare_for_model(input).await?;
/// assert_eq!(context.fits(), Some(true));
/// assert_eq!(context.request.max_output_tokens, context.budget.map(|budget| budget.reserve));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DefaultContextRuntime {
    parts: Parts,
    counters: Counters,
    sessions: Sessions,
    attempt_log: recover::AttemptLog,
}

impl DefaultContextRuntime {
    /// Returns a builder.
    pub fn builder() -> DefaultContextRuntimeBuilder {
        DefaultContextRuntimeBuilder::default()
    }

    /// Returns the spill, if one is configured. Use it to answer a model that reads large outputs
    /// back.
    pub fn spill(&self) -> Option<Spill> {
        self.parts.spill()
    }

    /// Returns the observers of this runtime as one, for [`ModelCall`](crate::ModelCall::observer).
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(self.parts.observers.clone())
    }

    /// Returns the counter of the builder's model, before calibration.
    pub(crate) fn default_counter(&self) -> Arc<dyn TokenCounter> {
        self.counters.of(&self.parts, None).counter
    }

    /// Returns the session of a chat, unless its user is not served.
    pub(super) fn known_session(&self, chat: &ChatRef) -> Option<Arc<Mutex<Session>>> {
        self.parts.serves(chat).then(|| self.sessions.get(chat))
    }

    pub(super) fn new(parts: Parts, calibrations: Calibrations) -> Self {
        let sessions = Sessions::new(parts.max_sessions);
        Self {
            parts,
            counters: Counters::new(calibrations),
            sessions,
            attempt_log: recover::AttemptLog::default(),
        }
    }

    /// Calibrates the counter with the usage that the provider reported for the last prepared
    /// request of a chat. If the next request begins with that one, its count starts from the
    /// provider's number, and only what is new is estimated. Call it with the usage of the answer
    /// to that request, sent as it was prepared and to the model it was prepared for. Other usage
    /// would distort the calibration.
    pub fn observe_usage(&self, chat: &ChatRef, usage: &Usage) {
        if !self.parts.serves(chat) {
            return;
        }
        let session = self.sessions.get(chat);
        let sent = lock(&session).sent.as_mut().map(|sent| {
            let (input, estimate) = (usage.total_input(), sent.estimate.tokens());
            // A report that is further off is about another request.
            let fits = input.saturating_mul(2) >= estimate && input / 2 <= estimate;
            if input > 0 && fits {
                sent.base = Some(ReportedRequest { tokens: input, estimate: sent.estimate });
            }
            (sent.model.clone(), sent.estimate)
        });
        if let Some((model, estimate)) = sent {
            self.counters.observe(&model, estimate, usage);
        }
    }

    /// Returns the learned counting errors by model. Store them and pass them to the
    /// [builder](DefaultContextRuntimeBuilder::calibrations) of the next process.
    pub fn calibrations(&self) -> Calibrations {
        self.counters.calibrations()
    }

    /// Applies the answer to a [`ModelContext::summary`] and returns the cuts of the conversation
    /// with the summary in it. Messages that follow those the context was prepared from stay after
    /// the summary. The next call of the chat uses these cuts, unless the caller
    /// [owns](context_core::runtime::CutOwner) them. `messages` are those that were passed to
    /// prepare, perhaps with more appended.
    ///
    /// If the answer is refused, nothing changes, except that no summary is requested [for a
    /// while](DefaultContextRuntimeBuilder::summary_cooldown).
    pub fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<HistoryRewrite, SummaryError> {
        let policy = self.parts.pipeline.policy(task.policy).filter(|_| self.parts.serves(chat));
        let policy = policy.ok_or(SummaryError::NotAsked)?;
        let session = self.sessions.get(chat);
        let mut session = lock(&session);
        let model = session.sent.as_ref().map(|sent| sent.model.clone());
        let counter = self.counters.of(&self.parts, model.as_deref()).calibrated();
        let accepted = session.cuts.accept(&messages.into(), (task, answer), &**policy, &counter);
        if let Err(error) = &accepted
            && !matches!(error, SummaryError::NotAsked | SummaryError::Stale)
        {
            session.cuts.pause(self.after_the_pause());
        }
        accepted
    }

    /// Records that a model could not be asked for a summary. None is requested for a while. Do not
    /// call it if the caller cancelled the request: that says nothing about the next attempt.
    pub fn summary_failed(&self, chat: &ChatRef) {
        if self.parts.serves(chat) {
            lock(&self.sessions.get(chat)).cuts.pause(self.after_the_pause());
        }
    }

    fn after_the_pause(&self) -> Timestamp {
        let pause = i64::try_from(self.parts.summary_cooldown.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.parts.clock.now().as_micros().saturating_add(pause))
    }

    /// Waits until the memory has stored what was [captured](ContextRuntime::capture_turn) before.
    /// Call it before the program ends. The error reports what the memory could not store. Returns
    /// at once without a memory.
    pub async fn flush(&self) -> Result<()> {
        match &self.parts.memory {
            Some(memory) => memory.flush(&CancelSignal::never()).await,
            None => Ok(()),
        }
    }

    /// Removes the session of a chat, and returns whether there was one. Call it when the chat is
    /// deleted.
    pub fn forget_chat(&self, chat: &ChatRef) -> bool {
        self.attempt_log.forget(|of| of == chat);
        self.sessions.forget(|of| of == chat) > 0
    }

    /// Removes the sessions of all chats of a user, and returns their number. Call it when the user
    /// is erased, after a [`flush`](Self::flush): otherwise the memory would store pending captures
    /// after the erasure.
    pub fn forget_user(&self, user: &UserId) -> usize {
        self.attempt_log.forget(|of| of.user == *user);
        self.sessions.forget(|of| of.user == *user)
    }
}

#[async_trait]
impl ContextRuntime for DefaultContextRuntime {
    fn default_model(&self) -> Option<&str> {
        self.parts.model.as_deref()
    }

    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        self.parts.check_chat("prepare_for_model", &input.turn.chat)?;
        let (turn, cancel) = (input.turn.clone(), input.cancel.clone());
        let preparing = async {
            let prepared =
                prepare::prepare(&self.parts, &self.counters, &self.sessions, input).await?;
            // Told without the lock of the session.
            for plan in prepared.context.plans.iter().filter(|plan| plan.applied) {
                self.parts.observers.on_event(&turn, &TurnEvent::Cut { plan });
            }
            media::shown(&self.parts, prepared, &turn.chat, &cancel).await
        };
        preparing.instrument(trace::prepare(&turn.chat)).await
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        self.parts.check_chat("apply_tool_results", &input.turn.chat)?;
        tool_results::apply(&self.parts, input).await
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        self.parts.check_chat("recover_from_model_error", &input.turn.chat)?;
        let _span = trace::recover(&input.turn.chat).entered();
        let session = self.sessions.get(&input.turn.chat);
        let sent = lock(&session).sent.as_ref().map(|sent| (sent.model.clone(), sent.budget));
        let (model, budget) = sent.unzip();
        let counting = self.counters.of(&self.parts, model.as_deref());
        let counter = counting.calibrated();
        let decisions =
            if input.supports_all_decisions { DecisionSet::Full } else { DecisionSet::Basic };
        let ours = || Cow::Owned(RecoveryChain::new(decisions));
        let chain = self.parts.recovery.as_ref().map_or_else(ours, Cow::Borrowed);
        let decision = recover::recover(&chain, &self.attempt_log, &counter, budget, &input);
        if let RecoveryDecision::AdjustOutputAndRetry { max_output_tokens, lasting: true, .. } =
            &decision
        {
            self.counters.cap_output(&counting.model, *max_output_tokens);
        }
        let (error, decided) = (input.error.code, &decision);
        let event = TurnEvent::Recovery { error, decision: decided };
        self.parts.observers.on_event(&input.turn, &event);
        Ok(decision)
    }

    fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<HistoryRewrite, SummaryError> {
        Self::accept_summary(self, chat, messages, task, answer)
    }

    fn summary_failed(&self, chat: &ChatRef) {
        Self::summary_failed(self, chat);
    }

    fn observe_usage(&self, chat: &ChatRef, usage: &Usage) {
        Self::observe_usage(self, chat, usage);
    }

    fn captures_turns(&self) -> bool {
        self.parts.memory.is_some()
    }

    async fn capture_turn(&self, input: CaptureTurnInput) -> Result<Vec<Diagnostic>> {
        capture::check(&self.parts, &input)?;
        let Some(memory) = &self.parts.memory else { return Ok(vec![capture::disabled()]) };
        let session = self.sessions.get(&input.turn.chat);
        let scope = self.parts.memory_scope(&input.turn.chat, input.cwd.as_deref());
        let span = trace::capture(&input.turn.chat);
        let (turn, began) = (input.turn.clone(), Instant::now());
        let captured = capture::capture(&**memory, scope, self.parts.clock.now(), &session, input);
        let diagnostics = captured.instrument(span).await;
        let (failed, elapsed) = (!diagnostics.is_empty(), began.elapsed());
        self.parts.observers.on_event(&turn, &TurnEvent::Captured { failed, elapsed });
        Ok(diagnostics)
    }
}
