//! Summaries that are written while the conversation goes on: who waits for them, when they are
//! taken over, and that nothing of the history is lost, whatever happens meanwhile.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_runtime::summarize::Summarize;
use context_runtime::{
    BackgroundSummaries, CancelSignal, CancelSource, DefaultContextRuntime, Message, ModelCall,
    Part, PrepareInput, Role,
    compaction::Stage,
    microcompact::Microcompact,
    model::{Answer, LanguageModel, ModelError, ModelErrorCode, ModelRequest},
    provider,
};
use context_simulator::Random;
use tokio::sync::Semaphore;

use super::models::{ScriptedModel, error, says};
use crate::runtime_kit::ByteCounter;

/// A model that writes a summary once it is let go. Summaries name every mark of the conversation.
#[derive(Debug)]
struct Writer {
    name: &'static str,
    let_go: Semaphore,
    fails: AtomicBool,
    panics: AtomicBool,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Writer {
    fn new(name: &'static str) -> Arc<Self> {
        let (let_go, fails) = (Semaphore::new(0), AtomicBool::new(false));
        let panics = AtomicBool::new(false);
        Arc::new(Self { name, let_go, fails, panics, asked: Mutex::default() })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl LanguageModel for Writer {
    fn name(&self) -> &str {
        self.name
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        self.let_go.acquire().await.unwrap().forget();
        assert!(!self.panics.load(Ordering::Relaxed), "the model is broken");
        if self.fails.swap(false, Ordering::Relaxed) {
            return Err(error(ModelErrorCode::Server));
        }
        let marks: Vec<_> = marks(&request.messages).into_iter().collect();
        Ok(says(&format!(
            "## Objective\n{}\n## Current state\nx\n## Remaining\nNone\n## Files and artifacts\nNone",
            marks.join(" ")
        )))
    }
}

/// Returns the marks in the texts of messages, such as `m17;`.
fn marks(messages: &[Arc<Message>]) -> BTreeSet<String> {
    let texts: Vec<_> = messages.iter().map(|message| message.plain_text()).collect();
    let words = texts.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || c == '"'));
    let is_mark = |word: &&str| word.starts_with('m') && word.ends_with(';');
    words.filter(is_mark).map(str::to_owned).collect()
}

/// Returns a runtime with 20,000 tokens of input, one per byte. From 80 percent on a summary is
/// wanted, and from 90 on it is needed.
fn runtime() -> DefaultContextRuntime {
    let builder = DefaultContextRuntime::builder()
        .window(24_000)
        .reserve(4_000)
        .counter(Arc::new(ByteCounter));
    let stages = [Stage::new(Microcompact::new()), Stage::new(Summarize::new())];
    builder.compaction(stages).build().unwrap()
}

/// A chat whose turns use one runtime and one writer.
struct Chat {
    runtime: DefaultContextRuntime,
    writer: Arc<Writer>,
    ahead: BackgroundSummaries,
    model: Arc<ScriptedModel>,
    history: Vec<Arc<Message>>,
    said: usize,
}

impl Chat {
    fn new(writer: &'static str) -> Self {
        Self {
            runtime: runtime(),
            writer: Writer::new(writer),
            ahead: BackgroundSummaries::new(),
            model: ScriptedModel::new([Ok(says("fine"))]),
            history: Vec::new(),
            said: 0,
        }
    }

    /// Returns a message of about a thousand bytes with a mark of its own.
    fn message(&mut self, role: Role) -> Arc<Message> {
        self.said += 1;
        Arc::new(Message::text(role, format!("m{}; {}", self.said, "word ".repeat(200))))
    }

    /// Adds a request and its answer, each of about a thousand tokens.
    fn say(&mut self, turns: usize) {
        for _ in 0..turns {
            let turn = [self.message(Role::User), self.message(Role::Assistant)];
            self.history.extend(turn);
        }
    }

    fn add(&mut self, role: Role) {
        let message = self.message(role);
        self.history.push(message);
    }

    /// Adds a call and its result.
    fn work(&mut self) {
        let id = format!("c{}", self.said);
        let call = Part::tool_call(&id, "read", serde_json::json!({"path": "a"}));
        let text = self.message(Role::Assistant).plain_text().into_owned();
        let call = Message::new(Role::Assistant, [Part::text(text), call]);
        let result = Message::new(Role::Tool, [Part::tool_result(&id, "line ".repeat(100))]);
        self.history.extend([Arc::new(call), Arc::new(result)]);
    }

    fn input(&self) -> PrepareInput {
        PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o")
            .messages(self.history.iter().cloned())
    }

