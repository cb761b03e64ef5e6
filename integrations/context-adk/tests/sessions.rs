//! Sessions of adk-rust that are chats of the context layer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::Arc;

use adk_core::{
    Content, EmbeddedResource, ErrorCategory, FunctionResponseData, Part, TextResourceContents,
};
use adk_session::{CreateRequest, Event, GetRequest, ListRequest, Session, SessionService};
use context_adk::AdkSessions;
use context_runtime::store::SearchQuery;
use context_runtime::{ContextEngine, Role, Store, assistant, user};
use serde_json::{Value, json};

async fn sessions() -> (Arc<dyn Store>, AdkSessions) {
    let store = context_runtime::open("mem:").await.unwrap();
    (store.clone(), AdkSessions::new(store))
}

async fn create(sessions: &AdkSessions, app: &str, user: &str, session: &str, state: Value) {
    let new = CreateRequest {
        app_name: app.into(),
        user_id: user.into(),
        session_id: Some(session.into()),
        state: serde_json::from_value(state).unwrap(),
    };
    sessions.create(new).await.unwrap();
}

async fn get(sessions: &AdkSessions, app: &str, user: &str, session: &str) -> Box<dyn Session> {
    let wanted = GetRequest {
        app_name: app.into(),
        user_id: user.into(),
        session_id: session.into(),
        num_recent_events: None,
        after: None,
    };
    sessions.get(wanted).await.unwrap()
}

fn event(role: &str, parts: Vec<Part>) -> Event {
    let mut event = Event::new("inv-1");
    event.author = if role == "user" { "user" } else { "agent" }.to_owned();
    event.llm_response.content = Some(Content { role: role.to_owned(), parts });
    event
}

fn text(text: &str) -> Vec<Part> {
    vec![Part::Text { text: text.to_owned() }]
}

#[tokio::test]
async fn an_event_comes_back_as_it_was() {
    let (store, sessions) = sessions().await;
    create(&sessions, "trips", "ada", "lisbon", json!({})).await;
    let call = Part::FunctionCall {
        name: "trains".into(),
        args: json!({"to": "Lisbon", "price": 1.5}),
        id: Some("call_1".into()),
        thought_signature: Some("c2ln".into()),
    };
    let unnamed = Part::FunctionCall {
        name: "trains".into(),
        args: Value::Null,
        id: None,
        thought_signature: None,
    };
    let answer = |response: Value, id: Option<&str>| Part::FunctionResponse {
        function_response: FunctionResponseData::new("trains", response),
        id: id.map(str::to_owned),
        annotations: None,
    };
    let image = |uri: Option<&str>| Part::InlineData {
        mime_type: "image/png".into(),
        data: vec![0, 255, 7],
        uri: uri.map(str::to_owned),
        annotations: None,
    };
    let file = Part::FileData {
        mime_type: "video/mp4".into(),
        file_uri: "https://example.org/a.mp4".into(),
        annotations: Some(json!({"audience": ["user"]})),
    };
    let thought = Part::Thinking { thinking: "West.".into(), signature: Some("c2ln".into()) };
    let resource = EmbeddedResource::Text(TextResourceContents::new("file:///a", None, "a"));
    let mut written = vec![
        event(
            "user",
            [text("Two tickets."), vec![image(None), image(Some("a.png")), file]].concat(),
        ),
        event("model", vec![thought, call, unnamed]),
        event(
            "function",
            vec![answer(json!({"trains": [10]}), Some("call_1")), answer(json!("none"), None)],
        ),
        event(
            "model",
            vec![
                Part::ServerToolCall { server_tool_call: json!({"q": 1}) },
                Part::EmbeddedResource { resource },
            ],
        ),
        Event::new("inv-2"),
    ];
    written[1].llm_response.turn_complete = true;
    written[4].actions.state_delta.insert("done".into(), json!(null));
    for event in &written {
        sessions.append_event("lisbon", event.clone()).await.unwrap();
    }
    let read = get(&sessions, "trips", "ada", "lisbon").await;
    let json = |events: &[Event]| serde_json::to_value(events).unwrap();
    assert_eq!(json(&read.events().all()), json(&written));

    let builder = ContextEngine::builder(store).user("ada").chat("trips/lisbon");
    let roles: Vec<_> = builder
        .open()
        .await
        .unwrap()
        .resolve()
        .await
        .unwrap()
        .messages
        .iter()
        .map(|n| n.role())
        .collect();
    let expected = [Role::User, Role::Assistant, Role::Tool, Role::Assistant].map(Some);
    assert_eq!(roles, expected, "the event without content is shown to no model");
}

