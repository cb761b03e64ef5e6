//! An answer that refuses, or has nothing, says what to do.

use std::sync::Arc;

use context_runtime::memory::{
    CapturedMessage, CapturedTurn, Episodic, MemoryProvider, MemoryScope,
};
use context_runtime::store::{MemoryRecord, MemoryWrite};
use context_runtime::{CancelSignal, Message, Role, Timestamp};
use serde_json::json;

use super::{Client, conversations};
use crate::service::Api;

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let api = Api::new().await;
    conversations(&api).await;
    let client = Client { api: &api, user: "ada" };
    let status = "context_status";
    for (tool, arguments, said) in [
        ("search_history", json!({"query": " "}), "query: the query is empty"),
        ("search_history", json!({"query": "x", "chat": "none"}), "list_chats lists"),
        ("search_history", json!({"query": "x", "after": "foreign"}), "begin without `after`"),
        ("recall", json!({"query": ""}), "query: the query is empty"),
        ("list_chats", json!({"after": "foreign"}), "begin without `after`"),
        ("forget", json!({"id": "none"}), "as `recall` printed it"),
        ("forget", json!({"id": "none", "scope": "here"}), "leave `scope` out"),
        ("fork", json!({"chat": "trip", "to": ""}), "to: the new chat needs a name"),
        ("fork", json!({"chat": "trip", "to": "pottery"}), "choose another name"),
        ("fork", json!({"chat": "none", "to": "copy"}), "list_chats lists"),
        ("fork", json!({"chat": "trip", "to": "copy", "message": "x"}), "search_history finds"),
        (status, json!({"chat": "trip", "model": "who"}), "pass `window`"),
        (status, json!({"chat": "none", "model": "gpt-5"}), "list_chats lists"),
        (status, json!({"chat": "trip", "model": "gpt-5", "branch": "x"}), "but main"),
        ("compact", json!({"chat": "trip", "model": "who"}), "pass `window`"),
        ("compact", json!({"chat": "none", "model": "gpt-5"}), "list_chats lists"),
    ] {
        let (answer, failed) = client.call(tool, arguments.clone()).await;
        assert!(failed && answer.contains(said), "{tool} {arguments}: {answer}");
    }
    let known = json!({"chat": "trip", "model": "who", "window": 32_000});
    assert!(client.ok(status, known).await.contains("tokens are used"));
    let nobody = Client { api: &api, user: "bob" };
    let listed = nobody.ok("list_chats", json!({})).await;
    assert!(listed.contains("user bob") && listed.contains("`context import`"), "{listed}");
}

#[tokio::test]
async fn a_memory_is_forgotten_by_its_id_unless_two_have_it() {
    let api = Api::new().await;
    // Two agents have a note of the same name.
    let note = |agent: &str, text: &str| {
        let scope = MemoryScope::new("ada").agent(agent);
        let at = Timestamp::from_micros(1_700_000_000_000_000);
        MemoryWrite::new(MemoryRecord::new(scope, "block:city", "block", at, text), "")
    };
    let notes = [note("planner", "Lisbon"), note("writer", "Porto")];
    let _written = api.store.memories().unwrap().write_memories(&notes).await.unwrap();
    let client = Client { api: &api, user: "ada" };
    let which = json!({"id": "block:city"});
    let other = Client { api: &api, user: "bob" };
    let (none, failed) = other.call("forget", which.clone()).await;
    assert!(failed && none.contains("as `recall` printed it"), "it is not his: {none}");
    let (asked, failed) = client.call("forget", which.clone()).await;
    let said = "scope: several memories have this id; name one of ";
    assert!(failed && asked.starts_with(said), "{asked}");
    let scope = asked.split_whitespace().find(|word| word.contains("planner")).unwrap();
    let forgotten = client.ok("forget", json!({"id": "block:city", "scope": scope})).await;
    assert!(forgotten.starts_with("The memory is removed."), "{forgotten}");
    let forgotten = client.ok("forget", which).await;
    assert!(forgotten.starts_with("The memory is removed."), "the other one: {forgotten}");
}

#[tokio::test]
async fn forgetting_names_the_message_that_still_has_the_text() {
    let api = Api::new().await;
    conversations(&api).await;
    let client = Client { api: &api, user: "ada" };
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let said = |chat: &str, message: &str| {
        let message = CapturedMessage::new(message, Message::text(Role::User, "To Lisbon."));
        let scope = MemoryScope::new("ada").session(chat.to_owned());
        CapturedTurn::new(scope, "t1", at, vec![message])
    };
    let episodes = Episodic::new(Arc::clone(&api.store)).unwrap();
    for (chat, message, still_said) in [("trip", "trip-1", true), ("api", "trip-1", false)] {
        episodes.capture(&said(chat, message), &CancelSignal::never()).await.unwrap();
        let recalled = client.ok("recall", json!({"query": "Lisbon"})).await;
        let (_, id) = recalled.split_once("id \"").unwrap();
        let (id, _) = id.split_once('"').unwrap();
        let forgotten = client.ok("forget", json!({"id": id})).await;
        let told = format!("The message {message} of {chat} still has the text: redact it");
        assert_eq!(forgotten.contains(&told), still_said, "{forgotten}");
        assert_eq!(forgotten.contains("still has"), still_said, "{forgotten}");
    }
}

#[tokio::test]
async fn a_server_that_changes_nothing_offers_tools_that_read() {
    let api = Api::read_only().await;
    let client = Client { api: &api, user: "ada" };
    let listed = client.ask("tools/list", json!({})).await.unwrap();
    let names: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let reading = ["context_status", "list_chats", "read_messages", "recall", "search_history"];
    assert_eq!(names, reading);
    let (refused, failed) = client.call("remember", json!({"text": "x"})).await;
    assert!(failed && refused.contains("--read-only: remember, forget, fork"), "{refused}");
}
