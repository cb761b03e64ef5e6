//! The store itself, and the data of a user as a whole.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::chats::Answer;
use super::guard::{Caller, Guard};
use super::input::refusal;
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{StoreCheck, UserErased};

/// Erases everything of the user who asks: chats, rounds, memories. This cannot be undone.
#[utoipa::path(delete, path = "/user", tag = "upkeep", operation_id = "erase_user", responses(
    (status = OK, body = UserErased), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn erase(caller: Caller) -> Answer<UserErased> {
    Ok(Json(caller.operations.erase().await?))
}

/// Checks every invariant of the store, for all users. Needs the token of an administrator.
#[utoipa::path(post, path = "/upkeep/check", tag = "upkeep", operation_id = "check_store", responses(
    (status = OK, body = StoreCheck), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn check(caller: Caller) -> Result<Response, OperationError> {
    if !caller.is_admin {
        return Ok(not_admin());
    }
    Ok(Json(caller.check_store().await?).into_response())
}

/// Clears what deleted content left in the store's files. Needs the token of an administrator.
#[utoipa::path(post, path = "/upkeep/vacuum", tag = "upkeep", operation_id = "vacuum_store", responses(
    (status = NO_CONTENT), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn vacuum(caller: Caller) -> Result<Response, OperationError> {
    if !caller.is_admin {
        return Ok(not_admin());
    }
    caller.operations.vacuum().await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Returns metrics of the requests in the text form of Prometheus. Needs the token of an
/// administrator.
#[utoipa::path(get, path = "/metrics", tag = "upkeep", operation_id = "metrics", responses(
    (status = OK, body = String, content_type = "application/openmetrics-text"),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn metrics(caller: Caller, State(guard): State<Guard>) -> Response {
    if !caller.is_admin {
        return not_admin();
    }
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match guard.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, KIND)], text).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn not_admin() -> Response {
    let text = "this needs the token of an administrator";
    refusal(StatusCode::FORBIDDEN, text.to_owned())
}
