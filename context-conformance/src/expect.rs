//! Comparing what was seen with what was expected, so that a failure tells its story in one line.

use std::fmt::{Debug, Display};

use context_core::store::{CommitOutcome, Committed};
use context_core::{Error, ErrorKind};

use crate::checked::{Checked, Stop};

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
        Ok(value) => {
            fail(format!("{did}: expected an error of kind {kind}, saw {}", shown(&value)))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_what_was_done_expected_and_seen() {
        let Err(Stop::Fail(text)) = same("adding", &4, &5) else { panic!("4 is not 5") };
        assert_eq!(text, "adding: expected 5, saw 4");
        let result: context_core::Result<u8> = Err(Error::not_found("chat", "chat", "c"));
        let Err(Stop::Fail(text)) = refused("reading", result, ErrorKind::Invalid) else {
            panic!("not invalid")
        };
        assert!(
            text.starts_with("reading: expected an error of kind invalid, saw chat: no such chat"),
            "{text}"
        );
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = shown(&"é".repeat(5000));
        assert!(text.len() < SHOWN + 20 && text.ends_with(" … (cut)"), "{text}");
    }
}
