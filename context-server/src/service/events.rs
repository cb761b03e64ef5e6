//! Server-sent events.

use std::convert::Infallible;

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use utoipa::IntoParams;

use super::guard::{Caller, too_many};
use super::input::{Asked, header};
use crate::OperationError;
use crate::api::chat_events;
use crate::error::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfBranch {
    /// The branch whose answer in flight is followed. Default: the active one.
    branch: Option<String>,
}

/// Follows a chat as server-sent events: `state` with its heads whenever it changes, the present
/// state first. Each event replaces the one before. After a lost connection, `Last-Event-ID`
/// leaves the state out that is known already.
#[utoipa::path(get, path = "/chats/{chat}/events", tag = "chats", operation_id = "follow_chat",
    params(("chat" = String, Path, description = "The chat"), OfBranch,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that arrived")),
    responses(
    (status = OK, description = "Events", body = String, content_type = "text/event-stream"),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn chat(
    caller: Caller,
    Path(chat): Path<String>,
    Asked(OfBranch { branch }): Asked<OfBranch>,
    headers: HeaderMap,
) -> Result<Response, OperationError> {
    let seen = header(&headers, "last-event-id")?.map(ToOwned::to_owned);
    let events = chat_events(caller.operations.clone(), chat, branch, seen).await?;
    Ok(answer(&caller, events))
}

/// Returns events as an answer that ends with the service. A user has a bounded number of them.
pub(super) fn answer(
    caller: &Caller,
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let Some(permit) = caller.event_stream() else {
        return too_many("too many event streams are open", std::time::Duration::from_secs(1));
    };
    let events = events.take_until(caller.closing()).map(move |event| {
        // Held as long as the events are.
        let _permit = &permit;
        event
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
