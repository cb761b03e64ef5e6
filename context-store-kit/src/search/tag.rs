//! Prefixes that separate the words of users in one index.

use context_core::UserId;

/// A short prefix of every word of a user in a shared index, so that a search reads only words of
/// that user.
///
/// The tag has thirty bits of a hash. Two users may share a tag, so stores must still check the
/// owner of a hit. It is the same in every process and version of this crate, because stores
/// persist it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTag([u8; Self::LENGTH]);

impl UserTag {
    /// Length of a tag in bytes.
    pub const LENGTH: usize = 6;

    /// Returns the tag of a user.
    pub fn of(user: &UserId) -> Self {
        let hash = blake3::hash(user.as_str().as_bytes());
        let digit =
            |i: usize| b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(hash.as_bytes()[i] & 31)];
        Self(std::array::from_fn(digit))
    }

    /// Returns the tag as text: letters and digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_never_changes() {
        assert_eq!(UserTag::of(&"ada".into()).as_str(), "3nupwt");
    }
}
