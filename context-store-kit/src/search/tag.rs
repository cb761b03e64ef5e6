//! What keeps the words of users apart in one index.

use context_core::UserId;

/// A short text that stands in front of every word of a user in a shared index, so a search reads
/// what that user has written and nothing else.
///
/// Thirty bits of a hash: two users may have the same one, so a store still asks whose a hit is.
/// The same in every process and version of this crate, because stores keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTag([u8; Self::LENGTH]);

impl UserTag {
    /// How many bytes a tag has.
    pub const LENGTH: usize = 6;

    /// The tag of a user.
    pub fn of(user: &UserId) -> Self {
        let hash = blake3::hash(user.as_str().as_bytes());
        let digit =
            |i: usize| b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(hash.as_bytes()[i] & 31)];
        Self(std::array::from_fn(digit))
    }

    /// Its text: letters and digits.
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
