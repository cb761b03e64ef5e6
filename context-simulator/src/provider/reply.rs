//! The reply of a simulated provider.

use std::time::Duration;

use context_core::model::{AnswerDelta, ModelCodec, ModelErrorCode};
use context_core::{Answer, Json, ModelError};
use serde_json::Value;

/// A reply as an HTTP client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct SimulatedReply {
    /// The HTTP status.
    pub status: u16,
    /// The `retry-after` header.
    pub retry_after: Option<Duration>,
    /// The body or the events.
    pub content: ReplyContent,
    /// Whether the connection broke before the reply was complete.
    pub is_broken: bool,
}

/// The content of a [`SimulatedReply`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyContent {
    /// A body.
    Body(String),
    /// The data fields of server-sent events.
    Events(Vec<String>),
}

impl SimulatedReply {
    pub(super) fn new(status: u16, content: ReplyContent) -> Self {
        Self { status, retry_after: None, content, is_broken: false }
    }

    /// Truncates the reply as if the connection had broken: a stream after this many events, a body
    /// in the middle.
    pub(super) fn break_off(&mut self, after_events: usize) {
        self.is_broken = true;
        match &mut self.content {
            ReplyContent::Events(events) => {
                events.truncate(after_events.min(events.len().saturating_sub(1)));
            }
            ReplyContent::Body(body) => {
                let mut end = body.len() / 2;
                while !body.is_char_boundary(end) {
                    end -= 1;
                }
                body.truncate(end);
            }
        }
    }

    /// Reads the reply as a client of the provider does: returns the answer, or the error of a
    /// refusal. From a stream that broke off, returns the complete events up to there. Such an
    /// answer is not [complete](Answer::complete).
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    pub fn read(&self, codec: &dyn ModelCodec) -> Result<Answer, ModelError> {
        self.read_shown(codec, &mut |_| ())
    }

    /// Reads the reply like [`read`](Self::read), and passes on the deltas. A reply that is not
    /// streamed is passed on as one piece for each part.
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    pub fn read_shown(
        &self,
        codec: &dyn ModelCodec,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        let fault = |code, message: &str| ModelError::new(codec.name(), code, message);
        let unreadable = || fault(ModelErrorCode::Unknown, "the answer cannot be read");
        let answer = match &self.content {
            ReplyContent::Body(body) if self.status >= 400 => {
                let mut error = codec.lift_error(Some(self.status), body);
                error.retry_after = error.retry_after.or(self.retry_after);
                return Err(error);
            }
            ReplyContent::Body(_) if self.is_broken => {
                return Err(fault(
                    ModelErrorCode::Network,
                    "connection closed before the body was whole",
                ));
            }
            ReplyContent::Body(body) => {
                let body = Json::from_text(body.as_str()).map_err(|_| unreadable())?;
                let answer = codec.lift_answer(&body).map_err(|_| unreadable())?;
                answer.deltas().for_each(show);
                answer
            }
            ReplyContent::Events(events) => {
                let mut stream = codec.answer_stream();
                for event in events {
                    let deltas = stream.push(event).map_err(|_| unreadable())?;
                    deltas.into_iter().for_each(&mut *show);
                }
                stream.finish()
            }
        };
        match answer.error {
            Some(error) if answer.message.parts.is_empty() => Err(error),
            _ => Ok(answer),
        }
    }

    /// Returns the body as it goes over the wire. Events are formatted as server-sent events, with
    /// their names if the provider names them.
    pub fn to_text(&self) -> String {
        match &self.content {
            ReplyContent::Body(body) => body.clone(),
            ReplyContent::Events(events) => events.iter().map(|event| server_sent(event)).collect(),
        }
    }
}

fn server_sent(data: &str) -> String {
    let named = serde_json::from_str::<Value>(data).ok();
    match named.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
