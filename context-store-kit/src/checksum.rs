//! Checksums of stored values, bound to the owner of the value.
//!
//! Every record of [`pack`](crate::pack) has a checksum. For all other stored values
//! there is [`Checksum`]. It covers the kind of the thing, its names (chat, id, number) and its
//! content, so that a value that was moved to another row or column fails the check.
//!
//! A store keeps the number in a column of its own, or appends it to the bytes of a value:
//!
//! ```
//! use context_store_kit::checksum::Checksum;
//!
//! let place = || Checksum::of("stream_chunk").int(7).text("answer");
//!
//! // In a column of its own.
//! let kept = place().bytes(b"Hello").value();
//! assert!(place().bytes(b"Hello").check(kept).is_ok());
//! assert!(place().bytes(b"Jello").check(kept).is_err());
//!
//! // Appended to the bytes.
//! let sealed = place().seal(b"Hello".to_vec());
//! assert_eq!(place().open(&sealed.into())?, "Hello");
//! # Ok::<_, context_store_kit::checksum::ChecksumError>(())
//! ```
//!
//! A checksum detects damage. It does not protect against deliberate changes.

use bytes::Bytes;
use crc32fast::Hasher;

/// Number of bytes that [`Checksum::seal`] appends.
pub const SEAL_BYTES: usize = 4;

/// The checksum of a value that was damaged or moved does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the checksum differs")]
pub struct ChecksumError;

/// A CRC-32 over typed fields. The type and the length of each field are included, so `"ab", "c"`
/// differs from `"a", "bc"`.
#[derive(Clone, Debug)]
#[must_use]
pub struct Checksum(Hasher);

impl Checksum {
    /// Starts the checksum of a thing of this kind, usually the name of its table or key.
    pub fn of(kind: &str) -> Self {
        Self(Hasher::new()).text(kind)
    }

    /// Adds a number.
    pub fn int(mut self, value: i64) -> Self {
        self.0.update(&tagged(b'i', value.to_le_bytes()));
        self
    }

    /// Adds fields that were concatenated before.
    pub fn fields(mut self, fields: &Fields) -> Self {
        self.0.update(&fields.0);
        self
    }

    /// Adds a text.
    pub fn text(self, value: &str) -> Self {
        self.field(b't', value.as_bytes())
    }

    /// Adds bytes.
    pub fn bytes(self, value: &[u8]) -> Self {
        self.field(b'b', value)
    }

    /// Adds a text or its absence.
    pub fn optional_text(self, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(value),
            None => self.none(),
        }
    }

    /// Adds a number or its absence.
    pub fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.none(),
        }
    }

    /// Adds the absence of a value.
    pub fn none(mut self) -> Self {
        self.0.update(b"n");
        self
    }

    /// Returns the checksum of all added fields.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0.finalize()
    }

    /// Compares the checksum of all added fields with a stored one.
    pub fn check(self, kept: u32) -> Result<(), ChecksumError> {
        if self.value() == kept { Ok(()) } else { Err(ChecksumError) }
    }

    /// Adds bytes and returns them with the checksum appended.
    #[must_use]
    pub fn seal(self, mut content: Vec<u8>) -> Vec<u8> {
        let sum = self.bytes(&content).value();
        content.extend_from_slice(&sum.to_le_bytes());
        content
    }

    /// Checks the checksum and returns the bytes that were given to [`seal`](Self::seal), without
    /// copying them.
    pub fn open(self, sealed: &Bytes) -> Result<Bytes, ChecksumError> {
        let (content, sum) = sealed.split_last_chunk::<SEAL_BYTES>().ok_or(ChecksumError)?;
        self.bytes(content).check(u32::from_le_bytes(*sum))?;
        Ok(sealed.slice(..content.len()))
    }

    fn field(mut self, kind: u8, value: &[u8]) -> Self {
        self.0.update(&tagged(kind, (value.len() as u64).to_le_bytes()));
        self.0.update(value);
        self
    }
}

/// Concatenated fields for a [`Checksum`]. Useful for rows that are read by the thousand, because
/// hashing many short pieces takes several times as long as hashing one.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// Removes all fields and keeps the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a number.
    pub fn int(&mut self, value: i64) {
        self.0.extend_from_slice(&tagged(b'i', value.to_le_bytes()));
    }

    /// Adds a text.
    pub fn text(&mut self, value: &str) {
        self.0.extend_from_slice(&tagged(b't', (value.len() as u64).to_le_bytes()));
        self.0.extend_from_slice(value.as_bytes());
    }

    /// Adds the absence of a value.
    pub fn none(&mut self) {
        self.0.push(b'n');
    }
}

fn tagged(kind: u8, bytes: [u8; 8]) -> [u8; 9] {
    let mut field = [kind; 9];
    field[1..].copy_from_slice(&bytes);
    field
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let of = || Checksum::of("t");
        let all = [
            of().text("ab").text("c").value(),
            of().text("a").text("bc").value(),
            of().text("abc").value(),
            of().bytes(b"abc").value(),
            of().text("abc").none().value(),
            of().text("abc").text("").value(),
            of().text("abc").int(0).value(),
            Checksum::of("u").text("abc").value(),
        ];
        for (n, sum) in all.iter().enumerate() {
            assert!(!all[..n].contains(sum), "{n}");
        }
    }

    proptest! {
        #[test]
        fn fields_put_together_count_as_one_by_one(
            values in proptest::collection::vec(proptest::option::of((any::<i64>(), ".{0,40}")),
                0..9),
        ) {
            let mut fields = Fields::default();
            fields.text("of another row");
            fields.clear();
            let mut sum = Checksum::of("t").int(7);
            for value in &values {
                match value {
                    Some((number, text)) => {
                        fields.int(*number);
                        fields.text(text);
                        sum = sum.int(*number).text(text);
                    }
                    None => {
                        fields.none();
                        sum = sum.none();
                    }
                }
            }
            prop_assert_eq!(Checksum::of("t").int(7).fields(&fields).value(), sum.value());
        }

        #[test]
        fn a_sealed_value_opens_where_it_belongs_and_nowhere_else(
            content: Vec<u8>, row: i64, other: i64, at: proptest::sample::Index, bit in 0u8..8,
        ) {
            let mut sealed = Checksum::of("t").int(row).seal(content.clone());
            let open = |row, sealed: &[u8]| {
                Checksum::of("t").int(row).open(&Bytes::copy_from_slice(sealed))
            };
            prop_assert_eq!(open(row, &sealed).unwrap(), content);
            prop_assert_eq!(open(other, &sealed).is_ok(), other == row);
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(open(row, &sealed).is_err());
            prop_assert!(open(row, &sealed[..at]).is_err());
        }
    }
}
