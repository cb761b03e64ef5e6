//! Two users of one store and one runtime, with the same names everywhere: no data of one is
//! visible to the other.

mod property;
mod traces;
mod world;

use std::sync::Arc;

use context_runtime::memory::{MemoryProvider, MemoryScope, RecallQuery, episodic};
use context_runtime::store::{Chain, Node};
use context_runtime::{
    CancelSignal, CaptureTurnInput, ContextEngine, ContextRuntime, DefaultContextRuntime,
    ErrorKind, Message, ModelCall, Part, PrepareInput, RecoveryInput, Role, Spilled, Store,
    Timestamp, ToolResultInput, ToolResultLimits, assistant, provider, user,
};

pub(crate) use self::traces::Traces;
use crate::kit::store;

/// A chat with the same id for each user.
async fn chat_of(store: &Arc<dyn Store>, user: &str) -> ContextEngine {
    ContextEngine::builder(Arc::clone(store)).user(user).chat("lisbon").open().await.unwrap()
}

fn called() -> Message {
    Message::new(Role::Assistant, [Part::tool_call("call_1", "log", serde_json::json!({}))])
}

/// Regression: Bob's request contained Ada's messages, his messages became hers, and his outputs
/// were stored under her name and outlived him.
#[tokio::test]
async fn one_runtime_serves_two_users_and_nothing_of_one_reaches_the_other() {
    let store = store().await;
    let memory = Arc::new(episodic(&store).unwrap());
    let runtime = DefaultContextRuntime::builder()
        .model("claude-sonnet-4-5")
        .spill(Arc::clone(&store))
        .tool_results(ToolResultLimits::new().bytes(5_000).preview_bytes(1_000))
        .memory(Arc::clone(&memory))
        .build()
        .unwrap();

    let mut ada = chat_of(&store, "ada").await;
    ada.set([user("My cat is called Zanzibar."), assistant("A fine name.")]);
    let _saved = ada.save().await.unwrap();
    assert_eq!(runtime.capture_turn(ada.resolve().await.unwrap().capture()).await.unwrap(), []);
    runtime.flush().await.unwrap();

    let mut bob = chat_of(&store, "bob").await;
    bob.set([user("What is my cat called?")]);
    let turn = bob.resolve().await.unwrap();
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), turn.prepare());
    let body = call.next().await.unwrap().unwrap().body().as_str().to_owned();
    assert!(!body.contains("Zanzibar"), "{body}");

    bob.set([called()]);
    let result = Part::tool_result("call_1", "Quetzal ".repeat(1_000));
    let Part::ToolResult(result) = result else { unreachable!() };
    let applied = bob.set_tool_results(&runtime, [result]).await.unwrap();
    let said = applied.appended[0].tool_results().next().unwrap();
    let blob = Spilled::of(&said.metadata).unwrap().blob;
    let _saved = bob.save().await.unwrap();
    assert_eq!(runtime.capture_turn(bob.resolve().await.unwrap().capture()).await.unwrap(), []);
    runtime.flush().await.unwrap();

    let blobs = store.blobs().unwrap();
    assert!(
        blobs.blob(bob.chat_ref(), &blob).await.unwrap().is_some(),
        "it is kept under his name"
    );
    assert!(blobs.blob(ada.chat_ref(), &blob).await.unwrap().is_none());
    let never = CancelSignal::never();
    let recalled = async |user: &str| {
        let query =
            RecallQuery::new(MemoryScope::new(user).session("any"), "What is my cat called?");
        let found = memory.recall(&query, &never).await.unwrap().memories;
        found.into_iter().map(|memory| memory.text).collect::<Vec<_>>()
    };
    let hers = recalled("ada").await;
    assert!(hers.contains(&"My cat is called Zanzibar.".to_owned()));
    assert_eq!(recalled("bob").await, ["What is my cat called?"]);

    let erased = store.maintenance().unwrap().erase_user(&"bob".into(), &never).await.unwrap();
    assert_eq!(erased.remaining, 0);
    assert_eq!(runtime.forget_user(&"bob".into()), 1);
    assert!(
        blobs.blob(bob.chat_ref(), &blob).await.unwrap_err().is_not_found(),
        "the chat is gone"
    );
    assert_eq!((recalled("bob").await.len(), recalled("ada").await), (0, hers));
}

