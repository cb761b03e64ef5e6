//! A recorded conversation, driven against an in-process provider.

use std::sync::Arc;

use context_runtime::tokens::TokenCounter;
use context_runtime::{
    Clock, ContextRuntime, DefaultContextRuntime, Message, ModelContext, PrepareInput, Role,
    Timestamp, ToolResultInput,
    compaction::Stage,
    model::{Answer, ModelCodec},
    provider,
};
use context_simulator::conversations::Conversation;
use context_simulator::{ConversationReplay, Simulator};

use crate::pipeline::ANSWER;

/// The provider with explicit cache breakpoints, which reports cached tokens.
const PROVIDER: &str = "anthropic";
const MODEL: &str = "claude-sonnet-4-5";
const SESSION: &str = "s";

/// The results of conversations, in tokens unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The number of calls.
    pub(crate) calls: u64,
    /// The number of calls that the provider refused.
    pub(crate) refused: u64,
    /// The first refusal.
    pub(crate) refusal: Option<String>,
    /// The number of calls with a cut.
    pub(crate) cuts: u64,
    /// The total of all requests, had nothing ever been cut.
    pub(crate) uncut: u64,
    /// The actual total.
    pub(crate) sent: u64,
    /// Tokens the provider read again: neither new nor from its cache.
    pub(crate) reread: u64,
    /// Tokens that models read for summaries.
    pub(crate) summarised: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.refused += other.refused;
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
        self.cuts += other.cuts;
        self.uncut += other.uncut;
        self.sent += other.sent;
        self.reread += other.reread;
        self.summarised += other.summarised;
    }

    /// Returns what was not sent.
    pub(crate) fn saved(&self) -> u64 {
        self.uncut.saturating_sub(self.sent)
    }
}

/// A clock that stands still, so that every run is the same.
#[derive(Debug)]
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }
}

/// Plays a conversation to its end. No call is made before it fills half of the window, since
/// nothing is cut until then, whatever the stages.
pub(crate) async fn replay(
    conversation: &Conversation,
    window: u64,
    stages: Vec<Stage>,
    counter: &Arc<dyn TokenCounter>,
) -> Tally {
    let replay = ConversationReplay::new(conversation.messages.iter().cloned());
    let mut drive = Drive::new(&replay, window, stages, counter);
    while let Some(step) = replay.advance() {
        drive.take(step.input).await;
        let Some(answer) = step.answer else { break };
        if drive.tokens > window / 2 {
            drive.call().await;
        }
        drive.push(answer);
    }
    drive.tally
}

struct Drive {
    codec: Arc<dyn ModelCodec>,
    counter: Arc<dyn TokenCounter>,
    model: Simulator,
    runtime: DefaultContextRuntime,
    system: Vec<String>,
    history: Vec<Arc<Message>>,
    /// The tokens of the history and of what precedes it, and how many were added since the last
    /// call.
    tokens: u64,
    new: u64,
    tally: Tally,
}

impl Drive {
    fn new(
        replay: &ConversationReplay,
        window: u64,
        stages: Vec<Stage>,
        counter: &Arc<dyn TokenCounter>,
    ) -> Self {
        let codec = provider(PROVIDER).unwrap();
        let runtime = DefaultContextRuntime::builder()
            .window(window)
            .counter(Arc::clone(counter))
            .clock(FixedClock)
            .compaction(stages)
            .build()
            .unwrap();
        let system = replay.system().iter().map(|message| message.plain_text().into_owned());
        let tokens =
            replay.system().iter().map(|message| counter.count_shared(message).tokens()).sum();
        Self {
            model: Simulator::new(Arc::clone(&codec), Arc::clone(counter))
                .window(window)
                .behaviour(replay.clone()),
            codec,
            counter: Arc::clone(counter),
            runtime,
            system: system.collect(),
            history: Vec::new(),
            tokens,
            new: tokens,
            tally: Tally::default(),
        }
    }

    /// Takes the input before the model answers.
    async fn take(&mut self, input: Vec<Arc<Message>>) {
        for message in input {
            if message.role != Role::Tool {
                self.push(message);
                continue;
            }
            let history = std::mem::take(&mut self.history);
            let before = history.len();
            let input =
                ToolResultInput::new(("ada", SESSION), "t", history, Message::clone(&message));
            self.history = self.runtime.apply_tool_results(input).await.unwrap().messages;
            let behind = self.history.split_off(before);
            behind.into_iter().for_each(|message| self.push(message));
        }
    }

    fn push(&mut self, message: Arc<Message>) {
        let tokens = self.counter.count_shared(&message).tokens();
        (self.tokens, self.new) = (self.tokens + tokens, self.new + tokens);
        self.history.push(message);
    }

    async fn call(&mut self) {
        let context = self.prepare().await;
        let body = self.codec.lower(&context.request).unwrap().body;
        match self.model.send(body.as_str()).read(&*self.codec) {
            Ok(Answer { usage: Some(usage), .. }) => {
                self.runtime.observe_usage(&("ada", SESSION).into(), &usage)
            }
            Ok(_) => {}
            Err(error) => {
                let said =
                    format!("{error}; the runtime counted {}", context.breakdown.total().tokens());
                self.tally.refusal.get_or_insert(said);
            }
        }
        let served = self.model.log().pop().unwrap();
        let sent = served.input.unwrap_or_default();
        self.tally.refused += u64::from(!served.is_answered());
        // The cache is always empty before the first call.
        if self.tally.calls > 0 {
            self.tally.reread += sent.saturating_sub(served.cache_read).saturating_sub(self.new);
        }
        self.tally.calls += 1;
        (self.tally.uncut, self.tally.sent) =
            (self.tally.uncut + self.tokens.max(sent), self.tally.sent + sent);
        self.new = 0;
    }

    /// Prepares the request, with a summary if one is requested.
    async fn prepare(&mut self) -> ModelContext {
        let mut context = self.runtime.prepare_for_model(self.input()).await.unwrap();
        let mut cut = context.plans.iter().any(|plan| plan.applied);
        if let Some(task) = context.summary.take() {
            self.tally.summarised += self.counter.count_request(&task.request).total().tokens();
            let answer = Answer::new(Message::text(Role::Assistant, ANSWER));
            cut |= self
                .runtime
                .accept_summary(&("ada", SESSION).into(), &self.history, &task, &answer)
                .is_ok();
            context = self.runtime.prepare_for_model(self.input()).await.unwrap();
        }
        self.tally.cuts += u64::from(cut);
        context
    }

    fn input(&self) -> PrepareInput {
        let input = PrepareInput::new(("ada", SESSION), "t", PROVIDER, MODEL)
            .messages(self.history.iter().map(Arc::clone));
        self.system.iter().fold(input, PrepareInput::system)
    }
}
