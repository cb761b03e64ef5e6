//! Errors of wire forms.

use crate::{Error, ErrorKind};

/// An error of a wire form that cannot be lifted. `path` is the position in the message, such as
/// `tool_calls[0].function`. It is empty for the message itself.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A value has a type that the form does not allow.
    #[error("{} must be {expected}, found {found}", display_path(.path))]
    WrongType {
        /// The position.
        path: String,
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// A required value is missing.
    #[error("{} is missing", display_path(.path))]
    Missing {
        /// The position.
        path: String,
    },
    /// The form does not have this role.
    #[error("role {role:?} is none of {known}")]
    UnknownRole {
        /// The role.
        role: String,
        /// The roles of the form.
        known: &'static str,
    },
    /// An object or list has keys or items that cannot be parsed, such as a key that is not
    /// Unicode.
    #[error("{} cannot be read", display_path(.path))]
    Unreadable {
        /// The position.
        path: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// The conversation has no content that can be sent.
    #[error("nothing to send: no message of the conversation has content")]
    NothingToSend,
    /// A request names content that its provider has stored, and does not begin with it.
    #[error("the cached content {name} holds other {part} than the request: {rule}")]
    CachedContent {
        /// The name of the cached content.
        name: String,
        /// The part of the request that differs.
        part: &'static str,
        /// The provider's rule.
        rule: &'static str,
    },
    /// A request asks for a [compaction](crate::model::ProviderCompaction) of a provider that makes
    /// none.
    #[error("the form {form} has no request for a compaction by the provider")]
    NoCompaction {
        /// The name of the codec.
        form: &'static str,
    },
}

crate::readable_debug!(WireError);

fn display_path(path: &str) -> &str {
    if path.is_empty() { "a message" } else { path }
}

impl WireError {
    /// Returns the position in the message. Empty for the message itself.
    pub fn path(&self) -> &str {
        match self {
            Self::WrongType { path, .. }
            | Self::Missing { path }
            | Self::Unreadable { path, .. } => path,
            Self::UnknownRole { .. } => "role",
            Self::NothingToSend => "messages",
            Self::CachedContent { .. } => "cached_content",
            Self::NoCompaction { .. } => "compaction",
        }
    }

    /// Prefixes the position with `outer`.
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
