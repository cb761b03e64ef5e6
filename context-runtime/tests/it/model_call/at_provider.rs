//! Compactions by the provider of the conversation.

use std::sync::{Arc, Mutex};

use context_runtime::compaction::{provider_compact, snip};
use context_runtime::{
    ChatRef, DefaultContextRuntime, Fragment, FunctionTool, Message, ModelCall, Part, PrepareInput,
    Role,
    model::{LanguageModel, ModelRequest},
    provider,
};
use context_simulator::{AnswerPiece, Served, Simulator};
use serde_json::Value;

use crate::kit::{engine, store};
use crate::simulator::QuarterCounter;

const SUMMARY: &str = "## Objective\nA train\n## Current state\nOne found\n## Remaining\nBook it\n\
                       ## Files and artifacts\nNone";

/// Providers that compact conversations, with one of their models.
const MODELS: [(&str, &str); 2] =
    [("anthropic", "claude-sonnet-5"), ("openai-responses", "gpt-5.2")];

/// Answers with a summary where one is asked for, in whatever way.
fn behaviour(request: &ModelRequest) -> Vec<AnswerPiece> {
    let last = request.messages.last().unwrap().plain_text();
    let is_task = request.compaction.is_some() || last.contains("Summarise the conversation above");
    vec![AnswerPiece::text(if is_task { SUMMARY } else { "There is one at noon." })]
}

fn simulator(
    name: &str,
    model: &str,
    behaviour: impl Fn(&ModelRequest) -> Vec<AnswerPiece> + Send + Sync + 'static,
) -> Simulator {
    Simulator::new(provider(name).unwrap(), Arc::new(QuarterCounter))
        .window(40_000)
        .model(model)
        .behaviour(behaviour)
}

fn runtime() -> DefaultContextRuntime {
    DefaultContextRuntime::builder()
        .window(40_000)
        .reserve(4_000)
        .counter(Arc::new(QuarterCounter))
        .compaction([provider_compact(), snip()])
        .build()
        .unwrap()
}

fn input(provider: &str, model: &str, history: &[Arc<Message>]) -> PrepareInput {
    let schema = serde_json::json!({"type": "object"});
    PrepareInput::new(("ada", "s"), "t", provider, model)
        .system("You book trips. ".repeat(200))
        .tools([FunctionTool::new("search_trains", schema)])
        .messages(history.iter().cloned())
}

fn question(turn: usize) -> Arc<Message> {
    Arc::new(Message::from(format!("{turn} {}", "Look for another train. ".repeat(100))))
}

/// A conversation with a simulated provider, and every body that it was sent.
struct Talk {
    name: &'static str,
    model: &'static str,
    runtime: DefaultContextRuntime,
    simulator: Simulator,
    history: Vec<Arc<Message>>,
}

impl Talk {
    fn new((name, model): (&'static str, &'static str), simulator: Simulator) -> Self {
        Self { name, model, runtime: runtime(), simulator, history: Vec::new() }
    }

    /// Takes a turn, and returns what was served and the diagnostics.
    async fn turn(&mut self, turn: usize) -> (Vec<Served>, Vec<String>) {
        self.history.push(question(turn));
        let before = self.simulator.log().len();
        let input = input(self.name, self.model, &self.history);
        let mut call = ModelCall::new(&self.runtime, provider(self.name).unwrap(), input)
            .summaries(Arc::new(self.simulator.clone()));
        let answer = call.run(&self.simulator).await.unwrap();
        self.history.push(Arc::new(answer.message));
        let told = call.diagnostics().iter().map(|told| told.code.as_str().to_owned()).collect();
        (self.simulator.log()[before..].to_vec(), told)
    }

    /// Returns the newest body.
    fn body(&self) -> Value {
        serde_json::from_str(&self.simulator.last_body().unwrap()).unwrap()
    }
}

/// Returns the blocks of compactions in a body, each with its position among the messages.
fn compactions(body: &Value) -> Vec<(usize, Value)> {
    let is = |value: &Value| value["type"] == "compaction";
    let list = body.get("messages").or_else(|| body.get("input")).unwrap().as_array().unwrap();
    let of = |(at, message): (usize, &Value)| {
        let blocks = message["content"].as_array().into_iter().flatten();
        let found: Vec<_> = blocks.chain([message]).filter(|block| is(block)).cloned().collect();
        found.into_iter().map(move |block| (at, block))
    };
    list.iter().enumerate().flat_map(of).collect()
}

