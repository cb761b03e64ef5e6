//! Chats and search.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::guard::Caller;
use super::input::{Asked, Body};
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{Action, ActionDone, ChatChange, ChatOverview, ChatPage, SearchAnswer};

pub(super) type Answer<T> = Result<Json<T>, OperationError>;

/// A page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// The `next` of the page before.
    pub(super) after: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Words {
    /// The words. A message has to have all of them; the last may be the beginning of a word.
    q: String,
    /// Only this chat.
    chat: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
}

/// Lists the chats of the user, newest activity first.
#[utoipa::path(get, path = "/chats", tag = "chats", operation_id = "list_chats", params(After), responses(
    (status = OK, body = ChatPage), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn list(caller: Caller, Asked(page): Asked<After>) -> Answer<ChatPage> {
    Ok(Json(caller.chats(page.after.as_deref()).await?))
}

/// Returns a chat with its branches and checkpoints.
#[utoipa::path(get, path = "/chats/{chat}", tag = "chats", operation_id = "get_chat",
    params(("chat" = String, Path, description = "The chat")), responses(
    (status = OK, body = ChatOverview), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn get(caller: Caller, Path(chat): Path<String>) -> Answer<ChatOverview> {
    Ok(Json(caller.chat_with_branches(&chat).await?))
}

/// Creates a chat unless it exists, and changes its title and metadata.
#[utoipa::path(put, path = "/chats/{chat}", tag = "chats", operation_id = "put_chat",
    params(("chat" = String, Path, description = "The chat")), request_body = ChatChange, responses(
    (status = OK, body = ChatOverview), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn put(
    caller: Caller,
    Path(chat): Path<String>,
    Body(change): Body<ChatChange>,
) -> Answer<ChatOverview> {
    Ok(Json(caller.put_chat(&chat, change).await?))
}

/// Deletes a chat with everything in it. A chat that does not exist is deleted already.
#[utoipa::path(delete, path = "/chats/{chat}", tag = "chats", operation_id = "delete_chat",
    params(("chat" = String, Path, description = "The chat")), responses(
    (status = NO_CONTENT), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn delete(
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<StatusCode, OperationError> {
    let _existed = caller.delete_chat(&chat).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes a chat: rewinds, forks, switches, names, edits, cuts or removes.
#[utoipa::path(post, path = "/chats/{chat}/actions", tag = "chats", operation_id = "act",
    params(("chat" = String, Path, description = "The chat")), request_body = Action, responses(
    (status = OK, body = ActionDone), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn act(
    caller: Caller,
    Path(chat): Path<String>,
    Body(action): Body<Action>,
) -> Answer<ActionDone> {
    Ok(Json(caller.act(&chat, action).await?))
}

/// Searches messages for words, in one chat or in all, best first.
#[utoipa::path(get, path = "/search", tag = "chats", operation_id = "search", params(Words), responses(
    (status = OK, body = SearchAnswer), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn search(caller: Caller, Asked(words): Asked<Words>) -> Answer<SearchAnswer> {
    let (chat, after) = (words.chat.as_deref(), words.after.as_deref());
    Ok(Json(caller.search(&words.q, chat, after).await?))
}
