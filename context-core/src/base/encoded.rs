//! The stored form of a value: bytes with a kind and a version.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Error, ErrorKind};

/// A stored form: kind, version and bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    kind: Arc<str>,
    version: u16,
    bytes: Bytes,
}

/// An error of encoding or decoding a stored form.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The stored form has another kind than expected.
    #[error("stored as {found:?}, not as {expected:?}")]
    WrongKind {
        /// The expected kind.
        expected: String,
        /// The stored kind.
        found: String,
    },
    /// A newer program wrote the stored form.
    #[error("{kind:?} is stored in version {version}, this program reads up to {known}")]
    NewerVersion {
        /// The kind.
        kind: String,
        /// The stored version.
        version: u16,
        /// The newest version that this program can read.
        known: u16,
    },
    /// The bytes do not match their kind and version.
    #[error("stored {kind:?} version {version} cannot be read")]
    Malformed {
        /// The kind.
        kind: String,
        /// The version.
        version: u16,
        /// The cause.
        source: serde_json::Error,
    },
    /// There is no upgrade from this version to the next.
    #[error("no upgrade from {kind:?} version {version} to a newer version")]
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
        /// The name of the fragment.
        name: String,
        /// The kind of the codec.
        kind: String,
        /// The cause.
        source: MisfitError,
    },
}

crate::readable_debug!(CodecError);

/// A mismatch between a fragment and a kind.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MisfitError {
    /// The fragment has another name.
    #[error("it is not named {expected:?}")]
    Name {
        /// The name of the kind.
        expected: &'static str,
    },
    /// The fragment holds a message or an unknown stored form.
    #[error("it holds no data")]
    NotData,
    /// The data, or a part of it, has the wrong type.
    #[error("{part} is no {expected}")]
    Shape {
        /// The part with the wrong type.
        part: &'static str,
        /// The expected type, such as a list.
        expected: &'static str,
    },
    /// A required part is missing.
    #[error("{part:?} is missing")]
    Missing {
        /// The part.
        part: &'static str,
    },
    /// The data has a part that the kind does not know.
    #[error("the kind has no place for {part:?}")]
    NoPlace {
        /// The part.
        part: String,
    },
    /// The data has no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another reason, for custom kinds.
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
    /// Creates a stored form.
    pub fn new(kind: impl Into<Arc<str>>, version: u16, bytes: impl Into<Bytes>) -> Self {
        Self { kind: kind.into(), version, bytes: bytes.into() }
    }

    /// Returns the kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the version.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Returns the bytes.
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
    /// Omits the content, which may be large or private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}, {} bytes", self.kind, self.version, self.bytes.len())
    }
}

impl CodecError {
    /// Creates the error for `encoded` with unreadable bytes.
    pub fn malformed(encoded: &Encoded, source: serde_json::Error) -> Self {
        Self::Malformed { kind: encoded.kind().to_owned(), version: encoded.version, source }
    }
}
