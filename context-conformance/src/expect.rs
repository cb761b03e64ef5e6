//! Comparisons of actual and expected results, with failures of one line.

use std::fmt::{Debug, Display};

use context_core::store::{CommitOutcome, Committed};
use context_core::{Error, ErrorKind};

use crate::verdict::{Check, Stop};

/// The maximum length of a value in a failure, in bytes.
const SHOWN: usize = 1500;

/// Returns a failure with this text.
pub(crate) fn fail<T>(text: impl Into<String>) -> Check<T> {
    Err(Stop::Fail(text.into()))
}

/// Expects both values to be equal.
pub(crate) fn same<T: PartialEq + Debug>(did: impl Display, saw: &T, expected: &T) -> Check {
    if saw == expected {
        return Ok(());
    }
    fail(format!("{did}: expected {}, saw {}", shown(expected), shown(saw)))
}

/// Expects a condition to hold.
pub(crate) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { fail(message()) }
}

/// Expects a call to be refused with this kind of error. Returns the error.
pub(crate) fn refused<T: Debug>(
    did: impl Display,
    saw: context_core::Result<T>,
    kind: ErrorKind,
) -> Check<Error> {
    match saw {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => fail(format!("{did}: expected an error of kind {kind}, saw {error:?}")),
        Ok(value) => {
            fail(format!("{did}: expected an error of kind {kind}, saw {}", shown(&value)))
        }
    }
}

/// Expects a commit to be applied, not replayed.
pub(crate) fn applied(did: impl Display, outcome: CommitOutcome) -> Check<Committed> {
    match outcome {
        CommitOutcome::Applied(committed) => Ok(committed),
        other => fail(format!("{did}: expected it to be applied, saw {}", shown(&other))),
    }
}

/// Formats a value for a failure, truncated if it is long.
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
