//! Kinds of secrets.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a secret, such as `github-token`: a built-in one or the name of a rule of the
/// program.
///
/// A name consists of lowercase ASCII letters, digits and hyphens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretKind(Cow<'static, str>);

impl SecretKind {
    /// Maximum length of a name in bytes.
    pub const MAX_BYTES: usize = 40;

    pub(crate) const fn known(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns a kind with a name that the program chose, unless the name is not one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        is_name(name).then(|| Self(Cow::Owned(name.to_owned())))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a text is a name of a kind.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=SecretKind::MAX_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for SecretKind {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for SecretKind {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}
