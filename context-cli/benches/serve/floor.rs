//! The floor: the same two paths by axum and the bare driver, and nothing else.
//!
//! No validation, no limits, no tokens, no metrics, no branches, no checksums: a row for each
//! message, unique by its id, a row for the head of each chat, and an index of the texts. The
//! connections, their number and settings are those of our stores. So are the statements in number:
//! each request first reads the row of its chat, and an append is then one transaction.

mod pool;
mod postgres;
mod sqlite;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

/// The argument with which this program is a server.
pub(crate) const ARGUMENT: &str = "floor";
/// The messages of a page.
const PAGE: i64 = 20;

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

/// A row of a new message.
struct Row {
    id: String,
    body: String,
    text: String,
}

/// The driver failed, for instance because the file was busy.
struct Failed;

enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

/// Serves until the process is killed. The arguments are those of [`Servers::floor`]: the store,
/// its file or URL, and the schema.
///
/// [`Servers::floor`]: crate::servers::Servers::floor
pub(crate) async fn serve(mut arguments: impl Iterator<Item = String>) {
    let mut next = || arguments.next().unwrap();
    let (store, place, schema) = (next(), next(), next());
    let database = match store.as_str() {
        "postgres" => Database::Postgres(postgres::Database::open(&place, &schema).await),
        _ => Database::Sqlite(sqlite::Database::open(&place)),
    };
    let router = Router::new()
        .route("/v1/chats/{chat}/messages", get(page).post(append))
        .with_state(Arc::new(database));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", json!({"port": listener.local_addr().unwrap().port()}));
    axum::serve(listener, router).await.unwrap();
}

async fn append(
    State(database): State<Arc<Database>>,
    Path(chat): Path<String>,
    headers: HeaderMap,
    Json(append): Json<Append>,
) -> Result<Json<Appended>, StatusCode> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.ok_or(StatusCode::BAD_REQUEST)?;
    let rows = append.messages.into_iter().enumerate().map(|(at, NewMessage { role, text })| {
        let body = json!({"role": role, "parts": [{"type": "text", "text": text}]}).to_string();
        Row { id: format!("{key}-{}", at + 1), body, text }
    });
    let rows: Vec<_> = rows.collect();
    let ids: Vec<_> = rows.iter().map(|row| row.id.clone()).collect();
    let head = ids.last().cloned().ok_or(StatusCode::BAD_REQUEST)?;
    let appended = match &*database {
        Database::Sqlite(database) => database.append(chat, rows).await,
        Database::Postgres(database) => database.append(chat, rows).await,
    };
    let is_new = appended.map_err(|Failed| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(Json(Appended { branch: "main", head, ids, replayed: !is_new }))
}

async fn page(
    State(database): State<Arc<Database>>,
    Path(chat): Path<String>,
) -> Result<Json<Page>, StatusCode> {
    let newest = match &*database {
        Database::Sqlite(database) => database.newest(chat).await,
        Database::Postgres(database) => database.newest(chat).await,
    };
    let newest = newest.map_err(|Failed| StatusCode::SERVICE_UNAVAILABLE)?;
    let newest = newest.ok_or(StatusCode::NOT_FOUND)?;
    let head = newest.first().map(|(id, _)| id.clone());
    let stored = |(id, body)| Stored { id, body: RawValue::from_string(body).unwrap() };
    Ok(Json(Page {
        branch: "main",
        head,
        messages: newest.into_iter().rev().map(stored).collect(),
    }))
}
