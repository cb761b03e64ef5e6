//! A conversation, driven as an agent would.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_conformance::conversations::Conversation;
use context_conformance::simulator::{Replay, Say, Simulator};
use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::strip_images::StripImages;
use context_runtime::summarize::Summarize;
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    CancelSignal, ContextRuntime, DefaultContextRuntime, FunctionTool, LanguageModel, Message, ModelCodec,
    ModelContext, ModelRequest, Part, PrepareInput, Role, Stage, StopReason, TokenCounter, Tool,
    ToolResultInput, provider,
};
use serde_json::json;

use super::checks::{self, Before};
use super::tally::Tally;
use crate::runtime_kit::HandClock;

/// Under which circumstances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) provider: &'static str,
    pub(super) window: u64,
    /// Whether there is a model that summarises.
    pub(super) summaries: bool,
    /// Whether the caller goes on with what was compacted, or gives the whole conversation each time.
    pub(super) goes_on_compacted: bool,
    /// How many tokens were said in another process before.
    pub(super) resumed: u64,
}

/// Drives a conversation to its end; what it took. Panics where something does not hold.
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
    replay: Replay,
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
    before: Before,
    /// What the caller said, heard and was answered, in tokens.
    said: u64,
    counter: Arc<dyn TokenCounter>,
    tally: Tally,
}

impl<'a> Drive<'a> {
    fn new(conversation: &Conversation, setting: &'a Setting, counter: &Arc<dyn TokenCounter>) -> Self {
        let replay = Replay::new(conversation.messages.iter().cloned());
        let codec = provider(setting.provider).unwrap();
        let simulator = || Simulator::new(Arc::clone(&codec), Arc::clone(counter)).window(setting.window);
        let clock = HandClock::default();
        let runtime = DefaultContextRuntime::builder()
            .window(setting.window)
            .counter(Arc::clone(counter))
            .clock(clock.clone())
            .compaction(stages(setting.summaries))
            .build()
            .unwrap();
        let system = replay.system().iter().map(|message| message.plain_text().into_owned()).collect();
        Self {
            name: format!("{} {setting:?}", conversation.name),
            setting,
            model: simulator().behaviour(replay.clone()),
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
            before: Before::default(),
            said: 0,
            counter: Arc::clone(counter),
            tally: Tally { conversations: 1, ..Tally::default() },
        }
    }

    /// What comes in before the model answers.
    async fn take(&mut self, input: Vec<Arc<Message>>) {
        for message in input {
            self.said += self.counter.count_shared(&message).tokens();
            if message.is_request() {
                self.turn += 1;
                self.first.get_or_insert_with(|| Arc::clone(&message));
            }
            if message.role == Role::Tool {
                let history = std::mem::take(&mut self.history);
                let input =
                    ToolResultInput::new("s", self.turn.to_string(), history, Message::clone(&message));
                self.history = self.runtime.apply_tool_results(input).await.unwrap().messages;
            } else {
                self.history.push(message);
            }
        }
    }

    /// An answer that was given before.
    fn recall(&mut self, answer: Arc<Message>) {
        self.said += self.counter.count_shared(&answer).tokens();
        self.history.push(answer);
    }

    /// A call of the model, whose answer is put behind the history.
    async fn call(&mut self) {
        let (context, cut) = self.prepare().await;
        if let Some(first) = &self.first {
            checks::check(&context, first, &self.history, &self.before, cut);
        }
        let body = self.codec.lower(&context.request()).unwrap().body;
        let newest = self.history.iter().rev().find(|message| message.is_request());
        for request in self.first.iter().chain(newest) {
            assert!(checks::says(body.as_str(), request), "{}: a request is not in the body", self.name);
        }
        let answer = match self.model.send(body.as_str()).read(&*self.codec) {
            Ok(answer) => answer,
            Err(error) => panic!("{} at call {}: {error}", self.name, self.tally.calls),
        };
        assert_ne!(answer.stop, Some(StopReason::Length), "{}: an answer does not fit", self.name);
        if let Some(usage) = &answer.usage {
            self.runtime.observe_usage("s", usage);
        }
        self.tally.calls += 1;
        self.tally.compactions += u64::from(cut);
        self.before = checks::remembered(&context);
        self.said += self.counter.count_message(&answer.message).tokens();
        if let Some(compacted) = context.compacted.filter(|_| self.setting.goes_on_compacted) {
            self.history = compacted.messages;
        }
        self.history.push(answer.message.into());
        self.clock.advance(20);
    }