#[tokio::test]
async fn the_provider_is_sent_its_newest_block_and_the_newest_turns() {
    for case in MODELS {
        let mut talk = Talk::new(case, simulator(case.0, case.1, behaviour));
        let mut blocks = Vec::new();
        for turn in 0..120 {
            let (served, told) = talk.turn(turn).await;
            assert!(served.iter().all(Served::is_answered), "{case:?}: {served:#?}");
            assert_eq!(told, [] as [&str; 0], "{case:?}");
            let body = talk.body();
            let found = compactions(&body);
            if let [compaction, after] = &served[..] {
                let (input, read) = (compaction.input.unwrap(), compaction.cache_read);
                let share = read as f64 / input as f64;
                assert!(share >= 0.85, "{case:?}: {share:.3} of {input} tokens");
                assert!(after.input.unwrap() < input, "{case:?}: {after:#?}");
                blocks.push(found[0].1.clone());
            }
            assert_eq!(found.len(), usize::from(!blocks.is_empty()), "{case:?}");
            if let (Some((at, block)), Some(newest)) = (found.first(), blocks.last()) {
                assert_eq!((*at, block), (0, newest), "{case:?}");
                assert!(body.to_string().contains(&format!("\"{turn} Look")), "{case:?}");
                assert!(!body.to_string().contains("[The messages here were"), "{case:?}");
            }
        }
        assert!(blocks.len() >= 2, "{case:?}: {}", blocks.len());
    }
}

/// The provider's count is what the window is measured by, so a block is not counted by the length
/// of what seals it.
#[tokio::test]
async fn a_block_is_counted_as_its_provider_reports_it() {
    for case in MODELS {
        let mut talk = Talk::new(case, simulator(case.0, case.1, behaviour));
        let mut turn = 0;
        while talk.turn(turn).await.0.len() < 2 {
            turn += 1;
        }
        let _next = talk.turn(turn + 1).await;
        let status = talk.runtime.status(&ChatRef::new("ada", "s")).unwrap();
        let sent = talk.simulator.log().last().unwrap().input.unwrap();
        let counted = status.breakdown.total().tokens();
        assert!(counted.abs_diff(sent) < sent / 10, "{case:?}: {counted}, {sent}");
    }
}

#[tokio::test]
async fn a_model_of_another_provider_is_sent_text() {
    for (case, others) in
        MODELS.into_iter().zip([["openai-responses", "gemini"], ["anthropic", "openai"]])
    {
        let mut talk = Talk::new(case, simulator(case.0, case.1, behaviour));
        let mut turn = 0;
        while talk.turn(turn).await.0.len() < 2 {
            turn += 1;
        }
        let block = compactions(&talk.body())[0].1.clone();
        let sealed = block.get("signature").or_else(|| block.get("encrypted_content")).unwrap();
        for other in others {
            let body = prepared(&talk, other).await;
            assert!(!body.contains(sealed.as_str().unwrap()), "{case:?} {other}");
            // What others cannot read is undone.
            let text = if case.0 == "anthropic" { "One found" } else { "\"0 Look" };
            assert!(body.contains(text), "{case:?} {other}: {body}");
            assert!(!body.contains("[The messages here were"), "{case:?} {other}: {body}");
        }
    }
}

async fn prepared(talk: &Talk, other: &str) -> String {
    let input = input(other, "some-model", &talk.history);
    let mut call = ModelCall::new(&talk.runtime, provider(other).unwrap(), input);
    call.next().await.unwrap().unwrap().body().as_str().to_owned()
}

/// A caller that asks another provider in between finds its cut again.
#[tokio::test]
async fn a_call_of_another_provider_in_between_loses_no_block() {
    let mut talk = Talk::new(MODELS[1], simulator(MODELS[1].0, MODELS[1].1, behaviour));
    let mut turn = 0;
    while talk.turn(turn).await.0.len() < 2 {
        turn += 1;
    }
    assert!(prepared(&talk, "gemini").await.contains("0 Look"));
    let (served, _) = talk.turn(turn + 1).await;
    assert_eq!(served.len(), 1, "nothing is compacted again");
    assert_eq!(compactions(&talk.body()).len(), 1);
}

/// A model of another name cannot be sent the conversation's own request.
#[tokio::test]
async fn a_sealed_conversation_without_its_model_is_not_summarised_and_says_so() {
    let mut talk = Talk::new(MODELS[1], simulator(MODELS[1].0, MODELS[1].1, behaviour));
    let mut turn = 0;
    while talk.turn(turn).await.0.len() < 2 {
        turn += 1;
    }
    let other = simulator("openai-responses", "gpt-5-mini", behaviour);
    let mut told = Vec::new();
    for turn in turn + 1..turn + 80 {
        talk.history.push(question(turn));
        let input = input(talk.name, talk.model, &talk.history);
        let mut call = ModelCall::new(&talk.runtime, provider(talk.name).unwrap(), input)
            .summaries(Arc::new(other.clone()));
        let answer = call.run(&talk.simulator).await.unwrap();
        told.extend(call.diagnostics().iter().map(ToString::to_string));
        talk.history.push(Arc::new(answer.message));
    }
    assert!(other.log().is_empty(), "nobody was asked for a quotation");
    assert!(told.iter().any(|text| text.contains("only the provider of the conversation")));
    assert_eq!(compactions(&talk.body()).len(), 1, "the block is still sent");
}