/// A runtime restricted to one user refuses others before anything is looked up or written.
#[tokio::test]
async fn a_runtime_of_one_user_refuses_the_turns_of_another() {
    let store = store().await;
    let runtime = DefaultContextRuntime::builder()
        .model("claude-sonnet-4-5")
        .user("ada")
        .spill(Arc::clone(&store))
        .memory(episodic(&store).unwrap())
        .build()
        .unwrap();
    let history = || vec![Arc::new(Message::from("hello")), Arc::new(called())];
    let of = ("bob", "lisbon");
    let result = Message::new(Role::Tool, [Part::tool_result("call_1", "x".repeat(500_000))]);
    let error = context_codec_kit::classify("anthropic", Some(400), "prompt is too long");
    let refused = [
        runtime
            .prepare_for_model(PrepareInput::new(of, "t", "", "").messages(history()))
            .await
            .err(),
        runtime.apply_tool_results(ToolResultInput::new(of, "t", history(), result)).await.err(),
        runtime.recover_from_model_error(RecoveryInput::new(of, "t", error, history())).await.err(),
        runtime.capture_turn(CaptureTurnInput::new(of, "t", history())).await.err(),
        runtime.spill().unwrap().put(&of.into(), "a report", "text/plain").await.err(),
    ];
    for error in refused {
        let error = error.unwrap();
        assert_eq!((error.kind(), error.get("user")), (ErrorKind::Invalid, Some("bob")));
        assert!(!error.to_string().contains("ada"), "who it is for is not told to others: {error}");
    }
    runtime.flush().await.unwrap();
    assert!(store.history().chat(&of.into()).await.unwrap().is_none(), "nothing was written");
    let own = PrepareInput::new(("ada", "lisbon"), "t", "", "").messages(history());
    assert!(runtime.prepare_for_model(own).await.is_ok());
}

#[tokio::test]
async fn what_was_made_of_another_chat_is_not_taken_over() {
    let store = store().await;
    let runtime = DefaultContextRuntime::builder().model("claude-sonnet-4-5").build().unwrap();
    let (mut ada, mut bob) = (chat_of(&store, "ada").await, chat_of(&store, "bob").await);
    for chat in [&mut ada, &mut bob] {
        chat.set([user("Two tickets.").with_id("m1"), user("Now.").with_id("m2")]);
    }
    let (hers, his) = (ada.resolve().await.unwrap(), bob.resolve().await.unwrap());
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), hers.prepare());
    let _request = call.next().await.unwrap().unwrap();
    call.received(
        200,
        r#"{"role":"assistant","content":[{"type":"text","text":"Aisle?"}],"stop_reason":"end_turn"}"#,
    );
    assert!(call.next().await.unwrap().is_none());
    let refused = [
        bob.accept(&his, &call).await.err(),
        bob.accept(&hers, &call).await.err(),
        ada.accept(&his, &call).await.err(),
        bob.compact(&hers, &context_runtime::compaction::HistoryRewrite::identity(&[]), &[])
            .await
            .err(),
    ];
    let kinds: Vec<_> = refused.iter().flatten().map(context_runtime::Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::Invalid; 4]);
    assert_eq!(bob.pending().count(), 2, "nothing is pending but what was set");
    assert!(ada.accept(&hers, &call).await.is_ok());

    let Part::ToolResult(result) = Part::tool_result("call_9", "done") else { unreachable!() };
    let error = bob.set_tool_results(&runtime, [result]).await.unwrap_err();
    assert_eq!((error.kind(), bob.pending().count()), (ErrorKind::Invalid, 2));
}

#[tokio::test]
async fn a_capture_needs_a_node_for_each_message_or_none() {
    let store = store().await;
    let memory = episodic(&store).unwrap();
    let runtime = DefaultContextRuntime::builder().window(9_000).memory(memory).build().unwrap();
    let mut input =
        CaptureTurnInput::new(("ada", "c"), "t", vec![Arc::new(Message::from("hello"))]);
    let node = |id: &str| Arc::new(Node::new(id, Message::from(id), Timestamp::default()));
    input.nodes = Chain::from_nodes(0, ["m1", "m2"].map(node));
    let error = runtime.capture_turn(input).await.unwrap_err();
    assert_eq!((error.kind(), error.get("nodes")), (ErrorKind::Invalid, Some("2")));
}
