//! The building blocks of an agent's loop: a turn that knows its chat, taking over a call, and
//! setting tool results.

use std::sync::Arc;

use context_runtime::compaction::{microcompact, snip, truncate_head};
use context_runtime::model::ModelRequest;
use context_runtime::tokens::ModelCounter;
use context_runtime::{
    ContextEngine, ContextRuntime, DefaultContextRuntime, ErrorKind, FunctionTool, Message,
    ModelCall, RecoveryDecision, RecoveryInput, Spilled, Store, ToolCall, provider, role, user,
};
use context_simulator::{AnswerPiece, Behaviour, Simulator};

use crate::kit::{engine, say, store, texts};

const MODEL: &str = "claude-sonnet-4-5";

fn runtime(store: &Arc<dyn Store>) -> DefaultContextRuntime {
    let builder = DefaultContextRuntime::builder().model(MODEL).spill(store.clone());
    builder.compaction([microcompact(), snip(), truncate_head()]).build().unwrap()
}

fn simulator(window: u64, says: impl Behaviour + 'static) -> Simulator {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    Simulator::new(provider("anthropic").unwrap(), counter).window(window).behaviour(says)
}

fn done(_: &ModelRequest) -> Vec<AnswerPiece> {
    vec![AnswerPiece::text("Done.")]
}

#[tokio::test]
async fn a_turn_says_whose_it_is_and_what_was_asked() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([role("You book trips."), say("m1", "Two tickets."), say("m2", "To Lisbon.")]);
    chat.set([Message::text(context_runtime::Role::Assistant, "When?")]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(&turn.chat, chat.chat_ref());

    let input = turn.prepare();
    assert_eq!((&input.turn.chat, &*input.turn.id), (chat.chat_ref(), "m2"));
    assert_eq!(input.request.system[0].text, "<role>You book trips.</role>");
    assert_eq!(input.request.messages, turn.request().messages);
    assert!(input.provider.is_empty() && input.request.model.is_none());

    let capture = turn.capture();
    assert_eq!((&capture.turn.chat, &capture.turn.id), (&input.turn.chat, &input.turn.id));
    assert_eq!((&capture.nodes[0].id, &capture.nodes[1].id), (&"m1".into(), &"m2".into()));
    assert_eq!((capture.nodes.len(), &capture.messages), (3, &input.request.messages));
}

/// Settings that the runtime and the codec supply need not be repeated.
#[tokio::test]
async fn provider_and_model_come_from_codec_and_runtime() {
    let store = store().await;
    let (mut chat, runtime) = (engine(&store).await, runtime(&store));
    chat.set([user("Two tickets.")]);
    let turn = chat.resolve().await.unwrap();
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), turn.prepare());
    let request = call.next().await.unwrap().unwrap();
    assert_eq!(request.context.request.model.as_deref(), Some(MODEL));
}

#[tokio::test]
async fn a_call_is_taken_over_once_it_is_answered() {
    let store = store().await;
    let (mut chat, runtime) = (engine(&store).await, runtime(&store));
    chat.set([user("Two tickets.")]);
    let turn = chat.resolve().await.unwrap();
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), turn.prepare());
    let refused = chat.accept(&turn, &call).await.unwrap_err();
    assert_eq!((refused.kind(), chat.pending().count()), (ErrorKind::Invalid, 1));

    let _answer = call.run(&simulator(100_000, done)).await.unwrap();
    assert_eq!(chat.accept(&turn, &call).await.unwrap().message.plain_text(), "Done.");
    chat.save().await.unwrap();
    assert_eq!(texts(&chat.resolve().await.unwrap().messages), ["#1: Two tickets.", "#2: Done."]);
}

