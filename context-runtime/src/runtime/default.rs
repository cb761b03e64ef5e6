//! The runtime of an agent.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::history::{Compacted, RecoveryDecision, SummaryError, SummaryTask};
use context_core::model::Usage;
use context_core::runtime::{
    CaptureTurnInput, ModelContext, PrepareInput, RecoveryInput, ToolResultInput, ToolResultOutput,
};
use context_core::{
    Answer, CancelSignal, ChatRef, ContextRuntime, Diagnostic, Message, Result, Timestamp, UserId,
};
use context_tokens::Calibrations;

use super::count::Counters;
use super::parts::Parts;
use super::session::{Sessions, lock};
use super::{DefaultContextRuntimeBuilder, Spill, capture, media, prepare, recover, tool_results};
use crate::{Contract, RecoveryChain};

/// A runtime that keeps conversations within the window of their model, and the provider's prompt
/// cache intact where it can.
///
/// One serves any number of users and chats at once, and keeps them apart: each call says whose
/// turn it is, and what is remembered of a chat, recalled, captured or kept elsewhere is its user's
/// alone.
///
/// What it remembers of a chat makes calls cheap and keeps what was decided: a history that was
/// compacted stays so, whether the caller goes on with [`ModelContext::compacted`] or with its own.
/// Of a model it remembers what a refusal said it writes at most, and keeps free and asks for no
/// more in any chat. Nothing of it has to be stored; a new process counts once more and decides
/// anew.
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

    /// Where large outputs of chats are kept, if somewhere: for answering a model that reads them
    /// back.
    pub fn spill(&self) -> Option<Spill> {
        self.parts.spill()
    }

    pub(super) fn new(parts: Parts, calibrations: Calibrations) -> Self {
        let sessions = Sessions::new(parts.max_sessions);
        Self {
            parts,
            counters: Counters::new(calibrations),
            sessions,
            tried: recover::Tried::default(),
        }
    }

    /// Learns from what the provider says the last prepared request of a chat had. Call it with the
    /// usage of the answer to that request, as it was prepared and by the model it was prepared
    /// for; of any other it would learn something wrong.
    pub fn observe_usage(&self, chat: &ChatRef, usage: &Usage) {
        if !self.parts.serves(chat) {
            return;
        }
        let session = self.sessions.get(chat);
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

    /// Takes the answer to a [`ModelContext::summary`] and gives the history with the summary in
    /// it; what follows the messages that the context was prepared from stays behind it. The next
    /// call of the chat is made from it, whether the caller gives this history or the one before.
    /// `messages` are those that were given to prepare, perhaps with more behind them.
    ///
    /// If the answer is refused, nothing has changed, but that no summary is asked for
    /// [for a while](DefaultContextRuntimeBuilder::summary_cooldown).
    pub fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Compacted, SummaryError> {
        let policy = self.parts.pipeline.policy(task.policy).filter(|_| self.parts.serves(chat));
        let policy = policy.ok_or(SummaryError::NotAsked)?;
        let session = self.sessions.get(chat);
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

    /// Says that the model could not be asked for a summary. None is asked for for a while. Not to
    /// be called if it was cancelled: that the caller did not want to wait says nothing about the
    /// next time.
    pub fn summary_failed(&self, chat: &ChatRef) {
        if self.parts.serves(chat) {
            lock(&self.sessions.get(chat)).cuts.pause(self.after_the_pause());
        }
    }

    fn after_the_pause(&self) -> Timestamp {
        let pause = i64::try_from(self.parts.summary_cooldown.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.parts.clock.now().as_micros().saturating_add(pause))
    }

    /// Waits until the memory has kept what was [captured](ContextRuntime::capture_turn) before.
    /// Call it before the program ends; what the memory could not keep is the error. Nothing to do
    /// without a memory.
    pub async fn flush(&self) -> Result<()> {
        match &self.parts.memory {
            Some(memory) => memory.flush(&CancelSignal::never()).await,
            None => Ok(()),
        }
    }

    /// Forgets what is remembered of a chat; whether there was something. Call it when the chat is
    /// deleted.
    pub fn forget_chat(&self, chat: &ChatRef) -> bool {
        self.tried.forget(|of| of == chat);
        self.sessions.forget(|of| of == chat) > 0
    }

    /// Forgets what is remembered of all chats of a user, and returns of how many. Call it when the
    /// user is erased, behind a [`flush`](Self::flush): what a memory has not kept yet, it would
    /// keep after the erasure.
    pub fn forget_user(&self, user: &UserId) -> usize {
        self.tried.forget(|of| of.user == *user);
        self.sessions.forget(|of| of.user == *user)
    }
}

#[async_trait]
impl ContextRuntime for DefaultContextRuntime {
    fn default_model(&self) -> Option<&str> {
        self.parts.model.as_deref()
    }

    async fn prepare_for_model(&self, input: PrepareInput) -> Result<ModelContext> {
        self.parts.check_chat("prepare_for_model", &input.chat)?;
        let (chat, cancel) = (input.chat.clone(), input.cancel.clone());
        let context = prepare::prepare(&self.parts, &self.counters, &self.sessions, input).await?;
        media::shown(&self.parts, context, &chat, &cancel).await
    }

    async fn apply_tool_results(&self, input: ToolResultInput) -> Result<ToolResultOutput> {
        self.parts.check_chat("apply_tool_results", &input.chat)?;
        tool_results::apply(&self.parts, input).await
    }

    async fn recover_from_model_error(&self, input: RecoveryInput) -> Result<RecoveryDecision> {
        self.parts.check_chat("recover_from_model_error", &input.chat)?;
        let session = self.sessions.get(&input.chat);
        let sent = lock(&session).sent.as_ref().map(|sent| (sent.model.clone(), sent.budget));
        let (model, budget) =
            sent.map_or((String::new(), None), |(model, budget)| (model, Some(budget)));
        let counting = self.counters.of(&self.parts, &model);
        let counter = counting.calibrated();
        let contract = if input.follows_all { Contract::Extended } else { Contract::Seed };
        let ours = || Cow::Owned(RecoveryChain::new(contract));
        let chain = self.parts.recovery.as_ref().map_or_else(ours, Cow::Borrowed);
        let decision = recover::recover(&chain, &self.tried, &counter, budget, &input);
        if let RecoveryDecision::AdjustOutputAndRetry { max_output_tokens, lasting: true, .. } =
            &decision
        {
            self.counters.cap_output(&counting.model, *max_output_tokens);
        }
        Ok(decision)
    }

    fn accept_summary(
        &self,
        chat: &ChatRef,
        messages: &[Arc<Message>],
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Compacted, SummaryError> {
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
        let Some(memory) = &self.parts.memory else { return Ok(Vec::new()) };
        let session = self.sessions.get(&input.chat);
        let scope = self.parts.memory_scope(&input.chat, input.cwd.as_deref());
        Ok(capture::capture(&**memory, scope, self.parts.clock.now(), &session, input).await)
    }
}
