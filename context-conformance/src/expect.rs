//! Comparing what was seen with what was expected, so that a failure tells its story in one line.

use std::fmt::{Debug, Display};

use context_core::{CommitOutcome, Committed, Error, ErrorKind};

use crate::case::{Checked, Stop};

/// The longest part of a value that a failure shows.
const SHOWN: usize = 1500;

/// A failure of this text.
pub(crate) fn fail<T>(text: impl Into<String>) -> Checked<T> {
    Err(Stop::Fail(text.into()))
}

/// Both must be equal.
pub(crate) fn same<T: PartialEq + Debug>(did: impl Display, saw: &T, expected: &T) -> Checked {
    if saw == expected {
        return Ok(());
    }
    fail(format!("{did}: expected {}, saw {}", shown(expected), shown(saw)))
}

/// It must hold.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { fail(what()) }
}

/// The call must be refused with this kind of error; hands the error on.
pub(crate) fn refused<T: Debug>(
    did: impl Display,
    saw: context_core::Result<T>,
    kind: ErrorKind,
) -> Checked<Error> {
    match saw {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => fail(format!("{did}: expected an error of kind {kind}, saw {error:?}")),
        Ok(value) => fail(format!("{did}: expected an error of kind {kind}, saw {}", shown(&value))),
    }
}

/// The commit must have been written now.
pub(crate) fn applied(did: impl Display, outcome: CommitOutcome) -> Checked<Committed> {
    match outcome {
        CommitOutcome::Applied(committed) => Ok(committed),
        other => fail(format!("{did}: expected it to be applied, saw {}", shown(&other))),
    }
}

/// A value in a failure, cut if it is long.
pub(crate) fn shown(value: &impl Debug) -> String {
    let mut text = format!("{value:?}");
    if text.len() > SHOWN {
        let end = (0..=SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" … (cut)");
    }
    text
}
