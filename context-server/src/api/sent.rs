//! Past requests.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::Answer;
use crate::operations::{SentAnswer, SentDifference, SentQuery};
use crate::{OperationError, Operations};

#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    before: Option<usize>,
    after: Option<usize>,
}

pub(crate) async fn sent(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(query): Query<SentQuery>,
) -> Answer<SentAnswer> {
    Ok(Json(operations.sent(&chat, query).await?))
}

/// The body alone, byte for byte.
pub(crate) async fn body(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(query): Query<SentQuery>,
) -> Result<Response, OperationError> {
    let answer = operations.sent(&chat, query).await?;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    Ok((kind, answer.report.body.as_str().to_owned()).into_response())
}

pub(crate) async fn difference(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(pair): Query<Pair>,
    Query(query): Query<SentQuery>,
) -> Answer<SentDifference> {
    Ok(Json(operations.sent_difference(&chat, query, (pair.before, pair.after)).await?))
}
