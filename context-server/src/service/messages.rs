//! Messages.

use axum::Json;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header::ETAG};
use axum::response::{IntoResponse, Response};
use context_runtime::MessageId;

use super::chats::Answer;
use super::guard::Caller;
use super::input::{Asked, Body, header};
use crate::OperationError;
use crate::error::Problem;
use crate::operations::{
    AppendConditions, AppendMessages, AppendedMessages, MessagePage, MessageQuery, StoredMessage,
};

/// The header value of a branch without messages.
const EMPTY: &str = "\"\"";

/// Returns consecutive messages of a branch: the newest, or those next to a message. The `ETag`
/// names the newest message of the page, for `If-Match` of an append.
#[utoipa::path(get, path = "/chats/{chat}/messages", tag = "messages", operation_id = "list_messages",
    params(("chat" = String, Path, description = "The chat"), MessageQuery), responses(
    (status = OK, body = MessagePage, headers(("ETag" = String, description = "The newest message of the page"))),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn page(
    caller: Caller,
    Path(chat): Path<String>,
    Asked(query): Asked<MessageQuery>,
) -> Result<Response, OperationError> {
    let page = caller.messages(&chat, &query).await?;
    let tag = tag(page.head.as_deref());
    Ok(with_tag(Json(page), tag))
}

/// Returns one message, on any branch.
#[utoipa::path(get, path = "/chats/{chat}/messages/{message}", tag = "messages", operation_id = "get_message",
    params(("chat" = String, Path, description = "The chat"), ("message" = String, Path, description = "The message")),
    responses(
    (status = OK, body = StoredMessage), (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn get(
    caller: Caller,
    Path((chat, message)): Path<(String, String)>,
) -> Answer<StoredMessage> {
    Ok(Json(caller.message(&chat, &message).await?))
}

/// Appends messages to a branch, in one commit. A chat that does not exist is created.
#[utoipa::path(post, path = "/chats/{chat}/messages", tag = "messages", operation_id = "append_messages",
    params(("chat" = String, Path, description = "The chat"),
        ("Idempotency-Key" = Option<String>, Header, description = "A key under which the append happens once"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that the branch must have: its newest message in quotes, `\"\"` for an empty branch")),
    request_body = AppendMessages, responses(
    (status = OK, body = AppendedMessages, headers(("ETag" = String, description = "The newest of the messages"))),
    (status = CONFLICT, description = "The branch has another newest message", body = Problem, content_type = "application/problem+json"),
    (status = "default", body = Problem, content_type = "application/problem+json")
))]
pub(super) async fn append(
    caller: Caller,
    Path(chat): Path<String>,
    headers: HeaderMap,
    Body(append): Body<AppendMessages>,
) -> Result<Response, OperationError> {
    let key = header(&headers, "idempotency-key")?.map(ToOwned::to_owned);
    let expected = header(&headers, "if-match")?.map(untagged).transpose()?;
    let conditions = AppendConditions { expected, key };
    let appended = caller.append(&chat, append, conditions).await?;
    let tag = tag(Some(&appended.head));
    Ok(with_tag(Json(appended), tag))
}

/// Returns the header value of a head. `None` if the id cannot be in a header.
fn tag(head: Option<&str>) -> Option<HeaderValue> {
    let head = head.unwrap_or_default();
    let plain = head.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    HeaderValue::from_str(&format!("\"{head}\"")).ok().filter(|_| plain)
}

fn untagged(value: &str) -> Result<Option<MessageId>, OperationError> {
    if value == EMPTY {
        return Ok(None);
    }
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(id) if !id.contains('"') => Ok(Some(MessageId::from(id))),
        _ => Err(OperationError::invalid("if-match", "one `ETag` in quotes is expected")),
    }
}

fn with_tag(answer: impl IntoResponse, tag: Option<HeaderValue>) -> Response {
    let mut response = answer.into_response();
    if let Some(tag) = tag {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}