    fn model_call(&self, input: PrepareInput) -> ModelCall<'_> {
        ModelCall::new(&self.runtime, provider("openai").unwrap(), input)
            .summaries(Arc::clone(&self.writer) as _)
            .summaries_ahead(self.ahead.clone())
    }

    /// Makes a call, and returns whether it waited for the writer, with its diagnostics.
    async fn call(&self) -> (bool, Vec<String>) {
        let mut call = self.model_call(self.input());
        let waited = {
            let running = call.run(&*self.model);
            tokio::pin!(running);
            // The clock moves on only while everything waits.
            let mut waited = false;
            loop {
                match tokio::time::timeout(Duration::from_secs(1), &mut running).await {
                    Ok(answer) => {
                        let _answer = answer.unwrap();
                        break waited;
                    }
                    Err(_) => self.writer.let_go.add_permits(1),
                }
                waited = true;
            }
        };
        // Whatever was begun is running.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let told = call.diagnostics().iter();
        (waited, told.map(|told| format!("{}: {}", told.code.as_str(), told.message)).collect())
    }

    /// Lets the writer finish one summary.
    async fn finish(&self) {
        self.writer.let_go.add_permits(1);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    fn sent(&self) -> Vec<Arc<Message>> {
        self.model.asked().pop().unwrap().messages.into()
    }
}

/// A tenth of the window before this trigger is below the target, where a summary has nothing to
/// shorten.
#[tokio::test(start_paused = true)]
async fn no_summary_is_begun_below_the_target() {
    let stage = Stage::new(Summarize::new()).trigger(0.65);
    let builder = DefaultContextRuntime::builder().window(24_000).reserve(4_000);
    let runtime = builder.counter(Arc::new(ByteCounter)).compaction([stage]).build().unwrap();
    let mut chat = Chat { runtime, ..Chat::new("gpt-4o") };
    chat.say(5);
    chat.add(Role::User);
    assert_eq!(chat.call().await, (false, vec![]));
    assert!(chat.ahead.is_empty(), "55 percent are full");
    chat.add(Role::Assistant);
    assert_eq!(chat.call().await, (false, vec![]));
    assert_eq!((chat.sent().len(), chat.ahead.len()), (12, 1), "60 percent are full");
}

#[test]
fn summaries_are_requested_ahead_between_target_and_trigger() {
    let faults = |stage: Stage| match DefaultContextRuntime::builder()
        .window(24_000)
        .compaction([stage])
        .build()
    {
        Ok(_) => Vec::new(),
        Err(faults) => faults.0.iter().map(ToString::to_string).collect(),
    };
    let stage = || Stage::new(Summarize::new()).trigger(0.8).target(0.5);
    assert_eq!(faults(stage().ahead(0.51)), Vec::<String>::new());
    let target = "summarize: summaries from 0.5 on are not above the target 0.5";
    assert_eq!(faults(stage().ahead(0.5)), [target]);
    let trigger = "summarize: summaries from 0.8 on are not ahead of the trigger 0.8";
    assert_eq!(faults(stage().ahead(0.8)), [trigger]);
}

#[tokio::test(start_paused = true)]
async fn no_turn_waits_for_a_summary_that_was_begun_in_time() {
    for name in ["gpt-4o", "another"] {
        let mut chat = Chat::new(name);
        chat.say(7);
        assert_eq!(chat.call().await, (false, vec![]));
        assert_eq!((chat.writer.asked(), chat.ahead.len()), (0, 0), "{name}");
        // 80 percent are full: the summary is begun, and this request is sent without it.
        chat.say(1);
        assert_eq!(chat.call().await, (false, vec![]));
        assert_eq!(chat.sent(), chat.history);
        chat.add(Role::User);
        assert_eq!(chat.call().await, (false, vec![]));
        assert_eq!(chat.sent(), chat.history, "{name}: it is not ready");
        assert_eq!((chat.writer.asked(), chat.ahead.len()), (1, 1), "one is written at a time");
        // It is ready, so the next turn begins with it, and what came meanwhile follows.
        chat.finish().await;
        chat.add(Role::Assistant);
        chat.add(Role::User);
        let (waited, told) = chat.call().await;
        assert_eq!((waited, told.len()), (false, 0), "{name}: {told:?}");
        let sent = chat.sent();
        assert!(sent[0].is_checkpoint() && sent.len() < chat.history.len(), "{name}");
        assert!(sent.ends_with(&chat.history[16..]), "{name}");
        assert_eq!(marks(&sent), marks(&chat.history), "{name}");
        assert!(chat.ahead.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_needs_the_summary_waits_for_the_one_that_was_begun() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    assert_eq!(chat.call().await, (false, vec![]));
    chat.say(1);
    assert_eq!(chat.call().await, (true, vec![]), "90 percent are full");
    assert_eq!(chat.writer.asked(), 1, "no second one is requested");
    assert!(chat.sent()[0].is_checkpoint());
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_history_that_is_no_longer_there_is_dropped() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    assert_eq!(chat.call().await, (false, vec![]));
    chat.finish().await;
    // The user went back and said something else.
    chat.history.truncate(4);
    chat.say(1);
    let (waited, told) = chat.call().await;
    let dropped = "compact_summary_failed: the history was not changed: the history changed while it was summarised";
    assert!(!waited && told[0] == dropped, "{told:?}");
    assert_eq!(chat.sent(), chat.history);
    assert!(chat.ahead.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_failed_is_told_and_not_requested_again_at_once() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    assert_eq!(chat.call().await, (false, vec![]));
    chat.writer.fails.store(true, Ordering::Relaxed);
    chat.finish().await;
    let (waited, told) = chat.call().await;
    assert!(!waited && told[0].contains("the summary could not be made"), "{told:?}");
    assert_eq!((chat.sent(), chat.writer.asked()), (chat.history.clone(), 1));
}

/// Regression: a panic of the model left no trace, and the next call requested the summary again.
#[tokio::test(start_paused = true)]
async fn a_model_that_panics_is_told_and_not_asked_again_at_once() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    chat.writer.panics.store(true, Ordering::Relaxed);
    chat.writer.let_go.add_permits(1);
    assert_eq!(chat.call().await, (false, vec![]));
    let (waited, told) = chat.call().await;
    assert!(!waited && told[0].contains("its task ended without an answer"), "{told:?}");
    assert!(!chat.call().await.0);
    assert_eq!((chat.sent(), chat.writer.asked()), (chat.history.clone(), 1));
}

/// Regression: a call that was cancelled while it waited gave up the summary with it.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_leaves_the_summary_to_the_next() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    assert_eq!(chat.call().await, (false, vec![]));
    chat.say(1);
    let source = CancelSource::new();
    let mut input = chat.input();
    input.cancel = source.signal();
    let mut call = chat.model_call(input);
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        source.cancel();
    };
    let (answer, ()) = tokio::join!(call.run(&*chat.model), cancelling);
    assert!(answer.is_err());
    drop(call);
    assert_eq!(chat.ahead.len(), 1);
    chat.finish().await;
    assert_eq!(chat.call().await, (false, vec![]));
    assert!(chat.sent()[0].is_checkpoint() && chat.writer.asked() == 1);
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_is_forgotten_has_no_summary_under_way() {
    let mut chat = Chat::new("gpt-4o");
    chat.say(8);
    assert_eq!(chat.call().await, (false, vec![]));
    chat.ahead.forget_user(&"bob".into());
    assert!(chat.ahead.is_running(&("ada", "s").into()));
    chat.ahead.forget_user(&"ada".into());
    assert!(chat.ahead.is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_in_any_order_of_events() {
    interleavings(0..60).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes; cargo xtask ci --long runs it"]
async fn large_nothing_is_lost_in_ten_thousand_orders_of_events() {
    interleavings(0..10_000).await;
}

/// Lets chats grow, go back and change while summaries are begun, finished, refused and needed.
/// Each request has the marks of the whole history and no others.
async fn interleavings(seeds: std::ops::Range<u64>) {
    let (mut begun, mut waits, mut dropped) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let mut chat = Chat::new(if random.one_in(2) { "gpt-4o" } else { "another" });
        chat.say(6);
        for step in 0..24 {
            match random.below(12) {
                0..4 => chat.say(1),
                4..6 => chat.work(),
                6..9 => chat.finish().await,
                9 => {
                    let kept = random.below(chat.history.len() / 2 + 1) * 2;
                    chat.history.truncate(kept);
                    while chat.history.last().is_some_and(|last| last.role == Role::Tool) {
                        chat.history.pop();
                        chat.history.pop();
                    }
                }
                10 if !chat.history.is_empty() => {
                    let at = random.below(chat.history.len());
                    if chat.history[at].is_request() {
                        chat.history[at] = chat.message(Role::User);
                    }
                }
                _ => chat.writer.fails.store(random.one_in(2), Ordering::Relaxed),
            }
            chat.add(Role::User);
            let (waited, told) = chat.call().await;
            let sent = chat.sent();
            assert_eq!(marks(&sent), marks(&chat.history), "seed {seed}, step {step}: {told:?}");
            waits += u64::from(waited);
            dropped += told.iter().filter(|told| told.contains("history changed")).count();
            chat.add(Role::Assistant);
        }
        begun += chat.writer.asked();
    }
    // Each of the ways was taken.
    assert!(begun > 100 && dropped > 10 && waits > 10, "{begun} {dropped} {waits}");
}