    /// What is to be sent, and whether something was cut for it.
    async fn prepare(&mut self) -> (ModelContext, bool) {
        let mut context = self.runtime.prepare_for_model(self.input()).await.unwrap();
        let mut cut = self.note_plans(&context);
        if let Some(task) = context.summary.take() {
            let request = task.request.clone().model(model(self.setting.provider));
            let asked = self.summariser.complete(&request, &CancelSignal::never()).await;
            let answer = asked.unwrap_or_else(|error| panic!("{}: a summary: {error}", self.name));
            let before = context.breakdown.history.tokens() + context.breakdown.checkpoint.tokens();
            let accepted = self.runtime.accept_summary("s", &self.history, &task, &answer);
            accepted.unwrap_or_else(|error| panic!("{}: a summary: {error}", self.name));
            context = self.runtime.prepare_for_model(self.input()).await.unwrap();
            let after = context.breakdown.history.tokens() + context.breakdown.checkpoint.tokens();
            (self.tally.summaries, self.tally.saved) =
                (self.tally.summaries + 1, self.tally.saved + before.saturating_sub(after));
            self.note_plans(&context);
            cut = true;
        }
        (context, cut)
    }

    fn note_plans(&mut self, context: &ModelContext) -> bool {
        let applied = context.plans.iter().filter(|plan| plan.applied);
        let saved: Vec<u64> = applied.map(|plan| plan.before.saturating_sub(plan.after)).collect();
        self.tally.saved += saved.iter().sum::<u64>();
        !saved.is_empty()
    }

    fn input(&self) -> PrepareInput {
        let model = model(self.setting.provider);
        let input = PrepareInput::new("s", self.turn.to_string(), self.setting.provider, model)
            .messages(self.history.iter().map(Arc::clone))
            .tools(self.tools.iter().cloned());
        self.system.iter().fold(input, PrepareInput::system)
    }

    fn end(mut self) -> Tally {
        let (calls, summaries) = (self.model.log(), self.summariser.log());
        assert_eq!(calls.len() as u64, self.tally.calls, "{}", self.name);
        for served in calls.iter().chain(&summaries) {
            assert!(served.violations.is_empty(), "{}: {:?}", self.name, served.violations);
            self.tally.refused += u64::from(!served.is_answered());
            let input = served.input.unwrap_or_default();
            self.tally.fullest = self.tally.fullest.max(input * 1_000 / self.setting.window);
        }
        for served in &calls {
            self.tally.input += served.input.unwrap_or_default();
            self.tally.cached += served.cache_read;
        }
        assert_eq!(self.tally.refused, 0, "{}", self.name);
        // Each cut makes room for a good part of the window, so that many calls come before the next one.
        let most = 2 + self.said * 8 / self.setting.window;
        assert!(self.tally.compactions <= most, "{}: {:?}, {most}", self.name, self.tally);
        self.tally
    }
}

/// A model of a provider, so that its prices are known.
fn model(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        _ => "gpt-5",
    }
}

/// From gentle to harsh.
fn stages(summaries: bool) -> Vec<Stage> {
    let summarize = summaries.then(|| Stage::new(Summarize::new()));
    let first = [Stage::new(Microcompact::new()), Stage::new(StripImages::new())];
    first
        .into_iter()
        .chain(summarize)
        .chain([Stage::new(Snip::new()), Stage::new(TruncateHead::new())])
        .collect()
}

/// What a model says that is asked for a summary: the same each time, but for how much it was shown.
fn summary(request: &ModelRequest) -> Vec<Say> {
    let bytes: usize = request.messages.iter().map(|message| message.plain_text().len()).sum();
    vec![Say::text(format!(
        "## Objective\nWhat the user asked for.\n## Current state\n{bytes} bytes were read.\n## Done\nSome of it.\n\
         ## Remaining\nThe rest.\n## Files and artifacts\nNone"
    ))]
}

/// The tools that are called in a conversation.
fn tools(messages: &[Arc<Message>]) -> Vec<Tool> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let names: BTreeSet<&str> = parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.name.as_str()),
            _ => None,
        })
        .collect();
    let tool = |name| FunctionTool::new(name, json!({"type": "object"})).description("As recorded.").into();
    names.into_iter().map(tool).collect()
}
