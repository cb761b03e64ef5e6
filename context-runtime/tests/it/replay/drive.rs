//! Driving a conversation as an agent would.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::strip_images::StripImages;
use context_runtime::summarize::Summarize;
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    ContextRuntime, DecisionSet, DefaultContextRuntime, FunctionTool, Message, ModelCall, Part,
    PrepareInput, RecoveryChain, Role, Tool, ToolResultInput,
    compaction::Stage,
    model::{LanguageModel, ModelCodec, ModelRequest, StopReason, TokenCounter},
    provider,
};
use context_simulator::conversations::Conversation;
use context_simulator::{AnswerPiece, ConversationReplay, Script, Simulator};
use serde_json::json;

use super::checks::{self, PreviousRequest};
use super::tally::Tally;
use crate::runtime_kit::HandClock;

/// The circumstances of a run.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) provider: &'static str,
    pub(super) window: u64,
    /// Whether there is a model that summarizes.
    pub(super) summaries: bool,
    /// Whether the caller continues with the compacted history, or passes the whole conversation
    /// each time.
    pub(super) goes_on_compacted: bool,
    /// The window that the caller assumes.
    pub(super) believed: u64,
    /// The faults to inject.
    pub(super) script: Script,
    /// The number of tokens that came before, in another process.
    pub(super) resumed: u64,
}

/// Drives a conversation to its end and returns the tally. Panics if an invariant is violated.
pub(super) async fn drive(
    conversation: &Conversation,
    setting: &Setting,
    counter: &Arc<dyn TokenCounter>,
) -> Tally {
    let mut drive = Drive::new(conversation, setting, counter);
    while let Some(step) = drive.replay.advance() {
        drive.take(step.input).await;
        match step.answer {
            Some(answer) if drive.said < setting.resumed => drive.recall(answer),
            Some(_) => drive.call().await,
            None => break,
        }
    }
    drive.end()
}

struct Drive<'a> {
    name: String,
    setting: &'a Setting,
    replay: ConversationReplay,
    codec: Arc<dyn ModelCodec>,
    model: Simulator,
    summariser: Simulator,
    runtime: DefaultContextRuntime,
    clock: HandClock,
    system: Vec<String>,
    tools: Vec<Tool>,
    first: Option<Arc<Message>>,
    history: Vec<Arc<Message>>,
    turn: usize,
    before: PreviousRequest,
    answered: usize,
    /// The tokens of the caller's messages, of answers and of results.
    said: u64,
    counter: Arc<dyn TokenCounter>,
    tally: Tally,
}

impl<'a> Drive<'a> {
    fn new(
        conversation: &Conversation,
        setting: &'a Setting,
        counter: &Arc<dyn TokenCounter>,
    ) -> Self {
        let replay = ConversationReplay::new(conversation.messages.iter().cloned());
        let codec = provider(setting.provider).unwrap();
        let simulator =
            || Simulator::new(Arc::clone(&codec), Arc::clone(counter)).window(setting.window);
        let clock = HandClock::default();
        let runtime = DefaultContextRuntime::builder()
            .window(setting.believed)
            .counter(Arc::clone(counter))
            .clock(clock.clone())
            .compaction(stages(setting.summaries))
            .recovery(RecoveryChain::new(DecisionSet::Full))
            .build()
            .unwrap();
        let system =
            replay.system().iter().map(|message| message.plain_text().into_owned()).collect();
        Self {
            name: format!("{}, {setting:?}", conversation.name),
            setting,
            model: simulator().behaviour(replay.clone()).script(setting.script.clone()),
            summariser: simulator().behaviour(summary),
            replay,
            codec,
            runtime,
            clock,
            system,
            tools: tools(&conversation.messages),
            first: None,
            history: Vec::new(),
            turn: 0,
            before: PreviousRequest::default(),
            answered: 0,
            said: 0,
            counter: Arc::clone(counter),
            tally: Tally { conversations: 1, ..Tally::default() },
        }
    }

    /// Takes the input before the model answers.
    async fn take(&mut self, input: Vec<Arc<Message>>) {
        for message in input {
            self.said += self.counter.count_shared(&message).tokens();
            if message.is_request() {
                self.turn += 1;
                self.first.get_or_insert_with(|| Arc::clone(&message));
            }
            if message.role == Role::Tool {
                let history = std::mem::take(&mut self.history);
                let input = ToolResultInput::new(
                    ("ada", "s"),
                    self.turn.to_string(),
                    history,
                    Message::clone(&message),
                );
                let output = self.runtime.apply_tool_results(input).await.unwrap();
                self.history = output.messages.into();
            } else {
                self.history.push(message);
            }
        }
    }

    /// Takes an answer that was given before.
    fn recall(&mut self, answer: Arc<Message>) {
        self.said += self.counter.count_shared(&answer).tokens();
        self.history.push(answer);
    }

