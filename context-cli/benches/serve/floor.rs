//! The floor: the same two paths by bare axum, with the same statements of the database.
//!
//! The statements are those of our stores, called as directly as they can be: what the stores
//! themselves cost beside the bare drivers, `bench stores` measures. There is nothing else: no
//! users, tokens, limits, time limits, metrics, description, conditions, repetitions with other
//! content, waits for another process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use context_runtime::store::{ChainEnd, Commit, CommitOutcome, NewChat, Node, Target, Window};
use context_runtime::{BranchName, ChatRef, Clock, Message, MessageId, Role, Store, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

/// The argument with which this program is a server.
pub(crate) const ARGUMENT: &str = "floor";
/// The messages of a page.
const PAGE: usize = 20;

/// The head of a chat, as far as this process knows it, locked by the append that runs.
type Head = Arc<tokio::sync::Mutex<Option<MessageId>>>;

struct Database {
    store: Arc<dyn Store>,
    heads: Mutex<HashMap<String, Head>>,
}

#[derive(Deserialize)]
struct Append {
    messages: Vec<NewMessage>,
}

#[derive(Deserialize)]
struct NewMessage {
    role: String,
    text: String,
}

#[derive(Serialize)]
struct Appended {
    branch: &'static str,
    head: String,
    ids: Vec<String>,
    replayed: bool,
}

#[derive(Serialize)]
struct Stored {
    id: String,
    body: Box<RawValue>,
}

#[derive(Serialize)]
struct Page {
    branch: &'static str,
    head: Option<String>,
    messages: Vec<Stored>,
}

/// Serves the store at a URL until the process is killed.
pub(crate) async fn serve(url: &str) {
    let store = context_runtime::open(url).await.unwrap();
    let router = Router::new()
        .route("/v1/chats/{chat}/messages", get(page).post(append))
        .with_state(Arc::new(Database { store, heads: Mutex::default() }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", json!({"port": listener.local_addr().unwrap().port()}));
    axum::serve(listener, router).await.unwrap();
}

async fn append(
    State(database): State<Arc<Database>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(append): Json<Append>,
) -> Result<Json<Appended>, StatusCode> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.ok_or(StatusCode::BAD_REQUEST)?;
    let now = SystemClock.now();
    let nodes = append.messages.into_iter().enumerate().map(|(at, NewMessage { role, text })| {
        let role = if role == "user" { Role::User } else { Role::Assistant };
        let id = MessageId::from(format!("{key}-{}", at + 1));
        Arc::new(Node::new(id, Message::text(role, text), now))
    });
    let nodes: Vec<_> = nodes.collect();
    let ids: Vec<_> = nodes.iter().map(|node| node.id.to_string()).collect();
    let newest = nodes.last().map(|node| node.id.clone()).ok_or(StatusCode::BAD_REQUEST)?;
    let chat = ChatRef::new("ada", name.as_str());
    let history = database.store.history();
    let found = history.chat(&chat).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    if found.is_none() {
        let new = NewChat::new(chat.clone(), now);
        let created = history.create_chat(new).await;
        let _created = created.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    }
    let head = Arc::clone(database.heads.lock().unwrap().entry(name).or_default());
    let mut head = head.lock().await;
    loop {
        let target = Target::Extend { branch: BranchName::main(), expected: head.clone() };
        let commit = Commit { nodes: nodes.clone(), ..Commit::new(chat.clone(), target, now) };
        let replayed = match history.commit(commit).await {
            Ok(CommitOutcome::Applied(_)) => false,
            Ok(CommitOutcome::Replayed(_) | CommitOutcome::Exists { .. }) => true,
            // The other process has moved the head.
            Ok(CommitOutcome::Conflict { actual }) => {
                *head = actual;
                continue;
            }
            _ => return Err(StatusCode::SERVICE_UNAVAILABLE),
        };
        if !replayed {
            *head = Some(newest.clone());
        }
        return Ok(Json(Appended { branch: "main", head: newest.to_string(), ids, replayed }));
    }
}

async fn page(
    State(database): State<Arc<Database>>,
    Path(name): Path<String>,
) -> Result<Json<Page>, StatusCode> {
    let chat = ChatRef::new("ada", name.as_str());
    let history = database.store.history();
    let found = history.chat(&chat).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let branch = found.ok_or(StatusCode::NOT_FOUND)?.active;
    let newest = history.chain(&chat, &ChainEnd::Branch(branch), &Window::Last(PAGE)).await;
    let newest = newest.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let stored = (0..newest.len()).filter_map(|at| newest.get(at)).map(|node| Stored {
        id: node.id.to_string(),
        body: serde_json::from_slice(node.body().bytes()).unwrap(),
    });
    let messages: Vec<_> = stored.collect();
    let head = messages.last().map(|message| message.id.clone());
    Ok(Json(Page { branch: "main", head, messages }))
}
