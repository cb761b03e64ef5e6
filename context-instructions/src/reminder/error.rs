//! Errors of building a reminder.

use context_core::{Error, ErrorKind};

/// An error of building a reminder.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReminderError {
    /// The text is empty or only white space.
    #[error("the text of a reminder must not be empty")]
    EmptyText,
    /// A steer reminder without a predicate would fire at every step of the model.
    #[error("a reminder with the target `steer` needs a predicate")]
    SteerWithoutPredicate,
    /// No target has this name.
    #[error("no reminder target is named `{0}`; there are `user`, `tool-output` and `steer`")]
    UnknownTarget(String),
    /// The id of a `once` is empty or only white space.
    #[error("`once` needs an id that is not empty")]
    EmptyOnceId,
    /// The id of a reminder is empty or only white space.
    #[error("the id of a reminder must not be empty")]
    EmptyId,
    /// The count of this predicate is 0, so it could never hold.
    #[error("`{0}` of 0 can never hold")]
    ZeroCount(&'static str),
    /// No calendar has this date, month, range of hours or offset.
    #[error("a calendar has no {setting} `{value}`")]
    NotInCalendar {
        /// The part of a calendar.
        setting: &'static str,
        /// The given value.
        value: String,
    },
    /// The pattern of a predicate is not a regular expression, or too large.
    #[error("the pattern of a predicate cannot be used")]
    Pattern(#[from] regex::Error),
    /// The predicate consists of too many others.
    #[error("a predicate is made of more than {limit} others")]
    PredicateTooLarge {
        /// The largest number of predicates it may consist of.
        limit: usize,
    },
}

context_core::readable_debug!(ReminderError);

impl From<ReminderError> for Error {
    fn from(error: ReminderError) -> Self {
        Error::new(ErrorKind::Invalid, "remind", error.to_string()).with_source(error)
    }
}
