//! Answers in flight.

use std::convert::Infallible;

use axum::Json;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use context_runtime::streams::{AnswerReader, StreamError};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::chats::Answer;
use super::events::answer;
use super::guard::Caller;
use super::input::{Asked, Body, header};
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{StreamProgress, WriteStream};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// The number of chunks to leave out. Default: none.
    #[serde(default)]
    offset: u64,
}

/// A chunk in an event.
#[derive(Serialize)]
struct ChunkEvent<'a> {
    offset: u64,
    chunk: std::borrow::Cow<'a, str>,
}

/// Returns the state of a stream.
#[utoipa::path(get, path = "/chats/{chat}/streams/{stream}", tag = "streams", operation_id = "get_stream",
    params(("chat" = String, Path, description = "The chat"), ("stream" = String, Path, description = "The stream")),
    responses(
    (status = OK, body = StreamProgress), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn get(
    caller: Caller,
    Path((chat, stream)): Path<(String, String)>,
) -> Answer<StreamProgress> {
    Ok(Json(caller.stream(&chat, &stream).await?))
}

/// Appends chunks to a stream, which is created if it does not exist, and may end it.
#[utoipa::path(post, path = "/chats/{chat}/streams/{stream}", tag = "streams", operation_id = "write_stream",
    params(("chat" = String, Path, description = "The chat"), ("stream" = String, Path, description = "The stream")),
    request_body = WriteStream, responses(
    (status = OK, body = StreamProgress), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn write(
    caller: Caller,
    Path((chat, stream)): Path<(String, String)>,
    Body(write): Body<WriteStream>,
) -> Answer<StreamProgress> {
    Ok(Json(caller.write_stream(&chat, &stream, write).await?))
}

/// Asks the writer of a stream to end it.
#[utoipa::path(post, path = "/chats/{chat}/streams/{stream}/cancel", tag = "streams", operation_id = "cancel_stream",
    params(("chat" = String, Path, description = "The chat"), ("stream" = String, Path, description = "The stream")),
    responses(
    (status = OK, body = StreamProgress), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn cancel(
    caller: Caller,
    Path((chat, stream)): Path<(String, String)>,
) -> Answer<StreamProgress> {
    Ok(Json(caller.cancel_stream(&chat, &stream).await?))
}

/// Follows a stream as server-sent events: `chunk` for each chunk, whose id is its offset, and
/// `end` with the state. A connection that was lost goes on with `Last-Event-ID`.
#[utoipa::path(get, path = "/chats/{chat}/streams/{stream}/events", tag = "streams", operation_id = "follow_stream",
    params(("chat" = String, Path, description = "The chat"), ("stream" = String, Path, description = "The stream"), From,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that arrived")),
    responses(
    (status = OK, description = "Events", body = String, content_type = "text/event-stream"),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn follow(
    caller: Caller,
    Path((chat, stream)): Path<(String, String)>,
    Asked(from): Asked<From>,
    headers: HeaderMap,
) -> Result<Response, OperationError> {
    let offset = match header(&headers, "last-event-id")? {
        None => from.offset,
        Some(seen) => {
            let seen: u64 = seen.parse().map_err(|_| {
                OperationError::invalid("last-event-id", "the offset of a chunk is expected")
            })?;
            seen.saturating_add(1)
        }
    };
    let reader = caller.follow_stream(&chat, &stream, offset).await?;
    let events = stream::unfold(Some(reader), async |reader| {
        let mut reader: AnswerReader = reader?;
        let (event, reader) = match reader.next().await {
            Ok(Some(chunk)) => {
                let text = String::from_utf8_lossy(&chunk.bytes);
                let event = Event::default().event("chunk").id(chunk.offset.to_string());
                (event.json_data(ChunkEvent { offset: chunk.offset, chunk: text }), Some(reader))
            }
            Ok(None) | Err(StreamError::Failed { .. }) => {
                let end = reader.stream().map(StreamProgress::from);
                (Event::default().event("end").json_data(end), None)
            }
            Err(error) => {
                let problem = OperationError::Store(error.into()).problem();
                (Event::default().event("error").json_data(problem), None)
            }
        };
        // Both are plain data, which has a JSON form.
        Some((Ok::<_, Infallible>(event.unwrap_or_default()), reader))
    });
    Ok(answer(&caller, events).into_response())
}
