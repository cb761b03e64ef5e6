//! Memories and prompts as JSON.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use super::Answer;
use crate::Operations;
use crate::operations::{ForgetMemory, MemoryForgotten, MemoryPage, MemoryRecall, PromptView};

/// A question to the memories.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Remembered {
    #[serde(default)]
    pub(crate) q: String,
    pub(crate) scope: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) tokens: Option<u64>,
}

/// The branch of a prompt, and the model whose tokens are counted.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct OfPrompt {
    pub(crate) branch: Option<String>,
    pub(crate) model: Option<String>,
}

pub(crate) async fn remembered(
    State(operations): State<Operations>,
    Query(asked): Query<Remembered>,
) -> Answer<MemoryPage> {
    Ok(Json(operations.remembered(asked.scope.as_deref(), asked.after.as_deref()).await?))
}

pub(crate) async fn recall(
    State(operations): State<Operations>,
    Query(asked): Query<Remembered>,
) -> Answer<MemoryRecall> {
    Ok(Json(operations.would_recall(&asked.q, asked.scope.as_deref(), asked.tokens).await?))
}

pub(crate) async fn forget(
    State(operations): State<Operations>,
    Json(forget): Json<ForgetMemory>,
) -> Answer<MemoryForgotten> {
    Ok(Json(operations.forget(forget).await?))
}

pub(crate) async fn prompt(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(asked): Query<OfPrompt>,
) -> Answer<PromptView> {
    let (branch, model) = (asked.branch.as_deref(), asked.model.as_deref());
    Ok(Json(operations.prompt(&chat, branch, model).await?))
}
