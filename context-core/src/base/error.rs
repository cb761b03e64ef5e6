//! One error for everything that touches the outside: stores, models, memories.
//!
//! What a caller must decide on (a lost race, an absent chat that may be absent) is in return
//! types; an [`Error`] is what is left. It says what was tried, what kind of failure it was,
//! whether trying again can help, and which thing and which limit were concerned. Pure code has
//! small enums of its own ([`RenderError`](crate::fragment::RenderError), [`CodecError`](crate::base::CodecError),
//! …) that convert into this one.
//!
//! The shape follows OpenDAL's error: branch on [`Error::kind`] and [`Error::retry`], never on
//! text.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::{fmt, io};

use crate::base::shown::{clean, clean_lines};

/// The result of an effectful seam.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A boxed cause.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The thing does not exist, or belongs to somebody else.
    NotFound,
    /// A race was lost and the caller asked not to settle it.
    Conflict,
    /// The input is refused; nothing was written.
    Invalid,
    /// What is stored cannot be what was written.
    Corrupt,
    /// The backend has no such ability.
    Unsupported,
    /// The backend cannot be reached or refuses to work.
    Unavailable,
    /// The backend did not answer in time.
    Timeout,
    /// The caller cancelled.
    Cancelled,
    /// A fault of this library.
    Bug,
}

impl ErrorKind {
    /// The stable name, as JSON output and logs show it.
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

/// Whether the same call may be made again. The backend knows; a caller must not guess from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retry {
    /// The same call fails again.
    Never,
    /// The same call may be made again as it is.
    Safe,
    /// Read again first, then decide.
    AfterRefresh,
}

impl Retry {
    /// Whether work on a file may go well a second time: not if it is the path, a right or a file
    /// system that only reads that is wrong.
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

/// What went wrong, to what, and what can be done.
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
    /// An error of `kind` met in `operation`. The message is lowercase, without a full stop, and
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

    /// A [`ErrorKind::NotFound`] that names the thing.
    pub fn not_found(operation: &'static str, what: &'static str, name: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotFound, operation, format!("no such {what}")).with(what, name)
    }

    /// A [`ErrorKind::Invalid`].
    pub fn invalid(operation: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, operation, message)
    }

    /// Adds a fact, such as the name of the thing or the limit it broke. Never a secret, never
    /// content.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says otherwise than the kind does whether to try again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was tried.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// Whether trying again can help.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The message alone, without operation and context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The facts, in the order they were added.
    pub fn context(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.context.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// One fact by its key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.context().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// Whether the thing does not exist (or is somebody else's).
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

/// Writes an error for people: what it says, and a line for each cause. The `Debug` of errors that
/// a `main` may return, see [`readable_debug!`](crate::readable_debug).
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

/// Gives error types a `Debug` for people, with [`write_readable`](crate::base::write_readable): a `main`
/// that returns an error prints its `Debug`.
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
        // Space can be freed, and what was interrupted or held is free later.
        for kind in
            [Kind::StorageFull, Kind::Interrupted, Kind::WouldBlock, Kind::TimedOut, Kind::Other]
        {
            assert_eq!(Retry::of_io(&kind.into()), Retry::Safe, "{kind}");
        }
    }
}
