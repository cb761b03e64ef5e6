//! Long texts of the user: sent as their ends, stored and read whole.

use std::sync::Arc;

use context_runtime::compaction::{Stage, Trigger};
use context_runtime::{
    ContextEngine, ContextRuntime, DefaultContextRuntime, HistoryTools, Message, Part,
    PrepareInput, Role, microcompact::Microcompact, user,
};

/// Shortens with every message, whatever else the window holds.
fn runtime() -> DefaultContextRuntime {
    let stage = Stage::new(Microcompact::new().user_texts(200)).trigger(Trigger::Messages(1));
    DefaultContextRuntime::builder()
        .model("claude-sonnet-4-5")
        .user_words(0.0)
        .compaction([stage])
        .build()
        .unwrap()
}

async fn sent(runtime: &DefaultContextRuntime, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let input = PrepareInput::new(("ada", "c"), "t", "anthropic", "claude-sonnet-4-5");
    let input = input.messages(messages.iter().map(Arc::clone));
    runtime.prepare_for_model(input).await.unwrap().request.messages.into()
}

/// A user pastes a log between a question and a wish. The model is sent both, and a log that is
/// small; the next request begins with the same bytes.
#[tokio::test]
async fn a_pasted_log_is_sent_as_its_ends_from_its_first_request_on() {
    let log = "12:00:01 worker 7 has finished its task\n".repeat(1_000);
    let pasted = format!("Why does this fail?\n{log}\nAnswer briefly.");
    let mut history = vec![Arc::new(Message::from(pasted.clone()))];
    let runtime = runtime();
    let first = sent(&runtime, &history).await;
    let shown = first[0].plain_text();
    assert!(shown.contains("Why does this fail?") && shown.ends_with("Answer briefly."), "{shown}");
    assert!(shown.len() < 2_000, "{shown}");

    let answer = Message::text(Role::Assistant, "Worker 7 does not stop.");
    history.extend([Arc::new(answer), Arc::new(Message::from("And now?"))]);
    let second = sent(&runtime, &history).await;
    assert_eq!((&second[0], second.len()), (&first[0], 3));
}

#[tokio::test]
async fn the_model_reads_the_whole_text_with_a_tool() {
    let store = context_runtime::open("mem:").await.unwrap();
    let builder = ContextEngine::builder(Arc::clone(&store)).user("ada").chat("c");
    let mut chat = builder.open().await.unwrap();
    let pasted = format!("{}the needle{}", "hay ".repeat(1_000), " hay".repeat(1_000));
    let _saved = chat.set([user(pasted.clone())]).save().await.unwrap();

    let stored: Vec<_> = chat.resolve().await.unwrap().messages.iter().cloned().collect();
    let stored = stored[0].message().unwrap();
    let shown = sent(&runtime(), &[Arc::clone(stored)]).await[0].plain_text().into_owned();
    assert!(!shown.contains("the needle") && shown.contains(HistoryTools::READ), "{shown}");

    let tools = HistoryTools::new(&*store, chat.chat_ref().clone(), chat.branch().clone());
    let input = serde_json::json!({"first": 1, "offset": 3_900});
    let Part::ToolCall(call) = Part::tool_call("c1", HistoryTools::READ, input) else {
        unreachable!()
    };
    let Part::Text(read) = &tools.answer(&call).await.output[0] else { panic!("no text") };
    assert!(read.text.contains("the needle"), "{}", read.text);
}
