//! The error type of all effectful interfaces: stores, models, memories.
//!
//! Conditions that a caller must handle (a lost race, a chat that may be absent) are part of return
//! types; an [`Error`] covers the rest. It names the operation, the kind of failure, whether a
//! retry can help, and the thing and limit concerned. Pure code has small enums of its own
//! ([`RenderError`](crate::fragment::RenderError), [`CodecError`](crate::base::CodecError), …),
//! which convert into this type.
//!
//! The design follows OpenDAL's error: branch on [`Error::kind`] and [`Error::retry`], never on
//! text.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::{fmt, io};

use crate::base::display::{clean, clean_lines};

/// The result of an effectful call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A boxed cause.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// The kind of failure of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The thing does not exist, or belongs to another user.
    NotFound,
    /// A race was lost, and the caller asked not to resolve it.
    Conflict,
    /// The input was refused. Nothing was written.
    Invalid,
    /// Stored data is damaged.
    Corrupt,
    /// The backend does not have the ability.
    Unsupported,
    /// The backend cannot be reached or refuses to work.
    Unavailable,
    /// The backend did not answer in time.
    Timeout,
    /// The caller cancelled.
    Cancelled,
    /// A bug in this library.
    Bug,
}

impl ErrorKind {
    /// Returns the stable name, as JSON output and logs show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Invalid => "invalid",
            Self::Corrupt => "corrupt",
            Self::Unsupported => "unsupported",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Bug => "bug",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the call may be retried. The backend decides; callers must not guess from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retry {
    /// The same call would fail again.
    Never,
    /// The same call may be repeated unchanged.
    Safe,
    /// The caller must read again first, then decide.
    AfterRefresh,
}

impl Retry {
    /// Returns whether a retry of file I/O can succeed. It cannot if the path is wrong, a
    /// permission is missing, or the file system is read-only.
    pub fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound
            | Kind::PermissionDenied
            | Kind::AlreadyExists
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::ReadOnlyFilesystem
            | Kind::InvalidInput
            | Kind::InvalidData
            | Kind::FileTooLarge
            | Kind::InvalidFilename
            | Kind::Unsupported => Self::Never,
            _ => Self::Safe,
        }
    }
}

/// An error with its operation, cause and facts.
///
/// ```
/// use context_core::{Error, ErrorKind};
///
/// let error = Error::not_found("rewind", "message", "m7").with("chat", "lisbon");
/// assert_eq!(
///     (error.kind(), error.operation(), error.get("chat")),
///     (ErrorKind::NotFound, "rewind", Some("lisbon"))
/// );
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    operation: &'static str,
    retry: Retry,
    message: Cow<'static, str>,
    context: Vec<(&'static str, String)>,
    source: Option<BoxError>,
}

impl Error {
    /// Creates an error of `kind` in `operation`. The message is lowercase, has no full stop, and
    /// does not repeat the source.
    pub fn new(
        kind: ErrorKind,
        operation: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        let retry = match kind {
            ErrorKind::Unavailable | ErrorKind::Timeout => Retry::Safe,
            ErrorKind::Conflict => Retry::AfterRefresh,
            _ => Retry::Never,
        };
        Self(Box::new(Inner {
            kind,
            operation,
            retry,
            message: message.into(),
            context: Vec::new(),
            source: None,
        }))
    }

    /// Creates a [`ErrorKind::NotFound`] error that names the thing.
    pub fn not_found(
        operation: &'static str,
        subject: &'static str,
        name: impl fmt::Display,
    ) -> Self {
        Self::new(ErrorKind::NotFound, operation, format!("no such {subject}")).with(subject, name)
    }

    /// Creates a [`ErrorKind::Invalid`] error.
    pub fn invalid(operation: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, operation, message)
    }

    /// Adds a fact, such as the name of the thing or the exceeded limit. Never a secret, never
    /// content.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Overrides the retry advice that follows from the kind.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the name of the operation.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// Returns whether a retry can help.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// Returns the message alone, without operation and facts.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the facts, in the order of addition.
    pub fn context(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.context.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// Returns a fact by its key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.context().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// Returns whether the thing does not exist or belongs to another user.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.operation, clean(&self.0.message))?;
        for (i, (key, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{key}={value:?}", if i == 0 { " (" } else { ", " })?;
        }
        if self.0.context.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\n  kind: {}\n  retry: {:?}", self.0.kind, self.0.retry)?;
        write_causes(self.source(), f)
    }
}

/// Writes an error for people: its message, and one line per cause. For the `Debug` implementation
/// of errors that `main` may return; see [`readable_debug!`](crate::readable_debug).
pub fn write_readable(error: &(dyn StdError + 'static), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&clean_lines(&error.to_string()))?;
    write_causes(error.source(), f)
}

fn write_causes(
    mut cause: Option<&(dyn StdError + 'static)>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    while let Some(error) = cause {
        write!(f, "\n  caused by: {}", clean_lines(&error.to_string()))?;
        cause = error.source();
    }
    Ok(())
}

/// Implements a human-readable `Debug` for error types, using
/// [`write_readable`](crate::base::write_readable). A `main` that returns an error prints its
/// `Debug` form.
///
/// ```
/// #[derive(thiserror::Error)]
/// #[error("no key: set TRIPS_KEY")]
/// struct NoKey;
/// context_core::readable_debug!(NoKey);
///
/// assert_eq!(format!("{NoKey:?}"), "no key: set TRIPS_KEY");
/// ```
#[macro_export]
macro_rules! readable_debug {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::base::write_readable(self, f)
            }
        }
    )+};
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_go_well_a_second_time_is_not_tried_again() {
        use io::ErrorKind as Kind;
        let never = [
            Kind::NotFound,
            Kind::PermissionDenied,
            Kind::AlreadyExists,
            Kind::NotADirectory,
            Kind::IsADirectory,
            Kind::ReadOnlyFilesystem,
            Kind::InvalidInput,
            Kind::InvalidData,
            Kind::FileTooLarge,
            Kind::InvalidFilename,
            Kind::Unsupported,
        ];
        for kind in never {
            assert_eq!(Retry::of_io(&kind.into()), Retry::Never, "{kind}");
        }
        // Space can be freed, and interrupted or blocked operations can succeed later.
        for kind in
            [Kind::StorageFull, Kind::Interrupted, Kind::WouldBlock, Kind::TimedOut, Kind::Other]
        {
            assert_eq!(Retry::of_io(&kind.into()), Retry::Safe, "{kind}");
        }
    }
}
