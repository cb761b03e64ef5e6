//! Turns, step by step.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;

use super::chats::Answer;
use super::guard::Caller;
use super::input::Body;
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{
    BeginTurn, ContinueTurn, PrepareRequest, PreparedRequest, TurnSettings, TurnStep,
};

/// Begins a turn: stores the question, and returns the request for the model.
#[utoipa::path(post, path = "/chats/{chat}/turns", tag = "turns", operation_id = "begin_turn",
    params(("chat" = String, Path, description = "The chat, which is created if it does not exist")),
    request_body = BeginTurn, responses(
    (status = OK, body = TurnStep), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn begin(
    caller: Caller,
    Path(chat): Path<String>,
    Body(begin): Body<BeginTurn>,
) -> Answer<TurnStep> {
    Ok(Json(caller.begin_turn(&chat, begin).await?))
}

/// Prepares the request that a chat would send next, and counts what fills its window. Stores
/// nothing.
#[utoipa::path(post, path = "/chats/{chat}/prepare", tag = "turns", operation_id = "prepare",
    params(("chat" = String, Path, description = "The chat")),
    request_body = PrepareRequest, responses(
    (status = OK, body = PreparedRequest), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn prepare(
    caller: Caller,
    Path(chat): Path<String>,
    Body(request): Body<PrepareRequest>,
) -> Answer<PreparedRequest> {
    Ok(Json(caller.prepare(&chat, request).await?))
}

/// Makes the next step of the newest turn of a chat, with the replies of the model or the results
/// of tools. Both are stored when this is answered. A step may be repeated.
#[utoipa::path(post, path = "/chats/{chat}/turns/{turn}", tag = "turns", operation_id = "continue_turn",
    params(("chat" = String, Path, description = "The chat"), ("turn" = String, Path, description = "The turn")),
    request_body = ContinueTurn, responses(
    (status = OK, body = TurnStep), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn step(
    caller: Caller,
    Path((chat, turn)): Path<(String, String)>,
    Body(step): Body<ContinueTurn>,
) -> Answer<TurnStep> {
    Ok(Json(caller.continue_turn(&chat, &turn, step).await?))
}

/// Cancels the newest turn of a chat. The results of calls that were not run say so.
#[utoipa::path(delete, path = "/chats/{chat}/turns/{turn}", tag = "turns", operation_id = "cancel_turn",
    params(("chat" = String, Path, description = "The chat"), ("turn" = String, Path, description = "The turn")),
    request_body = TurnSettings, responses(
    (status = NO_CONTENT), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn cancel(
    caller: Caller,
    Path((chat, turn)): Path<(String, String)>,
    Body(settings): Body<TurnSettings>,
) -> Result<StatusCode, OperationError> {
    caller.cancel_turn(&chat, &turn, &settings).await?;
    Ok(StatusCode::NO_CONTENT)
}