/// Only a caller that supports all decisions says so; a loop that knows three gets no others.
#[tokio::test]
async fn decisions_are_those_that_the_caller_follows() {
    let store = store().await;
    let (mut chat, runtime) = (engine(&store).await, runtime(&store));
    for step in 0..60 {
        chat.set([say(&format!("q{step}"), &"What is the weather in Lisbon? ".repeat(20))]);
        chat.set([Message::text(context_runtime::Role::Assistant, "Warm. ".repeat(20))]);
    }
    chat.set([user("And today?")]);
    chat.save().await.unwrap();
    let turn = chat.resolve().await.unwrap();
    let input = turn.prepare().max_output_tokens(500);
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), input);
    let _answer = call.run(&simulator(6_000, done)).await.unwrap();
    let decided: Vec<_> =
        call.attempts().iter().map(|attempt| attempt.decision.kind().as_str()).collect();
    assert_eq!(decided[0], "compact_and_retry");

    chat.accept(&turn, &call).await.unwrap();
    chat.save().await.unwrap();
    let shown = chat.resolve().await.unwrap();
    let compactions = chat.compactions().await.unwrap();
    assert_eq!(compactions.len(), 1, "what was cut is kept as a boundary");
    assert!(shown.messages.len() < turn.messages.len());
    chat.undo_compaction().await.unwrap();
    assert_eq!(chat.resolve().await.unwrap().messages.len(), turn.messages.len() + 1);

    let words = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 8000 tokens > 6000 maximum"}}"#;
    let error = context_codec_kit::classify("anthropic", Some(400), words);
    let seed = RecoveryInput::new(("ada", "s"), "t", error, turn.request().messages);
    let decision = runtime.recover_from_model_error(seed).await.unwrap();
    assert!(
        matches!(decision, RecoveryDecision::TruncateHeadAndRetry { .. }),
        "{}",
        decision.kind()
    );
}

#[tokio::test]
async fn results_of_tools_are_set_and_large_ones_kept_elsewhere() {
    let store = store().await;
    let (mut chat, runtime) = (engine(&store).await, runtime(&store));
    chat.set([user("Why does it fail?")]);
    let turn = chat.resolve().await.unwrap();
    let calls = |request: &ModelRequest| {
        assert_eq!(request.tools.len(), 2);
        vec![
            AnswerPiece::call("log", serde_json::json!({"days": 2})),
            AnswerPiece::call("date", serde_json::json!({})),
        ]
    };
    let tools =
        ["log", "date"].map(|name| FunctionTool::new(name, serde_json::json!({"type": "object"})));
    let mut call =
        ModelCall::new(&runtime, provider("anthropic").unwrap(), turn.prepare().tools(tools));
    let _answer = call.run(&simulator(100_000, calls)).await.unwrap();
    let answer = chat.accept(&turn, &call).await.unwrap();

    let run = |call: &ToolCall| match &*call.name {
        "log" => {
            let days = call.input.parse::<serde_json::Value>().unwrap()["days"].as_u64();
            assert_eq!(days, Some(2));
            call.result("a line of the log\n".repeat(20_000))
        }
        _ => call.error("no clock"),
    };
    let results: Vec<_> = answer.message.tool_calls().map(run).collect();
    let applied = chat.set_tool_results(&runtime, results).await.unwrap();
    chat.save().await.unwrap();

    let [said] = &applied.appended[..] else { panic!("one message of results") };
    let results: Vec<_> = said.tool_results().collect();
    let names: Vec<_> =
        results.iter().map(|result| (result.name.as_deref(), result.is_error)).collect();
    assert_eq!(names, [(Some("log"), false), (Some("date"), true)]);
    let spilled = Spilled::of(&results[0].metadata).unwrap();
    assert_eq!(spilled.bytes, 18 * 20_000);
    let spill = runtime.spill().unwrap();
    assert!(spill.read(chat.chat_ref(), &spilled.blob.to_reference(), 0..6).await.is_ok());
    let stored = chat.resolve().await.unwrap();
    assert_eq!(stored.request().messages.last(), Some(said));
}

#[test]
fn an_unknown_provider_says_what_there_is() {
    let error = provider("antropic").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.get("known"), Some("openai, openai-responses, anthropic, gemini"));
}

/// All operations of an agent share one error type.
#[tokio::test]
async fn a_call_without_an_answer_is_an_error_like_any_other() {
    async fn asks(chat: &mut ContextEngine) -> context_runtime::Result<()> {
        let runtime = DefaultContextRuntime::builder().model(MODEL).build()?;
        let turn = chat.resolve().await?;
        let mut call = ModelCall::new(&runtime, provider("anthropic")?, turn.prepare());
        while call.next().await?.is_some() {
            call.received(
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            );
        }
        Ok(())
    }
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([user("Two tickets.")]);
    let error = asks(&mut chat).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, "the model did not answer"));
    assert!(format!("{error:?}").contains("invalid x-api-key"), "{error:?}");
}
