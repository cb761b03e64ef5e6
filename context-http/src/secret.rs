//! Keys and passwords.

use std::fmt;

use zeroize::Zeroizing;

/// A key or a password: never shown, and wiped from memory when it goes; what a client was given to
/// send is its own copy. Spaces around it are not part of it, as a line feed behind a key that was
/// read from a file is not.
///
/// ```
/// use context_http::Secret;
///
/// assert_eq!(format!("{:?}", Secret::new("sk-demo-123456")), "Secret(…)");
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A secret of this text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
