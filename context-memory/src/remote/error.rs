//! Errors of a remote memory.

use context_core::{Error, ErrorKind, Retry};
use context_http::{HttpError, Refused};

use super::wire;

/// The reason why a reply of a remote memory is refused. It is the source of the [`Error`] that a
/// call returns. Shows no content.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// There was no reply, or an error reply.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The reply is for another scope.
    #[error("the answer is for another scope")]
    OtherScope,
    /// A memory in the reply is not visible from the requested scope. The whole reply is refused.
    #[error("memory {number} of the answer is not visible from the scope that asked")]
    NotVisible {
        /// The index of the memory, from 0.
        number: usize,
    },
    /// A memory in the reply has an invalid part.
    #[error("{part} of memory {number} of the answer is invalid")]
    BadMemory {
        /// The index of the memory, from 0.
        number: usize,
        /// The part.
        part: &'static str,
    },
    /// The reply has too many memories.
    #[error("the answer has {count} memories, more than {limit}")]
    TooMany {
        /// The number of memories.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The server uses another protocol version.
    #[error("the server speaks version {version} of the protocol")]
    OtherProtocol {
        /// The server's version.
        version: u32,
    },
}

context_core::readable_debug!(RemoteError);

impl RemoteError {
    /// Returns the error of a call.
    pub(super) fn of(self, operation: &'static str) -> Error {
        let (kind, retry) = match &self {
            Self::Http(error) => of_http(error),
            Self::OtherProtocol { .. } => (ErrorKind::Unsupported, Retry::Never),
            _ => (ErrorKind::Corrupt, Retry::Never),
        };
        let message = match &self {
            Self::Http(HttpError::Refused(_)) => "the memory server refused the request",
            Self::Http(HttpError::NotJson { .. }) => {
                "the memory server did not answer in the protocol's form"
            }
            Self::Http(_) => "the memory server did not answer",
            Self::OtherProtocol { .. } => "the memory server speaks another protocol",
            _ => "the answer of the memory server was rejected",
        };
        let status = if let Self::Http(error) = &self { error.status() } else { None };
        let error = Error::new(kind, operation, message).with_retry(retry);
        let error = if let Some(status) = status { error.with("status", status) } else { error };
        error.with_source(self)
    }
}

fn of_http(error: &HttpError) -> (ErrorKind, Retry) {
    let kind = match error {
        HttpError::Timeout { .. } => ErrorKind::Timeout,
        HttpError::Cancelled => ErrorKind::Cancelled,
        HttpError::NotJson { .. } | HttpError::TooLong { .. } | HttpError::Compressed { .. } => {
            ErrorKind::Corrupt
        }
        HttpError::Refused(refused) => of_refusal(refused),
        HttpError::BadAddress { .. } | HttpError::BadProxy | HttpError::BadHeader { .. } => {
            ErrorKind::Invalid
        }
        HttpError::PlainHttp { .. } | HttpError::BadPath | HttpError::Write { .. } => {
            ErrorKind::Invalid
        }
        _ => ErrorKind::Unavailable,
    };
    (kind, error.retry(true))
}

/// Returns the kind of an error reply: the stated one if the reply follows the protocol, else by
/// status.
fn of_refusal(refused: &Refused) -> ErrorKind {
    let message = serde_json::from_str::<wire::Failure>(&refused.body).ok();
    let message = message.and_then(|message| kind(&message.error.kind));
    message.unwrap_or(match refused.status {
        400 | 413 => ErrorKind::Invalid,
        404 | 405 | 422 | 501 => ErrorKind::Unsupported,
        409 => ErrorKind::Conflict,
        408 | 504 => ErrorKind::Timeout,
        _ => ErrorKind::Unavailable,
    })
}

/// Returns a kind by its name. Cancelled is left out, since only the caller can cancel.
fn kind(name: &str) -> Option<ErrorKind> {
    const KINDS: [ErrorKind; 7] = [
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::Invalid,
        ErrorKind::Corrupt,
        ErrorKind::Unsupported,
        ErrorKind::Unavailable,
        ErrorKind::Timeout,
    ];
    KINDS.into_iter().find(|kind| kind.as_str() == name)
}

/// Returns the HTTP status for a kind.
pub(super) fn status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::Invalid => 400,
        ErrorKind::NotFound => 404,
        ErrorKind::Conflict => 409,
        ErrorKind::Unsupported => 422,
        ErrorKind::Unavailable | ErrorKind::Cancelled => 503,
        ErrorKind::Timeout => 504,
        _ => 500,
    }
}
