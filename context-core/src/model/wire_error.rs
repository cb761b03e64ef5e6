//! Why a wire form could not be read.

use crate::{Error, ErrorKind};

/// Why a wire form could not be read. `path` says where in the message, such as
/// `tool_calls[0].function`; it is empty for the message itself.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// Something is of another type than the form allows.
    #[error("{} must be {expected}, found {found}", place(.path))]
    WrongType {
        /// Where.
        path: String,
        /// What the form allows.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// Something the form needs is not there.
    #[error("{} is missing", place(.path))]
    Missing {
        /// Where.
        path: String,
    },
    /// A role the form does not have.
    #[error("role {role:?} is none of {known}")]
    UnknownRole {
        /// The role.
        role: String,
        /// The roles there are.
        known: &'static str,
    },
    /// An object or list whose keys or items cannot be read, such as a key that is no Unicode text.
    #[error("{} cannot be read", place(.path))]
    Unreadable {
        /// Where.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
    /// Nothing of the conversation is left that could be sent.
    #[error("nothing to send: no message of the conversation has content")]
    NothingToSend,
}

crate::readable_debug!(WireError);

fn place(path: &str) -> &str {
    if path.is_empty() { "a message" } else { path }
}

impl WireError {
    /// Where in the message; empty for the message itself.
    pub fn path(&self) -> &str {
        match self {
            Self::WrongType { path, .. }
            | Self::Missing { path }
            | Self::Unreadable { path, .. } => path,
            Self::UnknownRole { .. } => "role",
            Self::NothingToSend => "messages",
        }
    }

    /// The same error of a value that stands at `outer`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        if let Self::WrongType { path, .. }
        | Self::Missing { path }
        | Self::Unreadable { path, .. } = &mut self
        {
            *path = match path.as_str() {
                "" => outer.to_owned(),
                inner if inner.starts_with('[') => format!("{outer}{inner}"),
                inner => format!("{outer}.{inner}"),
            };
        }
        self
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        Error::new(ErrorKind::Invalid, "lift", error.to_string()).with_source(error)
    }
}
