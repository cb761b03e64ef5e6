//! Conversations of rig that are chats of the context layer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use context_rig::RigStore;
use context_runtime::compaction::{BoundaryKind, Edit, HistoryView, Plan};
use context_runtime::fragments::Encoded;
use context_runtime::store::{ChainEnd, Commit, Node, SearchQuery, Target, Window};
use context_runtime::tokens::ModelTable;
use context_runtime::{ChatRef, ContextEngine, Role, Store, Timestamp, assistant, user};
use rig_core::message::Message;
use rig_memory::{AsyncStore, SessionError, load_async, save_async};
use serde_json::json;

const LOG: &str = "lisbon";

async fn memory() -> (Arc<dyn Store>, RigStore) {
    let store = context_runtime::open("mem:").await.unwrap();
    (store.clone(), RigStore::new(store, "ada"))
}

async fn engine(store: &Arc<dyn Store>) -> ContextEngine {
    ContextEngine::builder(store.clone()).user("ada").chat(LOG).open().await.unwrap()
}

async fn say(memory: &RigStore, question: &str, answer: &str) {
    let mut conversation = load_async(memory, LOG).await.unwrap();
    conversation.extend([Message::user(question), Message::assistant(answer)]);
    save_async(memory, LOG, &mut conversation).await.unwrap();
    assert_eq!(load_async(memory, LOG).await.unwrap(), conversation);
}

async fn texts(memory: &RigStore) -> Vec<String> {
    let conversation = load_async(memory, LOG).await.unwrap();
    let text = |message: &Arc<Message>| {
        let message = context_rig::from_rig(message).unwrap();
        message.plain_text().into_owned()
    };
    conversation.messages().iter().map(text).collect()
}

#[tokio::test]
async fn the_context_layer_sees_what_rig_saved() {
    let (store, memory) = memory().await;
    say(&memory, "Two tickets to Lisbon.", "Window or aisle?").await;

    let mut chat = engine(&store).await;
    let turn = chat.resolve().await.unwrap();
    let text = |node: &Node| node.message().unwrap().plain_text().into_owned();
    let seen: Vec<_> = turn.messages.iter().map(|node| (node.role(), text(node))).collect();
    assert_eq!(
        seen,
        [
            (Some(Role::User), "Two tickets to Lisbon.".to_owned()),
            (Some(Role::Assistant), "Window or aisle?".to_owned()),
        ]
    );
    let hits = store.search().unwrap().search(&SearchQuery::new("ada", "aisle")).await.unwrap();
    assert_eq!(hits.items.len(), 1);
}

#[tokio::test]
async fn rig_sees_what_the_context_layer_saved() {
    let (store, memory) = memory().await;
    let mut chat = engine(&store).await;
    chat.set([user("Two tickets to Lisbon."), assistant("Window or aisle?")]);
    let _ = chat.save().await.unwrap();

    assert_eq!(texts(&memory).await, ["Two tickets to Lisbon.", "Window or aisle?"]);
    say(&memory, "Window.", "Booked.").await;

    let mut chat = engine(&store).await;
    chat.set([user("Thanks.")]);
    let _ = chat.save().await.unwrap();
    let all = ["Two tickets to Lisbon.", "Window or aisle?", "Window.", "Booked.", "Thanks."];
    assert_eq!(texts(&memory).await, all);
    say(&memory, "And back?", "On Sunday.").await;
    assert_eq!(texts(&memory).await.len(), 7);
}

#[tokio::test]
async fn rig_continues_on_the_branch_that_is_active() {
    let (store, memory) = memory().await;
    say(&memory, "Two tickets to Lisbon.", "Window or aisle?").await;
    say(&memory, "Window.", "Booked.").await;
    let mut begun_before = load_async(&memory, LOG).await.unwrap();

    let mut chat = engine(&store).await;
    let turn = chat.resolve().await.unwrap();
    let _ = chat.rewind(&turn.messages[1].id.clone()).await.unwrap();
    assert_eq!(texts(&memory).await, ["Two tickets to Lisbon.", "Window or aisle?"]);
    say(&memory, "Aisle.", "Booked the aisle.").await;

    // The branch has as many changes as the log had: only the lineage tells them apart.
    begun_before.push(Message::user("Which carriage?"));
    let refused = save_async(&memory, LOG, &mut begun_before).await;
    assert!(matches!(refused, Err(SessionError::Changed { .. })), "{refused:?}");
    assert_eq!(texts(&memory).await[2..], ["Aisle.", "Booked the aisle."]);

    let _ = chat.switch_branch("main").await.unwrap();
    assert_eq!(texts(&memory).await[2..], ["Window.", "Booked."]);
}