    /// Calls the model and appends its answer to the history.
    async fn call(&mut self) {
        let summaries = self
            .setting
            .summaries
            .then(|| Arc::new(self.summariser.clone()) as Arc<dyn LanguageModel>);
        let call = ModelCall::new(&self.runtime, Arc::clone(&self.codec), self.input());
        let mut call = call.counter(Arc::clone(&self.counter));
        if let Some(summaries) = summaries {
            call = call.summaries(summaries);
        }
        let (summarised, mut cut) = (self.summariser.log().len(), false);
        loop {
            let request = match call.next().await {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(error) => panic!("{} at call {}: {error}", self.name, self.tally.calls),
            };
            cut = !call.plans().is_empty() || self.summariser.log().len() > summarised;
            let newest = self.history.iter().rev().find(|message| message.is_request());
            if let Some(first) = &self.first {
                checks::check(&request.context, first, &self.history, &self.before, cut);
            }
            for asked in self.first.iter().chain(newest) {
                assert!(
                    checks::says(request.body().as_str(), asked),
                    "{}: a request is missing",
                    self.name
                );
            }
            let breakdown = request.context.breakdown;
            let sent = breakdown.history.tokens() + breakdown.checkpoint.tokens();
            self.tally.saved += self.said.saturating_sub(sent);
            self.tally.calls += 1;
            self.before = checks::remembered(&request.context);
            call.answered(self.model.send(request.body().as_str()).read(&*self.codec));
        }
        self.tally.compactions += u64::from(cut);
        let compacted = call.rewrite().filter(|_| self.setting.goes_on_compacted).cloned();
        let answer = call.into_answer().unwrap();
        assert_ne!(answer.stop, Some(StopReason::Length), "{}: an answer does not fit", self.name);
        self.said += self.counter.count_message(&answer.message).tokens();
        if let Some(compacted) = compacted {
            self.history = compacted.messages.into();
        }
        self.history.push(answer.message.into());
        self.answered += 1;
        self.clock.advance(20);
    }

    fn input(&self) -> PrepareInput {
        let model = model(self.setting.provider);
        let input =
            PrepareInput::new(("ada", "s"), self.turn.to_string(), self.setting.provider, model)
                .tools(self.tools.iter().cloned())
                .messages(self.history.iter().map(Arc::clone));
        self.system.iter().fold(input, PrepareInput::system)
    }

    fn end(mut self) -> Tally {
        let (calls, summaries) = (self.model.log(), self.summariser.log());
        let answered =
            calls.iter().filter(|served| served.is_answered() && served.fault.is_none()).count();
        assert_eq!(answered, self.answered, "{}", self.name);
        for served in calls.iter().chain(&summaries) {
            assert!(served.violations.is_empty(), "{}: {:?}", self.name, served.violations);
            let is_planned = served.fault.is_some() || self.setting.believed > self.setting.window;
            assert!(served.is_answered() || is_planned, "{}: {served:?}", self.name);
            self.tally.refused += u64::from(!served.is_answered());
            let answered = served.input.filter(|_| served.is_answered()).unwrap_or_default();
            self.tally.fullest = self.tally.fullest.max(answered * 1_000 / self.setting.window);
        }
        self.tally.summaries = summaries.len() as u64;
        for served in &calls {
            self.tally.input += served.input.unwrap_or_default();
            self.tally.cached += served.cache_read;
        }
        // Each cut frees a good part of the window, so that many calls follow before the next one.
        let most = 3 + self.said * 6 / self.setting.window + self.tally.refused;
        assert!(self.tally.compactions <= most, "{}: {:?}, {most}", self.name, self.tally);
        self.tally
    }
}

/// Returns a model of a provider, so that its prices are known.
fn model(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        _ => "gpt-5",
    }
}

/// From least to most lossy.
fn stages(summaries: bool) -> Vec<Stage> {
    let summarize = summaries.then(|| Stage::new(Summarize::new()));
    let first = [Stage::new(Microcompact::new()), Stage::new(StripImages::new())];
    first
        .into_iter()
        .chain(summarize)
        .chain([Stage::new(Snip::new()), Stage::new(TruncateHead::new())])
        .collect()
}

/// Returns the model's reply to a summary request: the same each time, except for how much it was
/// shown.
fn summary(request: &ModelRequest) -> Vec<AnswerPiece> {
    let bytes: usize = request.messages.iter().map(|message| message.plain_text().len()).sum();
    vec![AnswerPiece::text(format!(
        "## Objective\nWhat the user asked for.\n## Current state\n{bytes} bytes were read.\n## Done\nSome of it.\n\
         ## Remaining\nThe rest.\n## Files and artifacts\nNone"
    ))]
}

/// Returns the tools that are called in a conversation.
fn tools(messages: &[Arc<Message>]) -> Vec<Tool> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let names: BTreeSet<&str> = parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.name.as_str()),
            _ => None,
        })
        .collect();
    let tool = |name| {
        FunctionTool::new(name, json!({"type": "object"})).description("As recorded.").into()
    };
    names.into_iter().map(tool).collect()
}
