//! The stored form of a value: bytes with a kind and a version.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Error, ErrorKind};

/// A stored form: what it is, which version of it, and the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    kind: Arc<str>,
    version: u16,
    bytes: Bytes,
}

/// Why a stored form could not be written or read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The stored form is of another kind than was asked for.
    #[error("stored as {found:?}, not as {expected:?}")]
    WrongKind {
        /// What was asked for.
        expected: String,
        /// What is stored.
        found: String,
    },
    /// Written by a newer program.
    #[error("{kind:?} is stored in version {version}, this program reads up to {known}")]
    NewerVersion {
        /// The kind.
        kind: String,
        /// The stored version.
        version: u16,
        /// The newest version this program reads.
        known: u16,
    },
    /// The bytes are not what their kind and version say.
    #[error("stored {kind:?} version {version} cannot be read")]
    Malformed {
        /// The kind.
        kind: String,
        /// The version.
        version: u16,
        /// Why.
        source: serde_json::Error,
    },
    /// A version from which nothing leads to the current one.
    #[error("no way from {kind:?} version {version} to a newer one")]
    NoUpcast {
        /// The kind.
        kind: String,
        /// The stored version.
        version: u16,
    },
    /// No codec of this kind is registered.
    #[error("no codec {kind:?} is registered")]
    NoCodec {
        /// The kind.
        kind: String,
    },
    /// The fragment does not fit the codec.
    #[error("fragment {name:?} does not fit codec {kind:?}: {source}")]
    Unsuitable {
        /// The fragment's name.
        name: String,
        /// The codec's kind.
        kind: String,
        /// Why.
        source: MisfitError,
    },
}

crate::readable_debug!(CodecError);

/// Why a fragment is not of a kind.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MisfitError {
    /// It is named otherwise.
    #[error("it is not named {expected:?}")]
    Name {
        /// The name of the kind.
        expected: &'static str,
    },
    /// It holds a message, or what nobody could read.
    #[error("it holds no data")]
    NotData,
    /// Its data, or a part of it, is not what it should be.
    #[error("{what} is no {expected}")]
    Shape {
        /// What of it.
        what: &'static str,
        /// What it should be, such as a list.
        expected: &'static str,
    },
    /// A part that is required is not there.
    #[error("{part:?} is missing")]
    Missing {
        /// The part.
        part: &'static str,
    },
    /// It holds something that the kind has no place for.
    #[error("the kind has no place for {part:?}")]
    NoPlace {
        /// The part.
        part: String,
    },
    /// It has no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another reason, of a kind of one's own.
    #[error("{0}")]
    Other(Cow<'static, str>),
}

crate::readable_debug!(MisfitError);

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Self {
        let kind = match &error {
            CodecError::Malformed { .. } | CodecError::NoUpcast { .. } => ErrorKind::Corrupt,
            CodecError::NewerVersion { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, "codec", error.to_string()).with_source(error)
    }
}

impl Encoded {
    /// A stored form.
    pub fn new(kind: impl Into<Arc<str>>, version: u16, bytes: impl Into<Bytes>) -> Self {
        Self { kind: kind.into(), version, bytes: bytes.into() }
    }

    /// What it is.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Which version of it.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Refuses another kind and a version newer than `known`.
    pub fn expect_kind(&self, kind: &str, known: u16) -> Result<(), CodecError> {
        if self.kind() != kind {
            return Err(CodecError::WrongKind {
                expected: kind.to_owned(),
                found: self.kind().to_owned(),
            });
        }
        if self.version > known {
            return Err(CodecError::NewerVersion {
                kind: kind.to_owned(),
                version: self.version,
                known,
            });
        }
        Ok(())
    }
}

impl fmt::Debug for Encoded {
    /// Without the content, which may be large or private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}, {} bytes", self.kind, self.version, self.bytes.len())
    }
}

impl CodecError {
    /// The bytes of `encoded` cannot be read.
    pub fn malformed(encoded: &Encoded, source: serde_json::Error) -> Self {
        Self::Malformed { kind: encoded.kind().to_owned(), version: encoded.version, source }
    }
}
