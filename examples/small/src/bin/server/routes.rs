//! The routes of the server, and the history of a chat as JSON.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use context_runtime::{Agents, ContextEngine, Error};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::reply::Failure;
use crate::turns::ask;

pub const USER: &str = "ada"; // a real server knows its users by their login

#[derive(Clone)]
pub struct Server {
    pub agents: Agents,
    pub turns: TaskTracker, // those that run
}

pub fn routes(server: Server) -> Router {
    let router = Router::new().route("/chats/{chat}", get(history));
    router.route("/chats/{chat}/turns", post(ask)).with_state(server)
}

async fn history(server: State<Server>, chat: Path<String>) -> Result<Json<Vec<Value>>, Failure> {
    let engine = ContextEngine::builder(server.agents.store().clone()).existing();
    let mut engine = engine.user(USER).chat(&**chat).open().await?;
    let messages = engine.resolve().await?.messages;
    let shown = messages.iter().map(|node| {
        let message = node.message()?;
        Ok(json!({"id": node.id, "role": message.role, "text": message.plain_text()}))
    });
    Ok(Json(shown.collect::<Result<_, Error>>()?))
}