#[tokio::test]
async fn where_the_provider_returns_no_block_a_model_writes_the_summary() {
    for case in MODELS {
        let silent = |request: &ModelRequest| match request.compaction {
            Some(_) => Vec::new(),
            None => behaviour(request),
        };
        let mut talk = Talk::new(case, simulator(case.0, case.1, silent));
        let mut turn = 0;
        let (served, told) = loop {
            let (served, told) = talk.turn(turn).await;
            if served.len() > 1 {
                break (served, told);
            }
            turn += 1;
        };
        assert_eq!(served.len(), 3, "the compaction, the summary, and the request: {case:?}");
        assert_eq!(told, ["compact_summary_failed"], "{case:?}");
        assert!(talk.body().to_string().contains("One found"), "{case:?}");
    }
}

/// A quotation of a sealed conversation would be a summary of everything but what is sealed.
#[tokio::test]
async fn what_is_sealed_is_never_quoted() {
    let case = MODELS[1];
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (log, compacted) = (Arc::clone(&seen), Mutex::new(false));
    let once = move |request: &ModelRequest| {
        let texts = request.messages.iter().map(|message| message.plain_text().into_owned());
        log.lock().unwrap().extend(texts);
        let mut compacted = compacted.lock().unwrap();
        match request.compaction {
            Some(_) if *compacted => Vec::new(),
            Some(_) => {
                *compacted = true;
                behaviour(request)
            }
            None => behaviour(request),
        }
    };
    let mut talk = Talk::new(case, simulator(case.0, case.1, once));
    let (mut failures, mut has_block) = (0, false);
    for turn in 0..120 {
        let (served, told) = talk.turn(turn).await;
        assert!(served.iter().all(Served::is_answered), "{served:#?}");
        failures += told.iter().filter(|code| *code == "compact_summary_failed").count();
        let is_sent = !compactions(&talk.body()).is_empty();
        assert!(is_sent || !has_block, "the block was given up in turn {turn}");
        has_block |= is_sent;
    }
    assert!(has_block && failures > 0, "{failures}");
    let sealed = "in a form that only it reads";
    assert!(!seen.lock().unwrap().iter().any(|text| text.contains(sealed)));
}

#[tokio::test]
async fn a_model_whose_provider_makes_none_writes_a_summary() {
    let cases = [
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "gpt-5.2"),
        ("openai-responses", "openai/gpt-5.2"),
    ];
    for case in cases {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let counting = move |request: &ModelRequest| {
            *count.lock().unwrap() += usize::from(request.compaction.is_some());
            behaviour(request)
        };
        let mut talk = Talk::new(case, simulator(case.0, case.1, counting));
        let mut turn = 0;
        while talk.turn(turn).await.0.len() < 2 {
            turn += 1;
        }
        assert_eq!(*asked.lock().unwrap(), 0, "{case:?}");
        assert!(talk.body().to_string().contains("One found"), "{case:?}");
    }
}

/// A block is part of a boundary like any checkpoint: the next process sends it, and an undo brings
/// back what it stands for.
#[tokio::test]
async fn a_block_is_stored_and_undone_like_every_cut() {
    let (name, model) = MODELS[0];
    let store = store().await;
    let mut chat = engine(&store).await;
    let simulator = simulator(name, model, behaviour);
    let runtime = runtime();
    for turn in 0..80 {
        chat.set([Fragment::from(Message::clone(&question(turn)))]);
        let shown = chat.resolve().await.unwrap();
        let mut input = shown.prepare();
        (input.provider, input.request.model) = (name.to_owned(), Some(model.to_owned()));
        let mut call = ModelCall::new(&runtime, provider(name).unwrap(), input)
            .summaries(Arc::new(simulator.clone()) as Arc<dyn LanguageModel>);
        let _answer = call.run(&simulator).await.unwrap();
        let _accepted = chat.accept(&shown, &call).await.unwrap();
        let _saved = chat.save().await.unwrap();
        if call.rewrite().is_some() {
            break;
        }
    }
    let mut again = engine(&store).await;
    let shown = again.resolve().await.unwrap();
    let messages = &shown.request().messages;
    let first = &messages[0];
    assert!(first.is_checkpoint() && first.role == Role::User);
    assert!(matches!(first.parts[..], [Part::Opaque(_), Part::Text(_), ..]), "{first:?}");
    let compacted = messages.len();
    drop(again);
    assert!(chat.undo_compaction().await.unwrap().is_some());
    let whole = chat.resolve().await.unwrap();
    assert!(whole.request().messages.len() > compacted);
    assert!(!whole.request().messages[0].is_checkpoint());
}