#[tokio::test]
async fn an_image_becomes_a_blob_that_the_logs_of_a_user_share() {
    let (store, memory) = memory().await;
    let image = json!({
        "role": "user",
        "content": [
            {"type": "image", "data": {"type": "base64", "value": "QUJD"}, "media_type": "png"},
        ],
    });
    let image: Message = serde_json::from_value(image).unwrap();
    for log in ["lisbon", "porto"] {
        let mut conversation = load_async(&memory, log).await.unwrap();
        conversation.push(image.clone());
        save_async(&memory, log, &mut conversation).await.unwrap();
        assert_eq!(*load_async(&memory, log).await.unwrap().messages()[0], image);
    }
    let files = ChatRef::new("ada", context_rig::FILES);
    let blobs = store.blobs().unwrap().blobs(&files, 10, None).await.unwrap().items;
    assert_eq!(blobs.iter().map(|blob| blob.bytes).collect::<Vec<_>>(), [3]);
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_an_error_and_no_gap() {
    let (store, memory) = memory().await;
    say(&memory, "Two tickets to Lisbon.", "Window or aisle?").await;
    let chat = ChatRef::new("ada", LOG);
    let end = ChainEnd::Branch("main".into());
    let chain = store.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    let kind = chain.last().unwrap().kind;
    let body = Encoded::new("message", 99, "of a later version");
    let node = Node::from_encoded("later".into(), kind, Timestamp::default(), body);
    let target = Target::Extend { branch: "main".into(), expected: chain.head().cloned() };
    let commit = Commit::new(chat, target, Timestamp::default());
    let commit = Commit { nodes: vec![Arc::new(node)], ..commit };
    let _ = store.history().commit(commit).await.unwrap();
    let refused = memory.read_log_async(LOG).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData);
}

#[tokio::test]
async fn a_record_that_is_no_message_is_kept_and_shown_to_nobody() {
    let (store, memory) = memory().await;
    let lines = b"{\"seq\":0,\"n\":0,\"t\":5,\"type\":\"retired\"}\nno JSON \xff\n";
    memory.append_log_async(LOG, 0, lines).await.unwrap();
    assert_eq!(memory.read_log_async(LOG).await.unwrap(), lines);
    assert!(engine(&store).await.resolve().await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn a_log_is_rebuilt_from_its_messages() {
    let (store, memory) = memory().await;
    say(&memory, "Two tickets to Lisbon.", "Window or aisle?").await;
    let call = json!([
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "Trains first."},
            {"type": "toolcall", "id": {"provider": "call_1"}, "function": {
                "name": "trains", "arguments": {"to": "Lisbon", "from": "Faro", "price": 1.5},
            }},
        ]},
        {"role": "user", "content": [{
            "type": "toolresult",
            "call": {"provider": "call_1"},
            "name": "trains",
            "content": [{"type": "json", "value": {"b": 1, "a": [10.0]}}],
        }]},
    ]);
    let call: Vec<Message> = serde_json::from_value(call).unwrap();
    let mut conversation = load_async(&memory, LOG).await.unwrap();
    conversation.extend(call);
    save_async(&memory, LOG, &mut conversation).await.unwrap();
    assert_eq!(load_async(&memory, LOG).await.unwrap(), conversation);

    let chat = ChatRef::new("ada", LOG);
    let end = ChainEnd::Branch("main".into());
    let chain = store.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    let body = |node: &Arc<Node>| String::from_utf8_lossy(node.body().bytes()).into_owned();
    let bodies: Vec<_> = chain.iter().map(body).collect();
    assert_eq!(bodies.len(), 5, "a header and four messages: {bodies:?}");
    let as_text = bodies.iter().filter(|body| body.contains(r#""rig_log":{"text""#));
    assert_eq!(as_text.count(), 1, "the header alone is text: {bodies:?}");
    assert_eq!(bodies[1].matches("Two tickets").count(), 1, "no text is stored twice");
}

#[tokio::test]
async fn after_a_compaction_rig_is_given_what_is_left() {
    let (store, memory) = memory().await;
    for turn in ["one", "two", "three"] {
        say(&memory, turn, "An answer.").await;
    }
    let mut begun_before = load_async(&memory, LOG).await.unwrap();

    let mut chat = engine(&store).await;
    let turn = chat.resolve().await.unwrap();
    let messages = turn.request().messages;
    let counter = ModelTable::builtin().model("gpt-4o").counter();
    let view = HistoryView::new(&messages, &counter);
    let edits = vec![Edit::remove(2..4)];
    let plan = Plan::new("by hand", BoundaryKind::Snip, &view, edits, "a turn").unwrap();
    let _ = chat.compact(&turn, &plan.apply(&messages).unwrap(), &[]).await.unwrap();
    let _ = chat.save().await.unwrap();
    assert_eq!(texts(&memory).await, ["one", "An answer.", "three", "An answer."]);

    begun_before.push(Message::user("four"));
    let refused = save_async(&memory, LOG, &mut begun_before).await;
    assert!(matches!(refused, Err(SessionError::Changed { .. })), "{refused:?}");
    say(&memory, "four", "An answer.").await;
    assert_eq!(texts(&memory).await.len(), 6);

    let mut chat = engine(&store).await;
    let _ = chat.undo_compaction().await.unwrap();
    let _ = chat.save().await.unwrap();
    let all = ["one", "An answer.", "two", "An answer.", "three", "An answer."];
    assert_eq!(texts(&memory).await[..6], all);
    assert_eq!(texts(&memory).await.len(), 8);
}
