//! The name of a blob.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a blob: the hash of its bytes, BLAKE3 in 64 hexadecimal digits.
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
    /// How a message names a blob: this and the digits.
    pub const SCHEME: &'static str = "blob:";

    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The name of this hash.
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The blob that a [`MediaSource::Reference`](crate::message::MediaSource::Reference) or a text names,
    /// if it is one: `blob:` and the digits.
    pub fn from_reference(reference: &str) -> Option<Self> {
        reference.strip_prefix(Self::SCHEME)?.parse().ok()
    }

    /// How a message names it.
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

    /// Reads the digits.
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
