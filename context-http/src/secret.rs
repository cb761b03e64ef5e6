//! Keys and passwords.

use std::fmt;

use zeroize::Zeroizing;

/// A key or a password. It is never shown, and its memory is wiped when it is dropped; a client
/// keeps a copy of its own in the headers it sends. White space around it is removed, such as a
/// line feed after a key that was read from a file.
///
/// ```
/// use context_http::Secret;
///
/// assert_eq!(format!("{:?}", Secret::new("sk-demo-123456")), "Secret(…)");
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates a secret from a text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    /// Returns whether the secret is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text.
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
