//! Replies as HTTP responses: statuses, headers, bodies, and the refusals that precede the
//! simulator.

use std::io;
use std::time::Duration;

use hyper::Response;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};

use super::body::PieceBody;
use crate::provider::{ReplyContent, SimulatedReply};

/// The reply to a request.
#[derive(Debug)]
pub(super) enum HttpReply {
    /// A reply of a simulator.
    Simulated {
        /// The provider whose wire form is used.
        provider: &'static str,
        /// The reply.
        reply: SimulatedReply,
    },
    /// A JSON body from the HTTP server itself.
    Json(u16, Value),
}

impl HttpReply {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Simulated { reply, .. } => reply.status,
            Self::Json(status, _) => *status,
        }
    }

    /// Builds the HTTP response to the request with this number.
    pub(super) fn into_response(self, number: usize) -> io::Result<Response<PieceBody>> {
        let mut response = Response::builder().status(self.status());
        let id = if self.is_anthropic() { "request-id" } else { "x-request-id" };
        response = response.header(id, format!("req_simulated_{number}"));
        let (kind, body) = match self {
            Self::Json(_, body) => ("application/json", PieceBody::new([body.to_string()], false)),
            Self::Simulated { provider, reply } => {
                for (name, value) in waits(provider, reply.retry_after) {
                    response = response.header(name, value);
                }
                content(&reply)
            }
        };
        response.header(CONTENT_TYPE, kind).body(body).map_err(io::Error::other)
    }

    fn is_anthropic(&self) -> bool {
        matches!(self, Self::Simulated { provider: "anthropic", .. })
    }
}

fn content(reply: &SimulatedReply) -> (&'static str, PieceBody) {
    match &reply.content {
        ReplyContent::Body(body) => {
            // A proxy in front of the service replies with HTML.
            let kind =
                if body.trim_start().starts_with('<') { "text/html" } else { "application/json" };
            (kind, PieceBody::new([body.clone()], reply.is_broken))
        }
        ReplyContent::Events(_) => {
            let text = reply.to_text();
            let events = text.split_inclusive("\n\n").map(str::to_owned);
            ("text/event-stream; charset=utf-8", PieceBody::new(events, reply.is_broken))
        }
    }
}

/// Returns the headers with the time to wait. All providers give whole seconds, some also
/// milliseconds.
fn waits(provider: &str, wait: Option<Duration>) -> Vec<(&'static str, String)> {
    let Some(wait) = wait else { return Vec::new() };
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let mut headers = vec![(RETRY_AFTER.as_str(), seconds.to_string())];
    if provider.starts_with("openai") {
        headers.push(("retry-after-ms", wait.as_millis().to_string()));
    }
    headers
}

fn openai(status: u16, message: &str, code: Value) -> HttpReply {
    let kind = "invalid_request_error";
    HttpReply::Json(
        status,
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
    )
}

fn anthropic(status: u16, kind: &str, message: &str) -> HttpReply {
    HttpReply::Json(status, json!({"type": "error", "error": {"type": kind, "message": message}}))
}

/// Returns the refusal of an invalid body, in OpenAI's form.
pub(super) fn invalid(message: &str) -> HttpReply {
    openai(400, message, Value::Null)
}

pub(super) fn no_such_path(path: &str) -> HttpReply {
    match path {
        "/v1/messages" => anthropic(404, "not_found_error", "Not found"),
        _ => openai(404, &format!("Invalid URL (POST {path})"), Value::Null),
    }
}

pub(super) fn no_such_method(provider: &str) -> HttpReply {
    match provider {
        "anthropic" => anthropic(405, "invalid_request_error", "Method Not Allowed"),
        _ => openai(
            405,
            "Not allowed to do that on this path. (HINT: Perhaps you meant to use POST?)",
            Value::Null,
        ),
    }
}

pub(super) fn no_such_key(provider: &str) -> HttpReply {
    match provider {
        "anthropic" => anthropic(401, "authentication_error", "invalid x-api-key"),
        "gemini" => {
            let message = "API key not valid. Please pass a valid API key.";
            HttpReply::Json(
                400,
                json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}),
            )
        }
        _ => openai(
            401,
            "Incorrect API key provided: sk-****. You can find your API key in the dashboard.",
            "invalid_api_key".into(),
        ),
    }
}

pub(super) fn no_version() -> HttpReply {
    anthropic(400, "invalid_request_error", "anthropic-version: header is required")
}
