//! Errors between a client and a service.

use std::fmt;
use std::time::Duration;

use context_core::{BoxError, Retry};

/// The reason why there is no usable reply. Addresses in it hold neither credentials nor queries;
/// no header and no body is shown.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address of the service cannot be used.
    #[error("the address cannot be used: {why}")]
    BadAddress {
        /// The reason.
        why: &'static str,
    },
    /// The address of the proxy cannot be used.
    #[error("the address of the proxy cannot be used")]
    BadProxy,
    /// A header has an invalid name or value.
    #[error("header number {number} is not a valid HTTP header")]
    BadHeader {
        /// The position of the header in the order in which headers were added, from 0.
        number: usize,
    },
    /// A segment of the path is empty, or `.` or `..`.
    #[error("a segment of the path is empty or leads out of the path")]
    BadPath,
    /// The address is plain HTTP on another machine, and that was not allowed.
    #[error(
        "{address} is plain HTTP on another machine: keys and contents could be read on the way"
    )]
    PlainHttp {
        /// The address of the service.
        address: String,
    },
    /// The HTTP client cannot be created, for example because there are no trusted certificates.
    #[error("the HTTP client cannot be created")]
    Client {
        /// The error of the underlying client.
        source: BoxError,
    },
    /// The body cannot be written as JSON.
    #[error("the body of the request cannot be written as JSON")]
    Write {
        /// The error of serde.
        source: BoxError,
    },
    /// No connection: name resolution, routing, TLS or the proxy failed. The request was not sent.
    #[error("{address} cannot be reached")]
    Unreachable {
        /// The address of the request.
        address: String,
        /// The error of the underlying client.
        source: BoxError,
    },
    /// The certificate of the server is not accepted: it is for another name, or not trusted. The
    /// request was not sent.
    #[error("{address} cannot be trusted")]
    Untrusted {
        /// The address of the request.
        address: String,
        /// The error of the underlying client.
        source: BoxError,
    },
    /// A timeout.
    #[error("{address}: {phase} took longer than {longest:?}")]
    Timeout {
        /// The address of the request.
        address: String,
        /// The phase that took too long.
        phase: Phase,
        /// The limit.
        longest: Duration,
    },
    /// The connection broke before the whole reply was received, or the reply is not HTTP. The
    /// service may have processed the request.
    #[error("{address}: the connection broke before the reply was whole")]
    Broken {
        /// The address of the request.
        address: String,
        /// The error of the underlying client.
        source: BoxError,
    },
    /// The service refused the request.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The service redirects. Redirects are not followed, so keys are not sent to another host.
    #[error("{address} answered with a redirection ({status}), which is not followed")]
    Redirected {
        /// The address of the request.
        address: String,
        /// The HTTP status.
        status: u16,
    },
    /// The reply is longer than may be read.
    #[error("{address}: {part} is longer than {limit} bytes")]
    TooLong {
        /// The address of the request.
        address: String,
        /// The part that is too long.
        part: TooLong,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The reply is compressed, which was not asked for.
    #[error("{address}: the reply is compressed, which was not asked for")]
    Compressed {
        /// The address of the request.
        address: String,
    },
    /// The reply is not the JSON that was expected.
    #[error(
        "{address}: the reply is not the JSON that was expected, at line {line}, column {column}"
    )]
    NotJson {
        /// The address of the request.
        address: String,
        /// The line where parsing stopped, from 1.
        line: usize,
        /// The column where parsing stopped.
        column: usize,
    },
    /// The caller cancelled.
    #[error("cancelled by the caller")]
    Cancelled,
}

context_core::readable_debug!(HttpError);

/// A phase of a call that has a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Establishing the connection.
    Connect,
    /// The wait until the reply begins.
    Head,
    /// The wait for the next piece of a reply.
    Idle,
    /// The whole call.
    Total,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "the connection",
            Self::Head => "the beginning of the reply",
            Self::Idle => "the next piece of the reply",
            Self::Total => "the whole call",
        })
    }
}

/// The part of a reply that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TooLong {
    /// A reply, in one piece or as all its events.
    Reply,
    /// One event, or a line of it.
    Event,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reply => "the reply",
            Self::Event => "an event",
        })
    }
}

/// A reply with a status of refusal. `Debug` and the message show no body.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} answered with status {status}")]
#[non_exhaustive]
pub struct Refused {
    /// The address of the request.
    pub address: String,
    /// The HTTP status.
    pub status: u16,
    /// The wait that the service asks for.
    pub retry_after: Option<Duration>,
    /// The service's id of the request, if it reports one.
    pub request_id: Option<String>,
    /// The body as text, [redacted](crate::Client::redact).
    pub body: String,
    /// Whether the body is incomplete: more arrived than was read, or less than was announced.
    pub is_cut: bool,
    /// The service's own advice about a retry.
    pub(crate) advice: Option<bool>,
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("address", &self.address)
            .field("status", &self.status)
            .field("retry_after", &self.retry_after)
            .field("request_id", &self.request_id)
            .field("body_bytes", &self.body.len())
            .field("is_cut", &self.is_cut)
            .finish_non_exhaustive()
    }
}

impl HttpError {
    /// Returns the status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refused) => Some(refused.status),
            Self::Redirected { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns the wait that the service asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refused) => refused.retry_after,
            _ => None,
        }
    }

    /// Returns whether the same request may be sent again and may then succeed. `repeatable` says
    /// whether sending it twice does no harm if the service has already processed it.
    ///
    /// | | any request | a repeatable one |
    /// |---|---|---|
    /// | no connection | yes | yes |
    /// | 408, 425, 429, 529, 503 with a wait | yes | yes |
    /// | 500, 502, 503, 504 | no | yes |
    /// | the connection broke, a reply or a piece of it took too long | no | yes |
    /// | any other status, a redirect, a certificate, a limit, the total timeout | no | no |
    ///
    /// If the service itself says whether to retry, with `x-should-retry`, its no always counts,
    /// and its yes counts for repeatable requests. A conflict (409) is left to the caller.
    pub fn retry(&self, repeatable: bool) -> Retry {
        let safe = match self {
            Self::Unreachable { .. } | Self::Timeout { phase: Phase::Connect, .. } => true,
            Self::Timeout { phase: Phase::Head | Phase::Idle, .. } | Self::Broken { .. } => {
                repeatable
            }
            Self::Refused(refused) => refused.retry(repeatable),
            _ => false,
        };
        if safe { Retry::Safe } else { Retry::Never }
    }
}

impl Refused {
    fn retry(&self, repeatable: bool) -> bool {
        if self.advice == Some(false) {
            return false;
        }
        match self.status {
            408 | 425 | 429 | 529 => true,
            503 if self.retry_after.is_some() => true,
            500 | 502 | 503 | 504 => repeatable,
            _ => self.advice == Some(true) && repeatable,
        }
    }
}
