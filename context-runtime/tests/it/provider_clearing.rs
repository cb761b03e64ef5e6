//! Old results of tools that the provider clears, and what is counted then.

use std::sync::Arc;

use context_runtime::{
    CancelSignal, ChatRef, ContextRuntime, DefaultContextRuntime, FunctionTool, Message, Part,
    PrepareInput, ProviderClearing, Role,
    compaction::snip,
    model::{LanguageModel, ModelRequest},
    provider,
};
use context_simulator::{AnswerPiece, Simulator};
use serde_json::{Value, json};

use crate::simulator::QuarterCounter;

const MODEL: &str = "claude-opus-5-5";

fn read(step: usize, tool: &str) -> [Arc<Message>; 2] {
    let id = format!("call_{step}");
    let call = Part::tool_call(&id, tool, json!({"step": step}));
    let result = Part::tool_result(&id, format!("result {step}. {}", "A line. ".repeat(500)));
    [Message::new(Role::Assistant, [call]), Message::new(Role::Tool, [result])].map(Arc::new)
}

fn input(provider: &str, history: &[Arc<Message>]) -> PrepareInput {
    let tool = |name| FunctionTool::new(name, json!({"type": "object"}));
    PrepareInput::new(("ada", "s"), "t", provider, MODEL)
        .tools([tool("read_file"), tool("todo_write")])
        .messages(history.iter().cloned())
}

fn runtime(clearing: Option<ProviderClearing>) -> DefaultContextRuntime {
    let mut builder = DefaultContextRuntime::builder()
        .window(40_000)
        .reserve(4_000)
        .counter(Arc::new(QuarterCounter))
        .compaction([snip()]);
    if let Some(clearing) = clearing {
        builder = builder.provider_clearing(clearing);
    }
    builder.build().unwrap()
}

fn simulator() -> Simulator {
    // Says which results the model was shown.
    let shown = |request: &ModelRequest| {
        let results = request.messages.iter().flat_map(|message| message.tool_results());
        let texts = results.map(|result| match &result.output[..] {
            [Part::Text(text)] => text.text.split('.').next().unwrap_or_default().to_owned(),
            _ => "nothing".to_owned(),
        });
        vec![AnswerPiece::text(texts.collect::<Vec<_>>().join(", "))]
    };
    Simulator::new(provider("anthropic").unwrap(), Arc::new(QuarterCounter))
        .window(40_000)
        .model(MODEL)
        .behaviour(shown)
}

/// Sends a conversation after each step, and returns the largest relative error of the counts.
async fn drive(runtime: &DefaultContextRuntime, simulator: &Simulator, steps: usize) -> f64 {
    let chat = ChatRef::new("ada", "s");
    let mut history = vec![Arc::new(Message::from("Find the bug."))];
    let mut worst: f64 = 0.0;
    for step in 0..steps {
        history.extend(read(step, "read_file"));
        let context = runtime.prepare_for_model(input("anthropic", &history)).await.unwrap();
        assert!(context.rewrite.is_none(), "nothing had to be cut at step {step}");
        let answer = simulator.complete(&context.request, &CancelSignal::never()).await.unwrap();
        runtime.observe_usage(&chat, &answer.usage.unwrap());
        let sent = simulator.log().last().unwrap().input.unwrap() as f64;
        worst = worst.max((context.breakdown.total().tokens() as f64 - sent).abs() / sent);
    }
    worst
}

#[tokio::test]
async fn what_is_cleared_does_not_count_and_nothing_else_is_cut() {
    let (runtime, simulator) =
        (runtime(Some(ProviderClearing::new().trigger(10_000).keep(3))), simulator());
    // 120 results of a thousand tokens in a window of 40,000.
    let worst = drive(&runtime, &simulator, 120).await;
    assert!(worst < 0.1, "{worst:.3}");
    let log = simulator.log();
    assert!(log.iter().all(|served| served.is_answered()));
    // Each step clears one more result, so only the results that are kept are read anew.
    for served in &log[40..] {
        let (read, input) = (served.cache_read, served.input.unwrap());
        assert!(input - read < 4_500, "{read} of {input}");
    }
}

#[tokio::test]
async fn pins_and_working_state_stay() {
    let runtime = runtime(Some(ProviderClearing::new().trigger(2_000).keep(2)));
    let simulator = simulator();
    let mut history = vec![Arc::new(Message::from("Find the bug."))];
    history.extend(read(0, "todo_write"));
    for step in 1..8 {
        history.extend(read(step, "read_file"));
    }
    let ask = async |history: &[Arc<Message>]| {
        let context = runtime.prepare_for_model(input("anthropic", history)).await.unwrap();
        let answer = simulator.complete(&context.request, &CancelSignal::never()).await.unwrap();
        answer.message.plain_text().into_owned()
    };
    let cleared = "[Old tool result content cleared]";
    let expected = format!("result 0, {}result 6, result 7", format!("{cleared}, ").repeat(5));
    assert_eq!(ask(&history).await, expected);
    history[8] = Arc::new(Message::clone(&history[8]).pinned());
    let expected = format!(
        "result 0, {}result 3, result 4, result 5, result 6, result 7",
        format!("{cleared}, ").repeat(2)
    );
    assert_eq!(ask(&history).await, expected, "what is pinned, and what follows it");
}

#[tokio::test]
async fn only_its_provider_is_asked_and_the_programs_own_edits_come_first() {
    let history: Vec<_> = std::iter::once(Arc::new(Message::from("Find the bug.")))
        .chain((0..8).flat_map(|step| read(step, "read_file")))
        .collect();
    let management = async |clearing: Option<ProviderClearing>, input: PrepareInput| {
        let context = runtime(clearing).prepare_for_model(input).await.unwrap();
        let body = context.request.metadata.get("anthropic.body")?.parse::<Value>().unwrap();
        Some(body["context_management"].clone())
    };
    let clearing = ProviderClearing::new().trigger(5_000).at_least(1_000);
    let asked = management(Some(clearing.clone()), input("anthropic", &history)).await.unwrap();
    assert_eq!(
        asked,
        json!({"edits": [{
            "type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 5_000},
            "keep": {"type": "tool_uses", "value": 3},
            "clear_at_least": {"type": "input_tokens", "value": 1_000}, "exclude_tools": ["todo_write"]}]})
    );
    assert_eq!(management(None, input("anthropic", &history)).await, None);
    assert_eq!(management(Some(clearing.clone()), input("openai", &history)).await, None);
    let mut own = input("anthropic", &history);
    let edits = json!({"context_management": {"edits": []}});
    own.request.metadata.insert("anthropic.body", edits);
    assert_eq!(management(Some(clearing), own).await, Some(json!({"edits": []})));
}
