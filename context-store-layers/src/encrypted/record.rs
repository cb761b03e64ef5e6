//! The encryption and decryption of one record.
//!
//! A record consists of the mark, the form (1), the name of the key, the nonce, and the
//! XChaCha20-Poly1305 ciphertext of the text. The cipher authenticates the mark, the form, the name
//! of the key and the [`AssociatedData`] as well. The nonce is a keyed hash of associated data and
//! text, so the same text in the same place gives the same record, and no random source is needed.
//! Decryption verifies the hash, so a record can be decrypted with one key only.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use context_cipher::NONCE_BYTES;
use context_core::base::sealed::{BYTES_MARK, KIND, RECORD_BYTES, TEXT_MARK};
use context_core::{Encoded, Error, ErrorKind};

use super::associated_data::AssociatedData;
use super::keys::{EncryptionKey, KeyId, KeyRing};

/// The form that is written.
const FORM: u8 = 1;

const KEY: usize = BYTES_MARK.len() + 1;
const NONCE: usize = KEY + KeyId::BYTES;
const TEXT: usize = NONCE + NONCE_BYTES;

/// The reason why stored data could not be decrypted, which is the source of the store's error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The record was encrypted with a key that the ring does not have.
    #[error("sealed with the key {0}, which is not available")]
    UnknownKey(KeyId),
    /// The data is not encrypted, and the store does not accept plain data.
    #[error("stored without encryption")]
    Plain,
    /// The record was encrypted by a newer program.
    #[error("sealed in form {0}, which this program does not support")]
    NewerForm(u8),
    /// The record was altered, moved to another place, or encrypted with another key of the same
    /// name.
    #[error("altered, moved, or sealed with another key")]
    Broken,
    /// The keys of the user cannot be read.
    #[error("the keys of the user cannot be read")]
    Keys,
}

context_core::readable_debug!(SealError);

impl SealError {
    /// Converts the error to the store's error. `subject` is the kind of the record, `name` its
    /// name.
    pub(super) fn of(self, operation: &'static str, subject: &'static str, name: &str) -> Error {
        let kind = match &self {
            Self::UnknownKey(_) | Self::NewerForm(_) => ErrorKind::Unsupported,
            Self::Plain | Self::Broken => ErrorKind::Corrupt,
            Self::Keys => ErrorKind::Unavailable,
        };
        let error = Error::new(kind, operation, "the stored record cannot be decrypted")
            .with(subject, name);
        let error = match &self {
            Self::UnknownKey(id) => error.with("key", id),
            _ => error,
        };
        error.with_source(self)
    }
}

/// Encrypts and decrypts records.
#[derive(Debug)]
pub(super) struct Sealer {
    pub(super) ring: Arc<KeyRing>,
    pub(super) allow_plain: bool,
}

impl Sealer {
    pub(super) fn open(&self, data: &AssociatedData, record: &[u8]) -> Result<Vec<u8>, SealError> {
        let key = self.key(record)?;
        let (Some(nonce), Some(text)) = (record.get(NONCE..TEXT), record.get(TEXT..)) else {
            return Err(SealError::Broken);
        };
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SealError::Broken)?;
        let aad = associated(key, data);
        let plain = context_cipher::open(key.records(), &nonce, &aad, text);
        let plain = plain.ok_or(SealError::Broken)?;
        if synthetic(key, data, &plain) != nonce {
            return Err(SealError::Broken);
        }
        Ok(plain)
    }

    /// Returns the key of a record, which must be in the ring.
    pub(super) fn key(&self, sealed: &[u8]) -> Result<&EncryptionKey, SealError> {
        let id = key_of(sealed)?;
        self.ring.get(&id).ok_or(SealError::UnknownKey(id))
    }

    /// Whether a record was encrypted with another key than the current one.
    pub(super) fn is_old(&self, sealed: &[u8]) -> bool {
        key_of(sealed).ok().as_ref() != Some(self.ring.current().id())
    }

    /// Whether a stored form is plain or was encrypted with another key than the current one.
    pub(super) fn is_old_form(&self, form: &Encoded) -> bool {
        form_record(form).map_or(true, |record| self.is_old(record))
    }

    pub(super) fn open_text(&self, data: &AssociatedData, text: &str) -> Result<String, SealError> {
        match text_record(text) {
            Some(record) => {
                let plain = self.open(data, &record?)?;
                String::from_utf8(plain).map_err(|_| SealError::Broken)
            }
            None if self.allow_plain => Ok(text.to_owned()),
            None => Err(SealError::Plain),
        }
    }
}

/// Returns the name of a record's key.
pub(super) fn key_of(sealed: &[u8]) -> Result<KeyId, SealError> {
    if !sealed.starts_with(&BYTES_MARK) {
        return Err(SealError::Plain);
    }
    match sealed.get(BYTES_MARK.len()) {
        Some(1 | 2) => {}
        Some(form) => return Err(SealError::NewerForm(*form)),
        None => return Err(SealError::Broken),
    }
    let form = sealed[BYTES_MARK.len()];
    // A blob has one more byte before the name.
    let start = KEY + usize::from(form == 2);
    let id = sealed.get(start..start + KeyId::BYTES).and_then(|id| id.try_into().ok());
    id.and_then(KeyId::from_record).ok_or(SealError::Broken)
}

