//! The replies of the server: events, and errors as a status and a body.

use axum::Json;
use axum::http::StatusCode;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use context_runtime::{CancelSource, Error, ErrorKind};
use serde::Serialize;
use serde_json::{Value, json};

pub fn event(name: &str, data: impl Serialize) -> Event {
    Event::default().event(name).data(json!(data).to_string())
}

/// Cancels a turn when the response is dropped.
pub struct CancelOnDrop(pub CancelSource);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub struct Failure(Error);

impl Failure {
    pub fn json(&self) -> Value {
        json!({"error": self.0.to_string()})
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match self.0.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Unavailable | ErrorKind::Timeout => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(self.json())).into_response()
    }
}
