//! Errors of a conversion, and the errors of the context layer as rig expects them.

use std::io;

use context_runtime::{Error, ErrorKind};

/// The reason why a message could not be converted.
#[derive(Debug, thiserror::Error)]
#[error("the message has no form in the other library")]
pub struct ConvertError(#[from] serde_json::Error);

/// Returns the error with the kind that rig distinguishes.
pub(crate) fn of_store(error: Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::NotFound => io::ErrorKind::NotFound,
        ErrorKind::Invalid => io::ErrorKind::InvalidInput,
        ErrorKind::Corrupt => io::ErrorKind::InvalidData,
        ErrorKind::Unsupported => io::ErrorKind::Unsupported,
        ErrorKind::Timeout => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Returns the error for stored content that cannot be read.
pub(crate) fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
