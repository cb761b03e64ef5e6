//! Errors of the context layer, as adk-rust expects them.

use adk_core::{AdkError, ErrorCategory, ErrorComponent};
use context_runtime::{Error, ErrorKind};

/// Returns the error with the category that adk-rust distinguishes.
pub(crate) fn of_store(error: Error) -> AdkError {
    let (category, code) = match error.kind() {
        ErrorKind::Invalid => (ErrorCategory::InvalidInput, "session.invalid"),
        ErrorKind::NotFound => (ErrorCategory::NotFound, "session.not_found"),
        ErrorKind::Timeout => (ErrorCategory::Timeout, "session.timeout"),
        ErrorKind::Unavailable => (ErrorCategory::Unavailable, "session.unavailable"),
        ErrorKind::Cancelled => (ErrorCategory::Cancelled, "session.cancelled"),
        ErrorKind::Unsupported => (ErrorCategory::Unsupported, "session.unsupported"),
        _ => (ErrorCategory::Internal, "session.store"),
    };
    session(category, code, error.to_string()).with_source(error)
}

/// Returns the error for an event or a state that is not JSON.
pub(crate) fn of_json(error: serde_json::Error) -> AdkError {
    let message = "the event has no form as JSON".to_owned();
    session(ErrorCategory::InvalidInput, "session.invalid_event", message).with_source(error)
}

/// Returns the error for a session that does not exist.
pub(crate) fn not_found(session_id: &str) -> AdkError {
    let message = format!("there is no session {session_id:?} of this app and user");
    session(ErrorCategory::NotFound, "session.not_found", message)
}

pub(crate) fn session(
    category: ErrorCategory,
    code: &'static str,
    message: impl Into<String>,
) -> AdkError {
    AdkError::new(ErrorComponent::Session, category, code, message)
}