/// Returns the record of a stored form.
pub(super) fn form_record(form: &Encoded) -> Result<&Bytes, SealError> {
    if form.kind() == KIND { Ok(form.bytes()) } else { Err(SealError::Plain) }
}

/// Returns the record in an encrypted text, or `None` if the text is not encrypted.
pub(super) fn text_record(text: &str) -> Option<Result<Vec<u8>, SealError>> {
    let rest = text.strip_prefix(TEXT_MARK)?;
    Some(STANDARD_NO_PAD.decode(rest).map_err(|_| SealError::Broken))
}

pub(super) fn seal(key: &EncryptionKey, data: &AssociatedData, plain: &[u8]) -> Vec<u8> {
    let nonce = synthetic(key, data, plain);
    let aad = associated(key, data);
    let text = context_cipher::seal(key.records(), &nonce, &aad, plain);
    let mut record = Vec::with_capacity(RECORD_BYTES + plain.len());
    record.extend_from_slice(&BYTES_MARK);
    record.push(FORM);
    record.extend_from_slice(key.id().as_bytes());
    record.extend_from_slice(&nonce);
    record.extend_from_slice(&text);
    record
}

pub(super) fn seal_text(key: &EncryptionKey, data: &AssociatedData, plain: &str) -> String {
    record_text(&seal(key, data, plain.as_bytes()))
}

/// Returns a record as a text.
pub(super) fn record_text(record: &[u8]) -> String {
    let mut text = TEXT_MARK.to_owned();
    STANDARD_NO_PAD.encode_string(record, &mut text);
    text
}

/// Returns a keyed hash of associated data and text, which only a holder of the key can compute.
pub(super) fn synthetic<const N: usize>(
    key: &EncryptionKey,
    data: &AssociatedData,
    plain: &[u8],
) -> [u8; N] {
    let mut hash = key.hasher();
    hash.update(&(data.as_bytes().len() as u64).to_le_bytes())
        .update(data.as_bytes())
        .update(plain);
    let mut out = [0; N];
    hash.finalize_xof().fill(&mut out);
    out
}

fn associated(key: &EncryptionKey, data: &AssociatedData) -> Vec<u8> {
    let mut aad = Vec::with_capacity(KEY + KeyId::BYTES + data.as_bytes().len());
    aad.extend_from_slice(&BYTES_MARK);
    aad.push(FORM);
    aad.extend_from_slice(key.id().as_bytes());
    aad.extend_from_slice(data.as_bytes());
    aad
}

#[cfg(test)]
mod tests {
    use context_core::ChatRef;
    use proptest::prelude::*;

    use super::*;

    fn key(id: &str, byte: u8) -> EncryptionKey {
        EncryptionKey::from_bytes(id, &[byte; 32]).unwrap()
    }

    fn sealer(key: EncryptionKey) -> Sealer {
        Sealer { ring: Arc::new(KeyRing::new(key)), allow_plain: false }
    }

    fn data(chat: &str) -> AssociatedData {
        AssociatedData::title(&ChatRef::new("ada", chat))
    }

    #[test]
    fn the_same_text_in_the_same_place_is_the_same_record() {
        let (one, other) = (key("k", 1), key("l", 2));
        let record = seal(&one, &data("c"), b"secret");
        assert_eq!(record, seal(&one, &data("c"), b"secret"));
        assert_eq!(record.len(), b"secret".len() + RECORD_BYTES);
        for different in [
            seal(&one, &data("d"), b"secret"),
            seal(&one, &data("c"), b"Secret"),
            seal(&other, &data("c"), b"secret"),
        ] {
            assert_ne!(record[NONCE..], different[NONCE..]);
        }
        assert!(matches!(sealer(other).open(&data("c"), &record),
                Err(SealError::UnknownKey(id)) if id.as_str() == "k"));
        assert!(matches!(sealer(key("k", 2)).open(&data("c"), &record), Err(SealError::Broken)));
        assert!(matches!(sealer(one).open(&data("d"), &record), Err(SealError::Broken)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        /// Every byte is authenticated: the mark, the form, the key's name, the nonce, the text,
        /// the tag.
        #[test]
        fn no_altered_record_opens(
            plain in proptest::collection::vec(any::<u8>(), 0..40),
            flip in 1..=255u8,
            cut in 0..100usize,
        ) {
            let sealer = sealer(key("k", 1));
            let record = seal(sealer.ring.current(), &data("c"), &plain);
            prop_assert_eq!(sealer.open(&data("c"), &record).unwrap(), plain);
            for at in 0..record.len() {
                let mut altered = record.clone();
                altered[at] ^= flip;
                prop_assert!(sealer.open(&data("c"), &altered).is_err(), "byte {}", at);
            }
            prop_assert!(sealer.open(&data("c"), &record[..cut.min(record.len() - 1)]).is_err());
        }

        #[test]
        fn texts_come_back(plain in ".*") {
            let sealer = sealer(key("k", 1));
            let text = seal_text(sealer.ring.current(), &data("c"), &plain);
            prop_assert_eq!(sealer.open_text(&data("c"), &text).unwrap(), plain);
        }

        #[test]
        fn no_text_is_too_odd_to_be_refused(text in ".*") {
            let sealer = sealer(key("k", 1));
            prop_assert!(sealer.open_text(&data("c"), &text).is_err());
            let marked = format!("{TEXT_MARK}{text}");
            prop_assert!(sealer.open_text(&data("c"), &marked).is_err());
        }
    }
}
