//! What goes wrong between a client and a service.

use std::fmt;
use std::time::Duration;

use context_core::{BoxError, Retry};

/// Why there is no reply, or no reply that may be used. Addresses in it hold neither credentials
/// nor queries; no header and no body is shown.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address of the service cannot be used.
    #[error("the address cannot be used: {why}")]
    BadAddress {
        /// Why not.
        why: &'static str,
    },
    /// The address of the proxy cannot be used.
    #[error("the address of the proxy cannot be used")]
    BadProxy,
    /// A header has an invalid name or value.
    #[error("header number {number} is none of HTTP")]
    BadHeader {
        /// The position of the header in the order in which headers were added, from 0.
        number: usize,
    },
    /// A segment of the path is empty, or `.` or `..`.
    #[error("a segment of the path is empty, or one that leads out of it")]
    BadPath,
    /// The address is one of plain HTTP on another machine, and that was not allowed.
    #[error(
        "{address} is plain HTTP on another machine: keys and contents could be read on the way"
    )]
    PlainHttp {
        /// Where it would have gone.
        address: String,
    },
    /// The HTTP client cannot be created, for example because there are no trusted certificates.
    #[error("the client of HTTP cannot be made")]
    Client {
        /// What the client says.
        source: BoxError,
    },
    /// The body cannot be written as JSON.
    #[error("the body of the request cannot be written as JSON")]
    Write {
        /// What serde says.
        source: BoxError,
    },
    /// No connection: the name, the route, TLS or the proxy. The request was not sent.
    #[error("{address} cannot be reached")]
    Unreachable {
        /// What was asked.
        address: String,
        /// What the client says.
        source: BoxError,
    },
    /// Who is there is not who was asked for, or not trusted: the certificate is not taken. The
    /// request was not sent.
    #[error("{address} cannot be trusted")]
    Untrusted {
        /// What was asked.
        address: String,
        /// What the client says.
        source: BoxError,
    },
    /// It took too long.
    #[error("{address}: {phase} took longer than {longest:?}")]
    Timeout {
        /// What was asked.
        address: String,
        /// What took too long.
        phase: Phase,
        /// The limit.
        longest: Duration,
    },
    /// The connection broke before everything had come, or what came is not HTTP. The service may
    /// have done its work.
    #[error("{address}: the connection broke before the reply was whole")]
    Broken {
        /// What was asked.
        address: String,
        /// What the client says.
        source: BoxError,
    },
    /// The service said no.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The service sends elsewhere. Redirections are not followed: keys do not travel to another
    /// host.
    #[error("{address} answered with a redirection ({status}), which is not followed")]
    Redirected {
        /// What was asked.
        address: String,
        /// The status.
        status: u16,
    },
    /// There is more than may be read.
    #[error("{address}: {what} is longer than {limit} bytes")]
    TooLong {
        /// What was asked.
        address: String,
        /// What of it is too long.
        what: TooLong,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The reply is compressed, which was not asked for.
    #[error("{address}: the reply is compressed, which was not asked for")]
    Compressed {
        /// What was asked.
        address: String,
    },
    /// The reply is not the JSON that was expected.
    #[error(
        "{address}: the reply is not the JSON that was expected, at line {line}, column {column}"
    )]
    NotJson {
        /// What was asked.
        address: String,
        /// Where reading stopped, from 1.
        line: usize,
        /// Where reading stopped.
        column: usize,
    },
    /// The caller cancelled.
    #[error("cancelled by the caller")]
    Cancelled,
}

context_core::readable_debug!(HttpError);

/// What takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Making a connection.
    Connect,
    /// Until the reply begins.
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

/// What is too long.
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

/// A reply whose status says no. `Debug` and the message show no body.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} answered with status {status}")]
#[non_exhaustive]
pub struct Refused {
    /// What was asked.
    pub address: String,
    /// The HTTP status.
    pub status: u16,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
    /// Under which name the service knows the request, if it says so.
    pub request_id: Option<String>,
    /// What came with it, as text, [redacted](crate::Client::redact).
    pub body: String,
    /// Whether more came than was read, or less than was announced.
    pub is_cut: bool,
    /// What the service says itself about a second try.
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
    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refused) => Some(refused.status),
            Self::Redirected { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// How long the service asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refused) => refused.retry_after,
            _ => None,
        }
    }

    /// Whether the same request may be sent again and may succeed then. `repeatable` says whether a
    /// second time does no harm, should the service have done its work already.
    ///
    /// | | any request | a repeatable one |
    /// |---|---|---|
    /// | no connection | yes | yes |
    /// | 408, 425, 429, 529, 503 with a wait | yes | yes |
    /// | 500, 502, 503, 504 | no | yes |
    /// | the connection broke, a reply or a piece of it took too long | no | yes |
    /// | any other status, a redirection, a certificate, a limit, the whole time is over | no | no |
    ///
    /// Where the service says itself whether to try again, with `x-should-retry`, a no counts
    /// always, and a yes for what is repeatable. A conflict (409) is the caller's business.
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