#[tokio::test]
async fn a_rewind_takes_the_state_back_and_keeps_what_it_leaves() {
    let (store, sessions) = sessions().await;
    create(&sessions, "trips", "ada", "lisbon", json!({"seat": "any", "app:currency": "EUR"}))
        .await;
    let mut ids = Vec::new();
    for seat in ["window", "aisle"] {
        let mut event = event("model", text(seat));
        event.actions.state_delta.insert("seat".into(), json!(seat));
        ids.push(event.id.clone());
        sessions.append_event("lisbon", event).await.unwrap();
    }
    let now = sessions.rewind("lisbon", &ids[0]).await.unwrap();
    assert_eq!((now.events().len(), now.state().get("seat")), (1, Some(json!("window"))));
    let now = sessions.rewind_steps("lisbon", 1).await.unwrap();
    assert_eq!((now.events().len(), now.state().get("seat")), (0, Some(json!("any"))));
    assert_eq!(now.state().get("app:currency"), Some(json!("EUR")));
    assert!(sessions.rewind_steps("lisbon", 1).await.is_err());
    assert!(sessions.rewind("lisbon", &ids[1]).await.is_err(), "it is on another branch");

    let builder = ContextEngine::builder(store).user("ada").chat("trips/lisbon");
    let _ = builder.open().await.unwrap().switch_branch("main").await.unwrap();
    let all = get(&sessions, "trips", "ada", "lisbon").await;
    assert_eq!((all.events().len(), all.state().get("seat")), (2, Some(json!("aisle"))));
}

#[tokio::test]
async fn messages_of_the_context_layer_are_events_and_events_can_be_found() {
    let (store, sessions) = sessions().await;
    create(&sessions, "trips", "ada", "lisbon", json!({})).await;
    let builder = ContextEngine::builder(store.clone()).user("ada").chat("trips/lisbon");
    let mut chat = builder.open().await.unwrap();
    chat.set([user("Two tickets to Lisbon."), assistant("Window or aisle?")]);
    let _ = chat.save().await.unwrap();
    sessions.append_event("lisbon", event("user", text("Window."))).await.unwrap();

    let read = get(&sessions, "trips", "ada", "lisbon").await;
    let authors: Vec<_> = read.events().all().into_iter().map(|event| event.author).collect();
    assert_eq!(authors, ["user", "model", "user"]);
    let hits = store.search().unwrap().search(&SearchQuery::new("ada", "window")).await.unwrap();
    assert_eq!(hits.items.len(), 2);
}

#[tokio::test]
async fn an_append_that_is_repeated_is_stored_once() {
    let (_, sessions) = sessions().await;
    create(&sessions, "trips", "ada", "lisbon", json!({})).await;
    let piece = event("model", text("Booked"));
    let mut next = piece.clone();
    next.llm_response.content = Some(Content { role: "model".into(), parts: text(" it.") });
    for event in [&piece, &piece, &next] {
        sessions.append_event("lisbon", event.clone()).await.unwrap();
    }
    assert_eq!(get(&sessions, "trips", "ada", "lisbon").await.events().len(), 2);
}

#[tokio::test]
async fn apps_users_and_sessions_are_kept_apart_whatever_their_names() {
    let (_, sessions) = sessions().await;
    let owners = [("a/b", "c", "d"), ("a", "c", "b/d"), ("a:b", "c:d", "e"), ("a", "b:c:d", "e")];
    for (number, (app, user, session)) in owners.into_iter().enumerate() {
        create(&sessions, app, user, session, json!({"own": number, "user:own": number})).await;
    }
    for (number, (app, user, session)) in owners.into_iter().enumerate() {
        let read = get(&sessions, app, user, session).await;
        assert_eq!(read.state().get("own"), Some(json!(number)), "{app} {user} {session}");
        assert_eq!(read.state().get("user:own"), Some(json!(number)), "{app} {user}");
        let all =
            ListRequest { app_name: app.into(), user_id: user.into(), limit: None, offset: None };
        assert_eq!(sessions.list(all).await.unwrap().len(), 1, "{app} {user}");
    }
    let ambiguous = sessions.append_event("e", Event::new("inv-1")).await.unwrap_err();
    assert_eq!(
        (ambiguous.category, ambiguous.code),
        (ErrorCategory::InvalidInput, "session.ambiguous")
    );
    sessions.delete_all_sessions("a:b", "c:d").await.unwrap();
    sessions.append_event("e", Event::new("inv-1")).await.unwrap();
    let again = CreateRequest {
        app_name: "a".into(),
        user_id: "b:c:d".into(),
        session_id: Some("e".into()),
        state: HashMap::new(),
    };
    assert_eq!(sessions.create(again).await.err().unwrap().code, "session.exists");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_appended_at_once_are_all_stored() {
    const EACH: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("adk.db").display());
    let mut writers = Vec::new();
    for writer in 0..2 {
        let sessions = AdkSessions::new(context_runtime::open(&url).await.unwrap());
        if writer == 0 {
            create(&sessions, "trips", "ada", "lisbon", json!({})).await;
        }
        writers.push(sessions);
    }
    let mut appends = Vec::new();
    for number in 0..EACH {
        for (writer, sessions) in writers.iter().cloned().enumerate() {
            appends.push(tokio::spawn(async move {
                let mut event = event("user", text("Hello."));
                event.actions.state_delta.insert(format!("{writer}-{number}"), json!(true));
                sessions.append_event("lisbon", event).await
            }));
        }
    }
    for append in appends {
        append.await.unwrap().unwrap();
    }
    let read = get(&writers[0], "trips", "ada", "lisbon").await;
    assert_eq!((read.events().len(), read.state().all().len()), (2 * EACH, 2 * EACH));
}
