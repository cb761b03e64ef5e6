//! What a record of memories is filed under, and the fields it is kept in. All is of one scope, and
//! of a user in one place.
//!
//! ```text
//! memory2      i<id> place and version; b<place> version and record (JSON); e<place> what it is filed under
//! vectors2     <place> of what embedder and length, the numbers
//! recall       h<list> the head of a list, p<block><list> the rows of a block of it
//! remembered   scope; r, w, v, y: how many records, words, vectors and bytes; k<kind> its number, c<number> how many; n last number
//! forgotten    marks
//! ```
//!
//! A list has the places of the records of a kind that are filed under a term: the number of the
//! kind, then the term.
//!
//! ```text
//! a            all             k, s, m<hash>   a key, a session, a message of one
//! w<word>      a word          v<hash>         vectors of an embedder, of a length
//! ```
//!
//! Places are cut into blocks of 1,024. A row is a place in its block (2 bytes) and what is noted
//! of it (4): of a word, how often it is there and how many words the record has. The head says how
//! many rows there are and which blocks; if there is one alone, its rows as well. So a list of any
//! length is read a block at a time, from either end.

use context_core::SessionId;
use context_core::memory::MemorySource;
use context_core::memory::{MemoryRecord, MemoryVector};
use context_core::store::MemoryWrite;

use crate::error::{Fault, Result};
use crate::seals;

/// How many places a block has; the scripts know it as well. Part of the layout: it must never
/// change.
pub(crate) const PLACES: u64 = 1024;
/// How many bytes a row has.
pub(crate) const ROW: usize = 6;
/// How many bytes say of what embedder and length a vector is.
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

/// The term of what comes from there.
pub(crate) fn source(source: &MemorySource) -> Vec<u8> {
    match &source.message {
        Some(message) => hashed(b'm', &[source.session.as_str(), message.as_str()]),
        None => session(&source.session),
    }
}

/// The term of vectors like this one.
pub(crate) fn vector(vector: &MemoryVector) -> Vec<u8> {
    hashed(b'v', &[&vector.model, &vector.values.len().to_string()])
}

/// A vector as it is kept.
pub(crate) fn write_vector(of: &MemoryVector) -> Vec<u8> {
    seals::seal("v", [&vector(of)[1..], &of.to_bytes()].concat())
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

/// Under which terms a record is found, apart from its words.
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

/// How often a word is in a record of so many words, as a row notes it. None has more of them than
/// fit.
fn noted(often: u32, length: u32) -> [u8; 4] {
    (often.saturating_sub(1) << 16 | length.saturating_sub(1)).to_be_bytes()
}

/// What a row notes: how often, and of how many words.
pub(crate) fn read_noted(noted: [u8; 4]) -> (u32, u64) {
    let [a, b, c, d] = noted;
    (u32::from(u16::from_be_bytes([a, b])) + 1, u64::from(u16::from_be_bytes([c, d])) + 1)
}

/// What a record is filed under, and counted as, without the number of its kind.
pub(crate) fn about(write: &MemoryWrite) -> Vec<u8> {
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
    // No term is longer than a word, and no id either.
    into.extend(u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes());
    into.extend(bytes);
}

/// What a record is filed under.
pub(crate) struct About<'a> {
    pub(crate) kind: u32,
    pub(crate) words: u64,
    pub(crate) bytes: u64,
    pub(crate) has_vector: bool,
    pub(crate) id: &'a [u8],
    /// The terms, each with what its row notes.
    pub(crate) terms: Vec<(&'a [u8], [u8; 4])>,
}

impl<'a> About<'a> {
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

/// The name of a list: a term among the records of a kind.
pub(crate) fn list(kind: u32, term: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes(), term].concat()
}

/// The field of a block of a list.
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
        let about = [&7u32.to_be_bytes()[..], &about(&write)].concat();
        let read = About::read(&about).unwrap();
        assert_eq!(
            (read.kind, read.words, read.bytes, read.has_vector, read.id),
            (7, 4, 4, false, &b"m"[..])
        );
        let words: Vec<_> = read.terms.iter().filter(|(term, _)| term[0] == b'w').collect();
        let words: Vec<_> =
            words.iter().map(|(term, row)| (&term[1..], read_noted(*row))).collect();
        assert_eq!(words, [(&b"a"[..], (1, 4)), (b"b", (2, 4)), (b"c", (1, 4))]);
        assert_eq!(read.terms.len(), 6);
        assert!(About::read(&about[..about.len() - 1]).is_err());
        assert_eq!(read_noted(noted(1 << 16, 1 << 16)), (1 << 16, 1 << 16));
    }

    const TERM: u32 = 1_940_197_655;

    /// What is kept is found by these: other hashes would lose it.
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
