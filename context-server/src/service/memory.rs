//! Memories.

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::chats::Answer;
use super::guard::Caller;
use super::input::{Asked, Body};
use crate::error::Problem;
use crate::operations::{
    ForgetMemory, MemoryForgotten, MemoryPage, MemoryRecall, MemoryRemembered, RememberText,
};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// The key of a scope, from an earlier answer. Default: all.
    scope: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecallQuery {
    /// The request for which memories are recalled.
    q: String,
    /// The key of a scope, from an earlier answer. Default: that of the user.
    scope: Option<String>,
    /// The most tokens. Default: 2,000.
    tokens: Option<u64>,
}

/// Lists what is remembered, newest first.
#[utoipa::path(get, path = "/memory", tag = "memory", operation_id = "list_memories", params(ListQuery), responses(
    (status = OK, body = MemoryPage), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn list(caller: Caller, Asked(query): Asked<ListQuery>) -> Answer<MemoryPage> {
    Ok(Json(caller.remembered(query.scope.as_deref(), query.after.as_deref()).await?))
}

/// Remembers a text, word for word.
#[utoipa::path(post, path = "/memory", tag = "memory", operation_id = "remember", request_body = RememberText, responses(
    (status = OK, body = MemoryRemembered), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn remember(
    caller: Caller,
    Body(text): Body<RememberText>,
) -> Answer<MemoryRemembered> {
    Ok(Json(caller.remember(text).await?))
}

/// Returns the memories that a turn with this request would get, best first.
#[utoipa::path(get, path = "/memory/recall", tag = "memory", operation_id = "recall", params(RecallQuery), responses(
    (status = OK, body = MemoryRecall), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn recall(
    caller: Caller,
    Asked(query): Asked<RecallQuery>,
) -> Answer<MemoryRecall> {
    Ok(Json(caller.would_recall(&query.q, query.scope.as_deref(), query.tokens).await?))
}

/// Forgets a memory, and says where copies remain.
#[utoipa::path(post, path = "/memory/forget", tag = "memory", operation_id = "forget", request_body = ForgetMemory, responses(
    (status = OK, body = MemoryForgotten), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn forget(
    caller: Caller,
    Body(memory): Body<ForgetMemory>,
) -> Answer<MemoryForgotten> {
    Ok(Json(caller.forget(memory).await?))
}
