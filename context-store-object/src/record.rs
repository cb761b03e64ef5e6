//! The content of objects that hold more than their name: JSON with a checksum that is bound to the
//! key, and the checksums of the pieces of a blob.

use std::ops::Range;

use bytes::Bytes;
use context_core::store::Chat;
use context_core::{Error, Result};
use context_store_kit::checksum::Checksum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bucket::corrupt;
use crate::keys::Nonce;

/// The size of a piece of a blob that has its own checksum. A partial read fetches whole pieces.
const PIECE_BYTES: u64 = 256 << 10;

/// A chat, in its object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChatRecord {
    /// The life of the chat, which a later chat of the same name does not have.
    pub(crate) life: String,
    pub(crate) chat: Chat,
    /// Whether the chat is being deleted: to everyone but a listing it is gone.
    pub(crate) deleted: bool,
}

impl ChatRecord {
    pub(crate) fn new(life: Nonce, chat: Chat) -> Self {
        Self { life: life.to_string(), chat, deleted: false }
    }

    pub(crate) fn life(&self, operation: &'static str, key: &str) -> Result<Nonce> {
        self.life.parse().map_err(|_| corrupt(operation, key, "a stored chat has no life"))
    }
}

/// A reference to a blob, in its object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RefRecord {
    /// The size of the blob.
    pub(crate) bytes: u64,
    /// The media type, if the first put had one.
    pub(crate) media_type: Option<String>,
    /// The checksums of the pieces.
    sums: Vec<u32>,
}

impl RefRecord {
    pub(crate) fn new(bytes: &Bytes, media_type: Option<String>) -> Self {
        let pieces = bytes.chunks(usize::try_from(PIECE_BYTES).unwrap_or(usize::MAX));
        Self { bytes: bytes.len() as u64, media_type, sums: pieces.map(crc32fast::hash).collect() }
    }

    /// Returns the pieces that a range is in, as a range of bytes. Empty if the range is.
    pub(crate) fn pieces(&self, range: &Range<u64>) -> Range<u64> {
        let range = self.clamp(range);
        if range.is_empty() {
            return 0..0;
        }
        let start = range.start / PIECE_BYTES * PIECE_BYTES;
        start..(range.end.div_ceil(PIECE_BYTES) * PIECE_BYTES).min(self.bytes)
    }

    /// Cuts a range out of its pieces. `None` if a checksum differs.
    pub(crate) fn cut(&self, pieces: &Bytes, range: &Range<u64>) -> Option<Bytes> {
        let (whole, range) = (self.pieces(range), self.clamp(range));
        if pieces.len() as u64 != whole.end - whole.start {
            return None;
        }
        let first = usize::try_from(whole.start / PIECE_BYTES).ok()?;
        let size = usize::try_from(PIECE_BYTES).ok()?;
        for (i, piece) in pieces.chunks(size).enumerate() {
            if self.sums.get(first + i) != Some(&crc32fast::hash(piece)) {
                return None;
            }
        }
        let at = |offset: u64| usize::try_from(offset.saturating_sub(whole.start)).ok();
        pieces.get(at(range.start)?..at(range.end)?).map(|cut| pieces.slice_ref(cut))
    }

    /// Clamps a range to the size. A range that ends before it begins is empty.
    fn clamp(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(self.bytes);
        let start = range.start.min(end);
        if start == end { 0..0 } else { start..end }
    }
}

/// Serializes a record for an object.
pub(crate) fn seal(operation: &'static str, key: &str, record: &impl Serialize) -> Result<Bytes> {
    let json = serde_json::to_vec(record).map_err(|error| {
        Error::invalid(operation, "a record cannot be written as JSON").with_source(error)
    })?;
    Ok(Checksum::of("object").text(key).seal(json).into())
}

/// Reads a record of an object.
pub(crate) fn open<T: DeserializeOwned>(
    operation: &'static str,
    key: &str,
    sealed: &Bytes,
) -> Result<T> {
    let json = Checksum::of("object").text(key).open(sealed);
    let json =
        json.map_err(|error| corrupt(operation, key, "an object is damaged").with_source(error))?;
    serde_json::from_slice(&json)
        .map_err(|error| corrupt(operation, key, "an object cannot be read").with_source(error))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_is_cut_out_of_its_pieces(
            length in 0u64..(3 * PIECE_BYTES), start: u64, end: u64, near: bool,
        ) {
            let bytes: Bytes = (0..length).map(|i| (i % 251) as u8).collect();
            let record = RefRecord::new(&bytes, None);
            let within = |at: u64| if near { at % (length + 2) } else { at };
            let range = within(start)..within(end);
            let pieces = record.pieces(&range);
            prop_assert!(pieces.end <= length && pieces.start <= pieces.end);
            let at = |offset: u64| usize::try_from(offset).unwrap();
            let fetched = bytes.slice(at(pieces.start)..at(pieces.end));
            let (from, to) = (range.start.min(length), range.end.min(length));
            let expected = bytes.slice(at(from.min(to))..at(to));
            prop_assert_eq!(record.cut(&fetched, &range), Some(expected));
        }

        #[test]
        fn a_changed_byte_is_noticed(at in 0usize..600_000, bit in 0u8..8) {
            let bytes = vec![7u8; 600_000];
            let record = RefRecord::new(&bytes.clone().into(), None);
            let mut changed = bytes;
            changed[at] ^= 1 << bit;
            prop_assert_eq!(record.cut(&changed.into(), &(0..u64::MAX)), None);
        }
    }

    #[test]
    fn a_record_is_bound_to_its_key() {
        let record = RefRecord::new(&Bytes::from_static(b"abc"), Some("text/plain".to_owned()));
        let sealed = seal("put_blob", "a/b", &record).unwrap();
        let read: RefRecord = open("blob", "a/b", &sealed).unwrap();
        assert_eq!((read.bytes, read.media_type.as_deref()), (3, Some("text/plain")));
        let moved = open::<RefRecord>("blob", "a/c", &sealed).unwrap_err();
        assert_eq!(moved.kind(), context_core::ErrorKind::Corrupt);
    }
}
