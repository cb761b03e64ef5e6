//! Keys: the current one, which encrypts, and older ones, which only decrypt.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
pub(super) use context_cipher::KEY_BYTES;
use zeroize::Zeroizing;

/// The name of a key in the records that it has encrypted: 1 to 16 visible ASCII characters. It is
/// not secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; Self::BYTES]);

/// An error of a key or a key ring.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The name of a key is empty, too long, or has characters that are not visible ASCII.
    #[error("a key is named by 1 to 16 visible ASCII characters")]
    Id,
    /// The key does not have 32 bytes, or is not a text of 32 bytes.
    #[error("a key is 32 bytes, as 64 hexadecimal digits or as Base64")]
    Bytes,
    /// Two keys of a ring have the same name.
    #[error("two keys are named {0}")]
    Twice(KeyId),
    /// The file with the key cannot be read.
    #[error("the file with the key cannot be read")]
    File(#[from] std::io::Error),
    /// Others than the owner of the file with the key may read or write it.
    #[error(
        "others may read or write the file with the key, whose mode is {0:o}: `chmod 600` ends that"
    )]
    Permissions(u32),
    /// A file or a command has no key.
    #[error("there is no key")]
    None,
    /// The command that prints the key cannot be run.
    #[error("the command for the key cannot be run")]
    Command(#[source] std::io::Error),
    /// The command that prints the key failed, with this exit status if it had one.
    #[error("the command for the key failed")]
    CommandFailed(Option<i32>),
    /// A file of users' keys is not in the form that this program writes.
    #[error("this is not a file of users' keys, or it is damaged")]
    Form,
    /// A user's key cannot be decrypted with the master key.
    #[error("the key of a user cannot be decrypted with the master key")]
    Master(#[source] Box<super::record::SealError>),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
}

context_core::readable_debug!(KeyError);

/// A secret key of 32 bytes. The derived keys are wiped from memory when the value is dropped, and
/// are never shown.
#[derive(Clone)]
pub struct EncryptionKey {
    id: KeyId,
    records: Zeroizing<[u8; KEY_BYTES]>,
    blobs: Zeroizing<[u8; KEY_BYTES]>,
    nonces: Zeroizing<[u8; KEY_BYTES]>,
}

/// The keys of a store: the current one, which encrypts, and older ones, which only decrypt.
/// `Debug` shows only their names.
///
/// ```
/// use context_store_layers::{EncryptionKey, KeyError, KeyRing};
///
/// let text = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"; // out of a vault
/// let ring = KeyRing::new(EncryptionKey::from_text("2026-11", text)?);
/// let ring = ring.with_older(EncryptionKey::from_bytes("2026-10", &[7; 32])?)?;
/// assert_eq!((ring.current().id().as_str(), ring.older().len()), ("2026-11", 1));
/// assert!(matches!(EncryptionKey::from_text("short", "abc"), Err(KeyError::Bytes)));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone)]
pub struct KeyRing {
    current: EncryptionKey,
    older: Vec<EncryptionKey>,
}

impl KeyId {
    pub(super) const BYTES: usize = 16;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::BYTES);
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }

    pub(super) fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Reads the name in a record. Returns `None` if it is not a valid name.
    pub(super) fn from_record(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let id = Self(bytes);
        id.as_str().parse().ok().filter(|read| *read == id)
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let fits = (1..=Self::BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(KeyError::Id);
        }
        let mut id = [0; Self::BYTES];
        id[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self(id))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl EncryptionKey {
    /// Returns a key of these bytes, which should be random.
    pub fn from_bytes(id: &str, bytes: &[u8; KEY_BYTES]) -> Result<Self, KeyError> {
        let derive = |purpose| Zeroizing::new(blake3::derive_key(purpose, bytes));
        Ok(Self {
            id: id.parse()?,
            records: derive("context-store-layers 2026 encrypted records"),
            blobs: derive("context-store-layers 2026 encrypted blobs"),
            nonces: derive("context-store-layers 2026 synthetic nonces"),
        })
    }

    /// Parses a key written as 64 hexadecimal digits or as Base64. Surrounding white space is
    /// ignored.
    pub fn from_text(id: &str, text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        if text.len() == 2 * KEY_BYTES {
            let digit =
                |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
                let (high, low) = (digit(pair[0]), pair.get(1).and_then(|low| digit(*low)));
                *byte = high.zip(low).map(|(high, low)| high << 4 | low).ok_or(KeyError::Bytes)?;
            }
        } else {
            let forms = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
            let read = forms.iter().find_map(|form| form.decode(text).ok()).map(Zeroizing::new);
            let read = read.filter(|read| read.len() == KEY_BYTES).ok_or(KeyError::Bytes)?;
            key.copy_from_slice(&read);
        }
        Self::from_bytes(id, &key)
    }

    /// Reads a key from a file with 32 bytes or with a text for [`from_text`](Self::from_text).
    /// Blocks the thread.
    pub fn from_file(id: &str, path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let bytes = Zeroizing::new(std::fs::read(path)?);
        if let Ok(key) = <&[u8; KEY_BYTES]>::try_from(bytes.as_slice()) {
            return Self::from_bytes(id, key);
        }
        Self::from_text(id, std::str::from_utf8(&bytes).map_err(|_| KeyError::Bytes)?)
    }

    /// Returns the name of the key.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub(super) fn records(&self) -> &[u8; KEY_BYTES] {
        &self.records
    }

    pub(super) fn blobs(&self) -> &[u8; KEY_BYTES] {
        &self.blobs
    }

    /// Returns a hasher for a keyed hash, which only a holder of the key can compute.
    pub(super) fn hasher(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.nonces)
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptionKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Returns a ring of one key.
    pub fn new(current: EncryptionKey) -> Self {
        Self { current, older: Vec::new() }
    }

    /// Adds a key that decrypts records it once encrypted.
    pub fn with_older(mut self, key: EncryptionKey) -> Result<Self, KeyError> {
        if self.get(key.id()).is_some() {
            return Err(KeyError::Twice(key.id));
        }
        self.older.push(key);
        Ok(self)
    }

    /// Returns the key that encrypts.
    pub fn current(&self) -> &EncryptionKey {
        &self.current
    }

    /// Returns the keys that only decrypt.
    pub fn older(&self) -> &[EncryptionKey] {
        &self.older
    }

    /// Returns the key of this name.
    pub fn get(&self, id: &KeyId) -> Option<&EncryptionKey> {
        std::iter::once(&self.current).chain(&self.older).find(|key| key.id == *id)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<_> = self.older.iter().map(EncryptionKey::id).collect();
        f.debug_struct("KeyRing").field("current", &self.current.id).field("older", &older).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_in_all_its_forms() {
        let bytes: [u8; 32] = std::array::from_fn(|i| (i * 37) as u8);
        let key = EncryptionKey::from_bytes("k1", &bytes).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, bytes).unwrap();
        for same in [
            EncryptionKey::from_text("k1", &format!(" {hex}\n")).unwrap(),
            EncryptionKey::from_text("k1", &STANDARD.encode(bytes)).unwrap(),
            EncryptionKey::from_text("k1", &URL_SAFE_NO_PAD.encode(bytes)).unwrap(),
            EncryptionKey::from_file("k1", &path).unwrap(),
        ] {
            assert_eq!(same.records(), key.records());
        }
        assert_ne!(key.records(), key.blobs());
        assert!(EncryptionKey::from_file("k1", folder.path().join("none")).is_err());
        for bad in ["", "abc", &"é".repeat(32), &hex[1..], &STANDARD.encode([0; 31])] {
            assert!(matches!(EncryptionKey::from_text("k1", bad), Err(KeyError::Bytes)), "{bad}");
        }
    }

    #[test]
    fn names_are_short_and_shown_and_nothing_else_is() {
        for bad in ["", "a b", "ключ", "seventeen-letters"] {
            assert!(bad.parse::<KeyId>().is_err(), "{bad}");
        }
        let key = |id| EncryptionKey::from_bytes(id, &[7; 32]).unwrap();
        let ring = KeyRing::new(key("b")).with_older(key("a")).unwrap();
        assert_eq!(format!("{ring:?}"), r#"KeyRing { current: "b", older: ["a"] }"#);
        assert_eq!(format!("{:?}", ring.current()), r#"EncryptionKey { id: "b", .. }"#);
        assert!(matches!(ring.with_older(key("b")), Err(KeyError::Twice(_))));
        assert_eq!(KeyId::from_record(*b"k1\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "k1".parse().ok());
        assert_eq!(KeyId::from_record(*b"k1\0x\0\0\0\0\0\0\0\0\0\0\0\0"), None);
    }
}
