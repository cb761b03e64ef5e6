//! The outcome of a case, and the ways to end a case early.

use context_core::Error;

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Verdict {
    /// The property holds.
    Pass,
    /// The case did not run, because the store does not claim the ability. Holds the reason.
    Skip(String),
    /// The property does not hold. Describes the calls, the expected result and the actual result.
    Fail(String),
}

impl Verdict {
    /// Returns the stable name that the report file uses.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip(_) => "skip",
            Self::Fail(_) => "fail",
        }
    }

    /// Returns the reason, unless the case passed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Pass => None,
            Self::Skip(reason) | Self::Fail(reason) => Some(reason),
        }
    }
}

/// An early end of a case. `?` on an error of a store is a failure.
#[derive(Debug)]
pub(crate) enum Stop {
    Skip(String),
    Fail(String),
}

pub(crate) type Check<T = ()> = Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fail(format!("a call that must succeed failed: {error:?}"))
    }
}

impl From<Check> for Verdict {
    fn from(check: Check) -> Self {
        match check {
            Ok(()) => Self::Pass,
            Err(Stop::Skip(reason)) => Self::Skip(reason),
            Err(Stop::Fail(text)) => Self::Fail(text),
        }
    }
}
