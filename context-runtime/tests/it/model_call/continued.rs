//! Summaries that continue the conversation, so that the provider reads it from its cache.

use std::sync::Arc;

use context_runtime::summarize::Summarize;
use context_runtime::{
    DefaultContextRuntime, FunctionTool, Message, ModelCall, PrepareInput, Role,
    compaction::Stage,
    model::{Answer, ModelErrorCode, ModelRequest, OutputSchema, ToolChoice},
    provider,
};
use context_simulator::{AnswerPiece, Simulator};

use super::models::{ScriptedModel, error, says};
use crate::runtime_kit::ByteCounter;
use crate::simulator::QuarterCounter;

const SUMMARY: &str = "## Objective\nA train\n## Current state\nOne found\n## Remaining\nBook it\n\
                       ## Files and artifacts\nNone";

/// The models of the providers, as the table knows them.
const MODELS: [(&str, &str); 4] = [
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5"),
    ("openai-responses", "gpt-5"),
    ("gemini", "gemini-2.5-pro"),
];

/// Answers with a summary where one is asked for.
fn behaviour(request: &ModelRequest) -> Vec<AnswerPiece> {
    let last = request.messages.last().unwrap().plain_text();
    let is_task = last.contains("Summarise the conversation above");
    vec![AnswerPiece::Text(if is_task { SUMMARY } else { "There is one at noon." }.to_owned())]
}

fn runtime() -> DefaultContextRuntime {
    DefaultContextRuntime::builder()
        .window(40_000)
        .reserve(4_000)
        .counter(Arc::new(QuarterCounter))
        .compaction([Stage::new(Summarize::new())])
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

/// Regression: a summary was requested with a message of its own that quoted the conversation, so
/// the provider read all of it anew, at the full price.
#[tokio::test]
async fn the_conversation_is_read_from_the_cache() {
    for (name, model) in MODELS {
        let runtime = runtime();
        let simulator = Simulator::new(provider(name).unwrap(), Arc::new(QuarterCounter))
            .window(40_000)
            .model(model)
            .behaviour(behaviour);
        let mut history = Vec::new();
        let mut summaries = 0;
        for turn in 0..60 {
            let text = format!("{turn} {}", "Look for another train. ".repeat(100));
            history.push(Arc::new(Message::from(text)));
            let before = simulator.log().len();
            let mut call =
                ModelCall::new(&runtime, provider(name).unwrap(), input(name, model, &history))
                    .summaries(Arc::new(simulator.clone()));
            let answer = call.run(&simulator).await.unwrap();
            history.push(Arc::new(answer.message));
            let log = &simulator.log()[before..];
            assert!(log.iter().all(|served| served.is_answered()), "{name}: {log:#?}");
            let [summary, after] = log else { continue };
            let input = summary.input.unwrap();
            let share = summary.cache_read as f64 / input as f64;
            assert!(share >= 0.85, "{name}: {share:.3} of {input} tokens, {summary:#?}");
            assert!(after.input.unwrap() < input * 3 / 4, "{name}: {after:#?}");
            assert!(call.diagnostics().is_empty(), "{name}: {:?}", call.diagnostics());
            summaries += 1;
        }
        assert!(summaries >= 1, "{name}");
    }
}

/// Returns a conversation that fits but should be summarised, in bytes.
fn nearly_full() -> Vec<Arc<Message>> {
    let turn = |turn: usize| {
        let text = "Look for another train. ".repeat(40);
        [Message::from(format!("{turn} {text}")), Message::text(Role::Assistant, text)]
    };
    (0..10).flat_map(turn).map(Arc::new).take(19).collect()
}

fn small_runtime() -> DefaultContextRuntime {
    let builder = DefaultContextRuntime::builder()
        .window(24_000)
        .reserve(4_000)
        .counter(Arc::new(ByteCounter));
    builder.compaction([Stage::new(Summarize::new())]).build().unwrap()
}

async fn task_of(input: PrepareInput) -> (ModelRequest, Option<ModelRequest>, ModelRequest) {
    use context_runtime::ContextRuntime;
    let runtime = small_runtime();
    let mut before = input.clone();
    before.request.messages.pop();
    let _earlier = runtime.prepare_for_model(before).await.unwrap();
    let context = runtime.prepare_for_model(input).await.unwrap();
    let task = *context.summary.unwrap();
    (task.request, task.continued.map(|request| *request), context.request)
}

fn plain(history: &[Arc<Message>]) -> PrepareInput {
    PrepareInput::new(("ada", "s"), "t", "openai", "scripted").messages(history.iter().cloned())
}

#[tokio::test]
async fn the_request_is_the_one_of_the_conversation_with_one_message_behind() {
    let (_, continued, sent) = task_of(plain(&nearly_full())).await;
    let mut continued = continued.unwrap();
    let instruction = continued.messages.pop().unwrap();
    insta::assert_snapshot!("continued_instruction", instruction.plain_text());
    assert!(continued.max_output_tokens < sent.max_output_tokens);
    continued.max_output_tokens = sent.max_output_tokens;
    assert_eq!(continued, sent);
}

/// A call that is demanded, or an answer with a schema, is no summary.
#[tokio::test]
async fn where_the_conversation_demands_another_answer_it_is_quoted() {
    let history = nearly_full();
    let mut must_call = plain(&history);
    must_call.request.tool_choice = Some(ToolChoice::Required);
    let mut with_schema = plain(&history);
    with_schema.request.output =
        Some(OutputSchema::new("trip", serde_json::json!({"type": "object"})));
    for input in [must_call, with_schema] {
        assert_eq!(task_of(input).await.1, None);
    }
}

#[tokio::test]
async fn a_cold_cache_makes_the_quotation_cheaper() {
    use context_runtime::ContextRuntime;
    let context = small_runtime().prepare_for_model(plain(&nearly_full())).await.unwrap();
    // The newest messages, which a quotation leaves out, would be read at the full price too.
    assert!(context.summary.unwrap().continued.is_none());
}

/// A model that goes on with the conversation is asked again with the quotation.
#[tokio::test]
async fn an_answer_that_is_no_summary_is_followed_by_the_quotation() {
    for first in [Ok(says("There is one at noon.")), Err(error(ModelErrorCode::InvalidRequest))] {
        let (runtime, history) = (small_runtime(), nearly_full());
        let model = ScriptedModel::new([Ok(says("fine"))]);
        let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), plain(&history[..18]));
        let _answer = call.run(&*model).await.unwrap();
        let summaries = ScriptedModel::new([first, Ok(says(SUMMARY))]);
        let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), plain(&history))
            .summaries(Arc::clone(&summaries) as _);
        let _answer: Answer = call.run(&*model).await.unwrap();
        let asked = summaries.asked();
        assert_eq!((asked.len(), asked[0].messages.len(), asked[1].messages.len()), (2, 20, 1));
        assert!(model.asked()[1].messages[0].is_checkpoint());
        let told: Vec<_> = call.diagnostics().iter().map(|told| told.code.as_str()).collect();
        assert_eq!(told, ["compact_summary_failed"]);
    }
}
