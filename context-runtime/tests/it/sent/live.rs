//! A live agent whose requests are noted as they are sent, and their replay.

use std::sync::Arc;

use context_runtime::{
    ChatRef, ContextEngine, ContextRuntime, DefaultContextRuntime, Fragment, FunctionTool, Message,
    Part, Role, Store, assistant,
    compaction::{Stage, policy},
    hint, provider,
    sent::{ReplayOptions, RequestReplay},
    store::{Chain, ChainEnd, Window},
    user,
};
use proptest::prelude::*;

use crate::kit::{CountingIds, HandClock, store};
use crate::runtime_kit::ByteCounter;

pub(crate) const WINDOW: u64 = 3_000;
pub(crate) const RESERVE: u64 = 200;
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// A step of a conversation.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The user says so many bytes, and the model answers.
    Ask(usize, usize),
    /// The model calls a tool whose result has so many bytes, and answers.
    Call(usize, usize),
    /// So many seconds pass.
    Pause(i64),
}

/// A chat of an agent with an engine and a runtime.
pub(crate) struct LiveChat {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: ContextEngine,
    pub(crate) clock: HandClock,
    pub(crate) runtime: DefaultContextRuntime,
    pub(crate) provider: &'static str,
    /// The bodies that were sent.
    pub(crate) sent: Vec<String>,
    pub(crate) prompt: String,
    calls: usize,
}

/// Returns stages by name.
pub(crate) fn stages(names: &[&str]) -> Vec<Stage> {
    names.iter().map(|name| Stage::shared(policy(name).unwrap())).collect()
}

pub(crate) fn tool() -> FunctionTool {
    FunctionTool::new("read_file", serde_json::json!({"type": "object"}))
}

impl LiveChat {
    pub(crate) async fn new(provider: &'static str, stages: Vec<Stage>) -> Self {
        let (store, clock) = (store().await, HandClock::default());
        let engine = ContextEngine::builder(Arc::clone(&store))
            .user("ada")
            .chat("c")
            .clock(clock.clone())
            .ids(CountingIds::default());
        let mut engine = engine.open().await.unwrap();
        engine.set([hint("You read files.").persisted()]);
        let runtime = DefaultContextRuntime::builder()
            .window(WINDOW)
            .reserve(RESERVE)
            .model(MODEL)
            .counter(Arc::new(ByteCounter))
            .compaction(stages)
            .clock(clock.clone())
            .build()
            .unwrap();
        let (sent, prompt) = (Vec::new(), String::new());
        Self { store, engine, clock, runtime, provider, sent, prompt, calls: 0 }
    }

    pub(crate) async fn step(&mut self, step: &Step) {
        match step {
            Step::Pause(seconds) => self.clock.advance(*seconds),
            Step::Ask(question, answer) => {
                self.engine.set([user(words(*question, self.calls))]);
                self.answer(assistant(words(*answer, self.calls + 1))).await;
            }
            Step::Call(result, answer) => {
                self.engine.set([user("Read it.")]);
                self.calls += 1;
                let id = format!("c{}", self.calls);
                let call = Part::tool_call(id.as_str(), "read_file", serde_json::json!({}));
                self.answer(Fragment::from(Message::new(Role::Assistant, [call]))).await;
                let text = words(*result, self.calls);
                let result = Message::new(Role::Tool, [Part::tool_result(id, text)]);
                self.engine.set([Fragment::from(result)]);
                self.answer(assistant(words(*answer, self.calls))).await;
            }
        }
    }

    /// Sends a request, takes over its answer as `accept` does, and saves.
    pub(crate) async fn answer(&mut self, answer: Fragment) {
        let turn = self.engine.resolve().await.unwrap();
        let mut input = turn.prepare().tools([tool()]);
        input.provider = self.provider.to_owned();
        let context = self.runtime.prepare_for_model(input).await.unwrap();
        let body = provider(self.provider).unwrap().lower(&context.request).unwrap().body;
        self.sent.push(body.as_str().to_owned());
        self.prompt = turn.system_prompt.to_string();
        if let Some(rewrite) = &context.rewrite {
            self.engine.compact(&turn, rewrite, &context.plans).await.unwrap();
        }
        self.engine.set([answer]);
        let _saved = self.engine.save().await.unwrap();
        self.clock.advance(1);
    }

    pub(crate) async fn chain(&self) -> Chain {
        let branch = self.engine.branch().clone();
        let end = ChainEnd::Branch(branch);
        let chat = ChatRef::from(("ada", "c"));
        self.store.history().chain(&chat, &end, &Window::Whole).await.unwrap()
    }

    pub(crate) fn options(&self, stages: Vec<Stage>) -> ReplayOptions {
        let request = context_runtime::model::ModelRequest::default().tools([tool()]);
        ReplayOptions::new(self.provider)
            .model(MODEL)
            .window(WINDOW)
            .reserve(RESERVE)
            .stages(stages)
            .counter(Arc::new(ByteCounter))
            .request(request)
            .chat(("ada", "c"))
    }
}

/// Returns a text of so many bytes that says where it is from.
pub(crate) fn words(bytes: usize, number: usize) -> String {
    let mut text = format!("{number} ");
    while text.len() < bytes {
        text.push_str("word and ");
    }
    text.truncate(bytes.max(3));
    text
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (3..300_usize, 3..200_usize).prop_map(|(ask, answer)| Step::Ask(ask, answer)),
        5 => (3..1_500_usize, 3..100_usize).prop_map(|(result, answer)| Step::Call(result, answer)),
        1 => (0..2_000_i64).prop_map(Step::Pause),
    ]
}

/// Runs a conversation, and checks that the replay makes the very bodies that were sent.
async fn check(
    provider: &'static str,
    policies: &[&str],
    steps: &[Step],
    block: usize,
) -> Result<(), TestCaseError> {
    let mut live = LiveChat::new(provider, stages(policies)).await;
    for step in steps {
        live.step(step).await;
    }
    if live.sent.is_empty() {
        return Ok(());
    }
    let options = live.options(stages(policies)).block(block);
    let mut replay =
        RequestReplay::new(&live.chain().await, live.prompt.as_str(), options).unwrap();
    prop_assert_eq!(replay.requests().len(), live.sent.len());
    for (at, sent) in live.sent.iter().enumerate() {
        let report = replay.report(at + 1).unwrap();
        prop_assert_eq!(report.body.as_str(), sent.as_str(), "request {} of {:?}", at + 1, steps);
        let pieces = report.tokens_of_pieces() + report.breakdown.framing;
        prop_assert_eq!(pieces, report.breakdown.total(), "request {}", at + 1);
    }
    Ok(())
}

fn run<F: Future<Output = Result<(), TestCaseError>>>(test: F) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_recomputed_is_what_was_sent(
        steps in prop::collection::vec(step(), 1..40),
        policies in prop::sample::subsequence(
            vec!["microcompact", "snip", "truncate-head"], 0..=3),
        provider in prop::sample::select(vec!["anthropic", "openai", "gemini"]),
    ) {
        run(check(provider, &policies, &steps, 256))?;
    }

    /// With stored boundaries a replay that begins in the middle comes to the same requests. Only
    /// the lifetime of cache entries depends on earlier pauses.
    #[test]
    fn a_replay_from_the_middle_comes_to_the_same(
        steps in prop::collection::vec(
            step().prop_filter("no pause", |step| !matches!(step, Step::Pause(_))), 1..40),
        block in 2..6_usize,
    ) {
        run(check("anthropic", &["microcompact", "snip", "truncate-head"], &steps, block))?;
    }
}
