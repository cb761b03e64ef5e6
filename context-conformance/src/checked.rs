//! What may come of a case, and what ends one early.

use context_core::Error;

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It was not asked, and why: the store does not claim the ability.
    Skip(String),
    /// It does not hold: what was done, what was expected, what was seen.
    Fail(String),
}

impl Verdict {
    /// The stable name, as the report file has it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip(_) => "skip",
            Self::Fail(_) => "fail",
        }
    }

    /// Why it is not a pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Pass => None,
            Self::Skip(reason) | Self::Fail(reason) => Some(reason),
        }
    }
}

/// What ends a case before its end. `?` on a store's error is a failure.
#[derive(Debug)]
pub(crate) enum Stop {
    Skip(String),
    Fail(String),
}

pub(crate) type Checked<T = ()> = Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fail(format!("a call that must succeed failed: {error:?}"))
    }
}

impl From<Checked> for Verdict {
    fn from(checked: Checked) -> Self {
        match checked {
            Ok(()) => Self::Pass,
            Err(Stop::Skip(reason)) => Self::Skip(reason),
            Err(Stop::Fail(text)) => Self::Fail(text),
        }
    }
}
