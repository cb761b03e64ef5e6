//! The fields of memory records and the lists they are in. Each scope has its own keys, and all
//! keys of a user are in one slot.
//!
//! ```text
//! memory2      i<id> place and version; b<place> version and record (JSON); e<place> its lists and counters
//! vectors2     <place> the tag of its embedder and length, its numbers
//! recall       h<list> the head of a list, p<block><list> the rows of a block of it
//! remembered   scope; r, w, v, y: numbers of records, words, vectors and bytes; k<kind> number of the kind, c<number> its records; n last number
//! forgotten    marks
//! ```
//!
//! A list has the places of the records of one kind that have a term. Its name is the number of the
//! kind, followed by the term.
//!
//! ```text
//! a            all             k, s, m<hash>   a key, a session, a message of one
//! w<word>      a word          v<hash>         vectors of an embedder, of a length
//! ```
//!
//! Places are divided into blocks of 1,024. A row is a place in its block (2 bytes) and a note (4
//! bytes): for a word, its number of occurrences and the number of words of the record. The head
//! has the number of rows and the numbers of the blocks. If there is only one block, the head has
//! its rows as well. A list of any length can thus be read block by block from either end.

use context_core::SessionId;
use context_core::memory::{MemoryRecord, MemorySource, MemoryVector};
use context_core::store::MemoryWrite;

use crate::checksums;
use crate::error::{Fault, Result};

/// The number of places in a block, which the scripts use as well. It is part of the layout and
/// must never change.
pub(crate) const PLACES: u64 = 1024;
/// The size of a row in bytes.
pub(crate) const ROW: usize = 6;
/// The number of bytes that identify the embedder and length of a vector.
pub(crate) const TAG: usize = 16;

pub(crate) fn broken() -> Fault {
    Fault::Corrupt("a memory cannot be read", None)
}

/// The term of all records.
pub(crate) const ALL: &[u8] = b"a";

pub(crate) fn word(word: &str) -> Vec<u8> {
    [b"w", word.as_bytes()].concat()
}

pub(crate) fn key(key: &str) -> Vec<u8> {
    hashed(b'k', &[key])
}

pub(crate) fn session(session: &SessionId) -> Vec<u8> {
    hashed(b's', &[session.as_str()])
}

/// Returns the term of records that come from a source.
pub(crate) fn source(source: &MemorySource) -> Vec<u8> {
    match &source.message {
        Some(message) => hashed(b'm', &[source.session.as_str(), message.as_str()]),
        None => session(&source.session),
    }
}

/// Returns the term of vectors of the same embedder and length.
pub(crate) fn vector(vector: &MemoryVector) -> Vec<u8> {
    hashed(b'v', &[&vector.model, &vector.values.len().to_string()])
}

/// Returns the stored form of a vector.
pub(crate) fn write_vector(of: &MemoryVector) -> Vec<u8> {
    checksums::seal("v", [&vector(of)[1..], &of.to_bytes()].concat())
}

fn hashed(kind: u8, parts: &[&str]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let mut term = vec![kind];
    term.extend(&hasher.finalize().as_bytes()[..TAG]);
    term
}

/// Returns the terms of a record other than its words.
pub(crate) fn terms(record: &MemoryRecord, of: Option<&[u8]>) -> Vec<Vec<u8>> {
    let mut terms = vec![ALL.to_vec()];
    terms.extend(record.key.as_deref().map(key));
    if let Some(from) = &record.source {
        terms.push(session(&from.session));
        terms.extend(from.message.is_some().then(|| source(from)));
    }
    terms.extend(of.map(|tag| [b"v", tag].concat()));
    terms
}

/// Returns a row's note: the occurrences of a word and the number of words of the record. The
/// limits on records keep both within their two bytes.
fn noted(often: u32, length: u32) -> [u8; 4] {
    (often.saturating_sub(1) << 16 | length.saturating_sub(1)).to_be_bytes()
}

/// Reads a row's note: the occurrences of a word, and the number of words of the record.
pub(crate) fn read_noted(noted: [u8; 4]) -> (u32, u64) {
    let [a, b, c, d] = noted;
    (u32::from(u16::from_be_bytes([a, b])) + 1, u64::from(u16::from_be_bytes([c, d])) + 1)
}

