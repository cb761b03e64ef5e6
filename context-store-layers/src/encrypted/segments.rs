//! The bytes of blobs, encrypted in segments, so that a range can be read without the rest.
//!
//! An encrypted blob consists of the mark, the form (2), the variant, the name of the key, and 19
//! bytes of a nonce, followed by segments of 64 KiB with a tag each. The nonce of a segment
//! consists of those bytes, its number and whether it is the last one (the STREAM construction).
//! Its associated data names the user and the blob. No segment can be omitted, moved or cut off.

use std::ops::Range;

use bytes::Bytes;
use context_cipher::NONCE_BYTES;
use context_core::base::sealed::{BLOB_HEADER_BYTES, BYTES_MARK, SEGMENT_BYTES, SEGMENT_TAG_BYTES};

use super::associated_data::AssociatedData;
use super::keys::EncryptionKey;
use super::record::{SealError, synthetic};

const FORM: u8 = 2;
const PREFIX_BYTES: usize = 19;

/// The common prefix of the nonces of a blob.
pub(super) type Prefix = [u8; PREFIX_BYTES];

/// The parameters needed to decrypt a part of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealing {
    /// The number of plain bytes.
    pub(super) bytes: u64,
    /// Distinguishes two encrypted forms of the same bytes.
    pub(super) variant: u8,
    pub(super) prefix: Prefix,
}

/// The segments that a range needs, and the range within them.
pub(super) struct Part {
    /// A range of the encrypted blob.
    pub(super) sealed: Range<u64>,
    first: u64,
    /// A range of the plain text of those segments.
    within: Range<usize>,
}

pub(super) fn seal_blob(
    key: &EncryptionKey,
    data: &AssociatedData,
    variant: u8,
    plain: &[u8],
) -> (Sealing, Bytes) {
    let mut prefix = synthetic::<PREFIX_BYTES>(key, data, plain);
    // Otherwise two variants would share nonces. That is not a weakness, as their texts are the
    // same, but their bytes would be the same too.
    prefix[0] ^= variant;
    let sealing = Sealing { bytes: plain.len() as u64, variant, prefix };
    let segments = sealing.segments();
    let mut out = Vec::with_capacity(
        BLOB_HEADER_BYTES
            + plain.len()
            + SEGMENT_TAG_BYTES * plain.len().div_ceil(SEGMENT_BYTES).max(1),
    );
    out.extend_from_slice(&BYTES_MARK);
    out.extend_from_slice(&[FORM, variant]);
    out.extend_from_slice(key.id().as_bytes());
    out.extend_from_slice(&prefix);
    let mut rest = plain;
    for number in 0..segments {
        let (segment, behind) = rest.split_at(rest.len().min(SEGMENT_BYTES));
        rest = behind;
        let nonce = sealing.nonce(number);
        let text = context_cipher::seal(key.blobs(), &nonce, data.as_bytes(), segment);
        out.extend_from_slice(&text);
    }
    (sealing, out.into())
}

impl Sealing {
    fn segments(&self) -> u64 {
        self.bytes.div_ceil(SEGMENT_BYTES as u64).max(1)
    }

    /// Returns the number of bytes that the backend stores.
    pub(super) fn sealed_bytes(&self) -> u64 {
        BLOB_HEADER_BYTES as u64 + self.bytes + self.segments() * SEGMENT_TAG_BYTES as u64
    }

    fn nonce(&self, number: u64) -> [u8; NONCE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..PREFIX_BYTES].copy_from_slice(&self.prefix);
        // A blob is limited to a thousand segments.
        nonce[PREFIX_BYTES..23]
            .copy_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
        nonce[23] = u8::from(number + 1 == self.segments());
        nonce
    }

    /// Returns the part to read for a range, which is cut at the end of the bytes, or `None` if the
    /// range is empty.
    pub(super) fn part(&self, range: Range<u64>) -> Option<Part> {
        let (start, end) = (range.start, range.end.min(self.bytes));
        if start >= end {
            return None;
        }
        let segment = SEGMENT_BYTES as u64;
        let (first, last) = (start / segment, (end - 1) / segment);
        let at =
            |number: u64| BLOB_HEADER_BYTES as u64 + number * (segment + SEGMENT_TAG_BYTES as u64);
        let sealed = at(first)..at(last + 1).min(self.sealed_bytes());
        let skipped = first * segment;
        let within = usize::try_from(start - skipped).ok()?..usize::try_from(end - skipped).ok()?;
        Some(Part { sealed, first, within })
    }

    /// Decrypts the bytes that were read for a part.
    pub(super) fn open(
        &self,
        key: &EncryptionKey,
        data: &AssociatedData,
        part: &Part,
        sealed: &[u8],
    ) -> Result<Bytes, SealError> {
        let mut plain = Vec::with_capacity(sealed.len());
        for (number, segment) in
            (part.first..).zip(sealed.chunks(SEGMENT_BYTES + SEGMENT_TAG_BYTES))
        {
            if number >= self.segments() {
                return Err(SealError::Broken);
            }
            let nonce = self.nonce(number);
            let text = context_cipher::open(key.blobs(), &nonce, data.as_bytes(), segment);
            plain.extend(text.ok_or(SealError::Broken)?);
        }
        let plain = Bytes::from(plain);
        if part.within.end > plain.len() {
            return Err(SealError::Broken);
        }
        Ok(plain.slice(part.within.clone()))
    }
}

