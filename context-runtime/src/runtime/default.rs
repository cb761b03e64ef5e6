//! The runtime of an agent.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::{
    Answer, CancelSignal, CaptureTurnInput, Compacted, ContextRuntime, Diagnostic, Message, ModelContext,
    PrepareInput, RecoveryDecision, RecoveryInput, Result, SummaryError, SummaryTask, Timestamp,
    ToolResultInput, ToolResultOutput, Usage,
};
use context_tokens::Calibrations;

use super::count::Counters;
use super::parts::Parts;
use super::session::{Sessions, lock};
use super::{DefaultContextRuntimeBuilder, Spill, capture, media, prepare, recover, tool_results};
use crate::{Contract, RecoveryChain};

/// A runtime that keeps conversations within the window of their model, and the provider's prompt cache intact where it can.
///
/// One serves any number of sessions at once. What it remembers of a session, by its id, makes calls cheap and keeps what was decided:
/// a history that was compacted stays so, whether the caller goes on with [`ModelContext::compacted`] or with its own. Of a model it
/// remembers what a refusal said it writes at most, and keeps free and asks for no more in any session. Nothing of it has to be
/// stored; a new process counts once more and decides anew.
///
/// ```
/// use context_runtime::{ContextRuntime, DefaultContextRuntime, Message, PrepareInput};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = DefaultContextRuntime::builder().model("claude-sonnet-4-5").build()?;
/// let input = PrepareInput::new("session", "turn", "anthropic", "claude-sonnet-4-5")
///     .system("You book trips.")
///     .messages([Message::from("Two tickets to Lisbon, please.")]);
/// let context = runtime.prepare_for_model(input).await?;
/// assert_eq!(context.fits(), Some(true));
/// assert_eq!(context.request().max_output_tokens, context.budget.map(|budget| budget.reserve));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DefaultContextRuntime {
    parts: Parts,
    counters: Counters,
    sessions: Sessions,
    tried: recover::Tried,
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

    pub(super) fn new(parts: Parts, calibrations: Calibrations) -> Self {
        let sessions = Sessions::new(parts.max_sessions);
        Self { parts, counters: Counters::new(calibrations), sessions, tried: recover::Tried::default() }
    }

    /// Learns from what the provider says the last prepared request of a session had. Call it with the usage of the answer to that
    /// request, as it was prepared and by the model it was prepared for; of any other it would learn something wrong.
    pub fn observe_usage(&self, session_id: &str, usage: &Usage) {
        let session = self.sessions.get(session_id);
        let sent = lock(&session).sent.as_ref().map(|sent| (sent.model.clone(), sent.estimate));
        if let Some((model, estimate)) = sent {
            self.counters.observe(&model, estimate, usage);
        }
    }

    /// What was learned of how far counts are off, by model: to be stored, and given to the
    /// [builder](DefaultContextRuntimeBuilder::calibrations) of the next process.
    pub fn calibrations(&self) -> Calibrations {
        self.counters.calibrations()
    }

    /// Takes the answer to a [`ModelContext::summary`] and gives the history with the summary in it; what follows the messages that
    /// the context was prepared from stays behind it. The next call of the session is made from it, whether the caller gives this
    /// history or the one before. `messages` are those that were given to prepare, perhaps with more behind them.
    ///
    /// If the answer is refused, nothing has changed, but that no summary is asked for
    /// [for a while](DefaultContextRuntimeBuilder::summary_cooldown).
    pub fn accept_summary(
        &self,
        session_id: &str,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Compacted, SummaryError> {
        let policy = self.parts.pipeline.policy(task.policy).ok_or(SummaryError::NotAsked)?;
        let session = self.sessions.get(session_id);
        let mut session = lock(&session);
        let model = session.sent.as_ref().map(|sent| sent.model.clone()).unwrap_or_default();
        let counter = self.counters.of(&self.parts, &model).calibrated();
        let accepted = session.cuts.accept(messages, (task, answer), &**policy, &counter);
        if let Err(error) = &accepted
            && !matches!(error, SummaryError::NotAsked | SummaryError::Stale)
        {
            session.cuts.pause(self.after_the_pause());
        }
        accepted
    }

    /// Says that the model could not be asked for a summary. None is asked for for a while. Not to be called if it was cancelled:
    /// that the caller did not want to wait says nothing about the next time.
    pub fn summary_failed(&self, session_id: &str) {
        lock(&self.sessions.get(session_id)).cuts.pause(self.after_the_pause());
    }

    fn after_the_pause(&self) -> Timestamp {
        let pause = i64::try_from(self.parts.summary_cooldown.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.parts.clock.now().as_micros().saturating_add(pause))
    }

    /// Waits until the memory has kept what was [captured](ContextRuntime::capture_turn) before. Call it before the program ends;
    /// what the memory could not keep is the error. Nothing to do without a memory.
    pub async fn flush(&self) -> Result<()> {
        match &self.parts.memory {
            Some(memory) => memory.flush(&CancelSignal::never()).await,
            None => Ok(()),
        }
    }

    /// Forgets what is remembered of a session; whether there was something.
    pub fn forget_session(&self, session_id: &str) -> bool {
        self.sessions.forget(session_id)
    }
}

#[async_trait]
impl ContextRuntime for DefaultContextRuntime {
    fn default_model(&self) -> Option<&str> {
        self.parts.model.as_deref()
    }

    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        let (session, cancel) = (input.session_id.clone(), input.cancel.clone());
        let context = prepare::prepare(&self.parts, &self.counters, &self.sessions, input).await?;
        media::shown(&self.parts, context, &session, &cancel).await
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        tool_results::apply(&self.parts, input).await
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        let session = self.sessions.get(&input.session_id);
        let sent = lock(&session).sent.as_ref().map(|sent| (sent.model.clone(), sent.budget));
        let (model, budget) = sent.map_or((String::new(), None), |(model, budget)| (model, Some(budget)));
        let counting = self.counters.of(&self.parts, &model);
        let counter = counting.calibrated();
        let contract = if input.follows_all { Contract::Extended } else { Contract::Seed };
        let ours = || Cow::Owned(RecoveryChain::new(contract));
        let chain = self.parts.recovery.as_ref().map_or_else(ours, Cow::Borrowed);
        let decision = recover::recover(&chain, &self.tried, &counter, budget, &input);
        if let RecoveryDecision::AdjustOutputAndRetry { max_output_tokens, lasting: true, .. } = &decision {
            self.counters.cap_output(&counting.model, *max_output_tokens);
        }
        Ok(decision)
    }

    fn accept_summary(
        &self,
        session_id: &str,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Compacted, SummaryError> {
        Self::accept_summary(self, session_id, messages, task, answer)
    }

    fn summary_failed(&self, session_id: &str) {
        Self::summary_failed(self, session_id);
    }

    fn observe_usage(&self, session_id: &str, usage: &Usage) {
        Self::observe_usage(self, session_id, usage);
    }

    fn captures_turns(&self) -> bool {
        self.parts.memory.is_some()
    }

    async fn capture_turn(&self, input: CaptureTurnInput) -> Result<Vec<Diagnostic>> {
        let Some(memory) = &self.parts.memory else { return Ok(Vec::new()) };
        let session = self.sessions.get(&input.session_id);
        let scope = self.parts.memory_scope(&input.session_id, input.cwd.as_deref());
        let Some(scope) = scope else { return Ok(Vec::new()) };
        Ok(capture::capture(&**memory, scope, self.parts.clock.now(), &session, input).await)
    }
}