/// Returns the lists and counters of a record, without the number of its kind.
pub(crate) fn record_index(write: &MemoryWrite) -> Vec<u8> {
    let record = &write.record;
    let mut words: Vec<&str> = write.words().collect();
    let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
    words.sort_unstable();
    let mut about = Vec::with_capacity(256 + write.words.len());
    about.extend(length.to_be_bytes());
    about.extend(u32::try_from(record.text.len()).unwrap_or(u32::MAX).to_be_bytes());
    about.extend(MemoryRecord::mark(&record.scope, &record.id));
    about.push(u8::from(write.vector.is_some()));
    push(&mut about, record.id.as_str().as_bytes());
    let tag = write.vector.as_ref().map(vector);
    for term in terms(record, tag.as_ref().map(|tag| &tag[1..])) {
        push(&mut about, &term);
        about.extend([0; 4]);
    }
    for same in words.chunk_by(|one, other| one == other) {
        push(&mut about, &word(same[0]));
        about.extend(noted(u32::try_from(same.len()).unwrap_or(u32::MAX), length));
    }
    about
}

fn push(into: &mut Vec<u8>, bytes: &[u8]) {
    // No term and no id is longer than a word may be.
    into.extend(u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes());
    into.extend(bytes);
}

/// The lists and counters of a record.
pub(crate) struct RecordIndex<'a> {
    pub(crate) kind: u32,
    pub(crate) words: u64,
    pub(crate) bytes: u64,
    pub(crate) has_vector: bool,
    pub(crate) id: &'a [u8],
    /// The terms, each with the note of its row.
    pub(crate) terms: Vec<(&'a [u8], [u8; 4])>,
}

impl<'a> RecordIndex<'a> {
    pub(crate) fn read(about: &'a [u8]) -> Result<Self> {
        let mut rest = about;
        let [kind, words, bytes] = [u32_of(&mut rest)?, u32_of(&mut rest)?, u32_of(&mut rest)?];
        let _mark: [u8; 16] = take(&mut rest)?;
        let [has_vector] = take(&mut rest)?;
        let id = text(&mut rest)?;
        let mut terms = Vec::new();
        while !rest.is_empty() {
            terms.push((text(&mut rest)?, take(&mut rest)?));
        }
        let (words, bytes) = (u64::from(words), u64::from(bytes));
        Ok(Self { kind, words, bytes, has_vector: has_vector == 1, id, terms })
    }
}

pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk().ok_or_else(broken)?;
    *rest = behind;
    Ok(*taken)
}

pub(crate) fn u32_of(rest: &mut &[u8]) -> Result<u32> {
    take(rest).map(u32::from_be_bytes)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::from(u16::from_be_bytes(take(rest)?));
    let (text, behind) = rest.split_at_checked(length).ok_or_else(broken)?;
    *rest = behind;
    Ok(text)
}

/// Returns the name of a list: a term among the records of a kind.
pub(crate) fn list(kind: u32, term: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes(), term].concat()
}

/// Returns the field of a block of a list.
pub(crate) fn block(block: u32, kind: u32, term: &[u8]) -> Vec<u8> {
    [b"p", &block.to_be_bytes()[..], &kind.to_be_bytes(), term].concat()
}

#[cfg(test)]
mod tests {
    use context_core::Timestamp;
    use context_core::memory::MemoryScope;

    use super::*;

    #[test]
    fn what_a_record_is_filed_under_is_read_back() {
        let scope = MemoryScope::new("ada");
        let mut record = MemoryRecord::new(scope, "m", "episode", Timestamp::default(), "Text");
        record.source = Some(MemorySource::message("s", "1"));
        let write = MemoryWrite::new(record, "b a  b c");
        let about = [&7u32.to_be_bytes()[..], &record_index(&write)].concat();
        let read = RecordIndex::read(&about).unwrap();
        assert_eq!(
            (read.kind, read.words, read.bytes, read.has_vector, read.id),
            (7, 4, 4, false, &b"m"[..])
        );
        let words: Vec<_> = read.terms.iter().filter(|(term, _)| term[0] == b'w').collect();
        let words: Vec<_> =
            words.iter().map(|(term, row)| (&term[1..], read_noted(*row))).collect();
        assert_eq!(words, [(&b"a"[..], (1, 4)), (b"b", (2, 4)), (b"c", (1, 4))]);
        assert_eq!(read.terms.len(), 6);
        assert!(RecordIndex::read(&about[..about.len() - 1]).is_err());
        assert_eq!(read_noted(noted(1 << 16, 1 << 16)), (1 << 16, 1 << 16));
    }

    const TERM: u32 = 1_940_197_655;

    /// Stored records are found by these terms, so the hashes must never change.
    #[test]
    fn terms_never_change() {
        let first = |term: Vec<u8>| u32::from_be_bytes([term[0], term[1], term[2], term[3]]);
        assert_eq!(first(session(&"s".into())), TERM);
        assert_ne!(
            source(&MemorySource::message("s", "m")),
            source(&MemorySource::message("sm", ""))
        );
    }
}
