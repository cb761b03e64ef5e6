//! The name of a diagnostic code of another crate.

use std::fmt;

use crate::base::display::clean;

/// The name of a [`DiagnosticCode`](super::DiagnosticCode) that another crate defines: lower case
/// letters of ASCII, digits, `_`, `-` and `.`. Begin it with the name of the crate, so that two
/// crates do not use one name for two subjects.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeName {
    bytes: [u8; Self::MAX_BYTES],
    length: u8,
}

/// An error of a name that no code can have.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} cannot name a diagnostic: use 1 to {} lower case letters, digits, '_', '-' and '.'",
    clean(.name),
    CodeName::MAX_BYTES
)]
#[non_exhaustive]
pub struct CodeNameError {
    /// The beginning of the refused name.
    pub name: String,
}

crate::readable_debug!(CodeNameError);

impl CodeName {
    /// The maximum length in bytes.
    pub const MAX_BYTES: usize = 47;

    /// Creates a name. Use [`DiagnosticCode::named`](super::DiagnosticCode::named), which knows the
    /// names of this crate.
    pub(super) fn new(name: &str) -> Result<Self, CodeNameError> {
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
        let mut bytes = [0; Self::MAX_BYTES];
        match (bytes.get_mut(..name.len()), u8::try_from(name.len())) {
            (Some(place), Ok(length)) if length > 0 && name.bytes().all(plain) => {
                place.copy_from_slice(name.as_bytes());
                Ok(Self { bytes, length })
            }
            _ => Err(CodeNameError { name: name.chars().take(Self::MAX_BYTES).collect() }),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Debug for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
