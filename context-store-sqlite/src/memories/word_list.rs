//! The stored form of a record's words: the number of each word and how often it occurs.
//!
//! Ranking reads the lists of hundreds of records. A list is therefore short, names its record, and
//! can be concatenated with others into one value.

use context_store_kit::checksum::{Checksum, SEAL_BYTES};

use crate::error::{Fault, Result};

const DAMAGED: Fault = Fault::Corrupt("a list of words of a memory cannot be read", None);

/// The words of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordList {
    /// The place of the record.
    pub(crate) place: i64,
    /// The number of the record's kind, which belongs to one scope.
    pub(crate) kind: i64,
    /// The numbers of the words, ascending, each with its number of occurrences.
    pub(crate) words: Vec<(i64, u32)>,
}

impl WordList {
    /// Returns the number of words of the record, counting repetitions.
    pub(crate) fn length(&self) -> u64 {
        self.words.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Returns the text that FTS5 indexes: each word once.
    pub(crate) fn tokens(&self) -> String {
        let tokens: Vec<String> = self.words.iter().map(|(no, _)| token(*no)).collect();
        tokens.join(" ")
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.words.len() * 3);
        for number in [self.place, self.kind, self.words.len() as i64] {
            put(number.unsigned_abs(), &mut bytes);
        }
        let mut last = 0;
        for (no, count) in &self.words {
            // Most words occur once, which takes a single bit.
            put(no.abs_diff(last) << 1 | u64::from(*count > 1), &mut bytes);
            if *count > 1 {
                put(u64::from(*count), &mut bytes);
            }
            last = *no;
        }
        let sum = sum_of(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads the next of several concatenated lists into `self`.
    pub(crate) fn read(&mut self, bytes: &mut &[u8]) -> Result<()> {
        self.words.clear();
        let whole = *bytes;
        (self.place, self.kind) = (take_number(bytes)?, take_number(bytes)?);
        let words = take(bytes).ok_or(DAMAGED)?;
        let mut last: i64 = 0;
        for _ in 0..words {
            let number = take(bytes).ok_or(DAMAGED)?;
            last = i64::try_from(number >> 1)
                .ok()
                .and_then(|step| last.checked_add(step))
                .ok_or(DAMAGED)?;
            let count = if number & 1 == 1 { take(bytes).ok_or(DAMAGED)? } else { 1 };
            self.words.push((last, u32::try_from(count).map_err(|_| DAMAGED)?));
        }
        let list = &whole[..whole.len() - bytes.len()];
        let (sum, rest) = bytes.split_first_chunk::<SEAL_BYTES>().ok_or(DAMAGED)?;
        *bytes = rest;
        if *sum == sum_of(list) { Ok(()) } else { Err(DAMAGED) }
    }

    /// Reads the only list of these bytes.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        let mut list = Self::default();
        list.read(&mut bytes)?;
        if bytes.is_empty() { Ok(list) } else { Err(DAMAGED) }
    }
}

/// Returns a word's token in the index.
pub(crate) fn token(no: i64) -> String {
    format!("{no:x}")
}

/// Returns the checksum that follows a list.
pub(crate) fn sum_of(list: &[u8]) -> [u8; SEAL_BYTES] {
    Checksum::of("memory_words").bytes(list).value().to_le_bytes()
}

/// Writes a variable-length integer: seven bits per byte, the lowest first, with the eighth bit set
/// in all bytes but the last.
fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_number(bytes: &mut &[u8]) -> Result<i64> {
    take(bytes).and_then(|number| i64::try_from(number).ok()).ok_or(DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_were_written() {
        let lists = [
            WordList { place: 1, kind: 2, words: Vec::new() },
            WordList {
                place: 300,
                kind: 1,
                words: vec![(1, 1), (127, 2), (70_000, 65_536), (i64::MAX >> 2, 1)],
            },
        ];
        let all: Vec<u8> = lists.iter().flat_map(WordList::to_bytes).collect();
        let (mut bytes, mut list) = (all.as_slice(), WordList::default());
        for expected in &lists {
            list.read(&mut bytes).unwrap();
            assert_eq!(list, *expected);
            assert_eq!(WordList::from_bytes(&expected.to_bytes()).unwrap(), *expected);
        }
        assert!(bytes.is_empty());
        assert_eq!(lists[1].length(), 1 + 2 + 65_536 + 1);
        assert_eq!(lists[1].tokens(), "1 7f 11170 1fffffffffffffff");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let bytes = WordList { place: 9, kind: 1, words: vec![(5, 3)] }.to_bytes();
        for bad in [&[][..], &bytes[..2], &[0x80; 12], &[bytes.as_slice(), &[0]].concat()] {
            assert!(WordList::from_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