/// Returns the number of plain bytes of blobs with this many encrypted bytes: exact for one blob,
/// within a tag for each of several.
pub(super) fn plain_bytes(blobs: u64, sealed: u64) -> u64 {
    let (segment, tag) = (SEGMENT_BYTES as u64, SEGMENT_TAG_BYTES as u64);
    let rest = sealed.saturating_sub(blobs * (BLOB_HEADER_BYTES as u64 + tag));
    // The segments after the first of each blob.
    let more = if blobs == 1 {
        rest.saturating_sub(segment).div_ceil(segment + tag)
    } else {
        rest / (segment + tag)
    };
    rest - more * tag
}

#[cfg(test)]
mod tests {
    use context_core::UserId;
    use context_core::base::BlobId;
    use proptest::prelude::*;

    use super::*;

    fn key() -> EncryptionKey {
        EncryptionKey::from_bytes("k", &[3; 32]).unwrap()
    }

    fn data() -> AssociatedData {
        AssociatedData::blob(&UserId::from("ada"), &BlobId::of(b"x"))
    }

    fn noise(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * i / 7 + i) as u8).collect()
    }

    #[test]
    fn ranges_open_by_themselves() {
        for length in
            [0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES + 9]
        {
            let plain = noise(length);
            let (sealing, sealed) = seal_blob(&key(), &data(), 0, &plain);
            assert_eq!(sealing.sealed_bytes(), sealed.len() as u64);
            assert_eq!(plain_bytes(1, sealed.len() as u64), length as u64, "{length}");
            for start in [0, 1, SEGMENT_BYTES, length.saturating_sub(1), length] {
                for end in [0, 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, length, usize::MAX] {
                    let Some(part) = sealing.part(start as u64..end as u64) else {
                        assert!(start >= end.min(length));
                        continue;
                    };
                    let read = &sealed[part.sealed.start as usize..part.sealed.end as usize];
                    let opened = sealing.open(&key(), &data(), &part, read).unwrap();
                    assert_eq!(opened, plain[start..end.min(length)]);
                }
            }
        }
    }

    #[test]
    fn variants_share_no_byte_behind_their_header_by_rule() {
        let (one, other) =
            (seal_blob(&key(), &data(), 0, b"abc"), seal_blob(&key(), &data(), 1, b"abc"));
        assert_ne!(one.1[BLOB_HEADER_BYTES..], other.1[BLOB_HEADER_BYTES..]);
        assert_eq!(one.1, seal_blob(&key(), &data(), 0, b"abc").1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None,
            ..ProptestConfig::default() })]

        /// An altered, exchanged, omitted or cut segment cannot be decrypted.
        #[test]
        fn no_altered_segment_opens(at in 0..1usize << 20, flip in 1..=255u8, cut in 1..200usize) {
            let plain = noise(2 * SEGMENT_BYTES + 100);
            let (sealing, sealed) = seal_blob(&key(), &data(), 0, &plain);
            let segments = &sealed[BLOB_HEADER_BYTES..];
            let part = sealing.part(0..u64::MAX).unwrap();
            let open = |bytes: &[u8]| sealing.open(&key(), &data(), &part, bytes);
            prop_assert!(open(segments).is_ok());
            let mut altered = segments.to_vec();
            altered[at % segments.len()] ^= flip;
            prop_assert!(open(&altered).is_err());
            let (first, rest) = segments.split_at(SEGMENT_BYTES + SEGMENT_TAG_BYTES);
            let (second, last) = rest.split_at(SEGMENT_BYTES + SEGMENT_TAG_BYTES);
            prop_assert!(open(&[second, first, last].concat()).is_err());
            prop_assert!(open(&[first, last].concat()).is_err());
            prop_assert!(open(&[first, second].concat()).is_err());
            prop_assert!(open(&segments[..segments.len() - cut]).is_err());
            prop_assert!(open(&[segments, last].concat()).is_err());
        }
    }
}
