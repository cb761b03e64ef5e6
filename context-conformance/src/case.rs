//! What a case is and what may come of it.

use std::fmt;
use std::pin::Pin;

use context_core::Error;

use crate::lab::Lab;

/// A question to a store. The table of them is the suite: a case that is added there reaches every store that is
/// tested with a newer kit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Case {
    /// What it is about.
    pub group: &'static str,
    /// What must hold; unique in its group.
    pub name: &'static str,
    /// What the store must be able to do to be asked.
    pub requires: Requires,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Lab) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>>;

/// What a store must be able to do for a case. A store that lacks it is not asked; a store that claims it in
/// [`StoreInfo`](context_core::StoreInfo) and whose subject does not offer it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requires {
    /// Nothing: every store can.
    Nothing,
    /// To be reopened with everything in it.
    Durable,
    /// To be used through two handles.
    SecondHandle,
    /// [`Maintenance`](context_core::Maintenance).
    Maintenance,
}

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

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// Makes the table of a group: `cases!("group": one, two, three if Durable)`.
macro_rules! cases {
    ($group:literal: $($name:ident $(if $requires:ident)?),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            group: $group,
            name: stringify!($name),
            requires: $crate::case::cases!(@requires $($requires)?),
            run: |lab| Box::pin(async move { $name(lab).await.into() }),
        }),+];
    };
    (@requires) => { $crate::case::Requires::Nothing };
    (@requires $requires:ident) => { $crate::case::Requires::$requires };
}
pub(crate) use cases;
