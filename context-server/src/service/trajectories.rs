//! Recorded rounds.

use axum::Json;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::chats::{After, Answer};
use super::guard::Caller;
use super::input::Asked;
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{RoundPage, TrajectoryFormat};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Form {
    /// The format.
    #[param(inline)]
    format: TrajectoryFormat,
}

/// Lists the recorded rounds of a chat, newest first.
#[utoipa::path(get, path = "/chats/{chat}/rounds", tag = "trajectories", operation_id = "list_rounds",
    params(("chat" = String, Path, description = "The chat"), After), responses(
    (status = OK, body = RoundPage), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn rounds(
    caller: Caller,
    Path(chat): Path<String>,
    Asked(page): Asked<After>,
) -> Answer<RoundPage> {
    Ok(Json(caller.rounds(&chat, page.after.as_deref()).await?))
}

/// Returns everything recorded of a chat, in a format of other tools.
#[utoipa::path(get, path = "/chats/{chat}/trajectory", tag = "trajectories", operation_id = "export_trajectory",
    params(("chat" = String, Path, description = "The chat"), Form), responses(
    (status = OK, description = "The trajectory", body = String, content_type = "text/plain"),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn export(
    caller: Caller,
    Path(chat): Path<String>,
    Asked(Form { format }): Asked<Form>,
) -> Result<Response, OperationError> {
    let written = caller.trajectory(&chat, format).await?;
    Ok(([(header::CONTENT_TYPE, format.media_type())], written).into_response())
}
