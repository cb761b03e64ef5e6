//! The name of a blob.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a blob: the BLAKE3 hash of its bytes, 64 hexadecimal digits as text.
///
/// ```
/// use context_core::base::BlobId;
///
/// let blob = BlobId::of(b"a long report");
/// assert_eq!(BlobId::from_reference(&blob.to_reference()), Some(blob)); // `blob:` and 64 digits
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The prefix of a blob reference in a message. The digits follow it.
    pub const SCHEME: &'static str = "blob:";

    /// Returns the name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Creates the name from a hash.
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Parses a reference, `blob:` and the digits, from a
    /// [`MediaSource::Reference`](crate::message::MediaSource::Reference) or a text. Returns `None`
    /// if `reference` names no blob.
    pub fn from_reference(reference: &str) -> Option<Self> {
        reference.strip_prefix(Self::SCHEME)?.parse().ok()
    }

    /// Returns the reference that a message uses: `blob:` and the digits.
    pub fn to_reference(self) -> String {
        format!("{}{self}", Self::SCHEME)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for BlobId {
    type Err = Error;

    /// Parses 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        let hash = blake3::Hash::from_hex(text);
        hash.map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| Error::invalid("blob", "a blob is named by 64 hexadecimal digits"))
    }
}

impl TryFrom<String> for BlobId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}
