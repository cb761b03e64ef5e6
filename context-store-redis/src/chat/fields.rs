//! The fields of a chat's hash, and the forms of the small ones.
//!
//! ```text
//! v            version of the structure: another one after every write but a plain append
//! a            messages, bytes, time of the last write: changes with every write
//! o            number of the chat, and how often stored messages were changed or removed
//! m            user, chat, title, metadata, time of creation (JSON)
//! s            branches, forks, checkpoints (JSON, [`BranchTree`](crate::chat::tree::BranchTree))
//! x            the list of fragments, in order (JSON)
//! b<branch>    number of its piece, number of messages of the piece, head
//! p<piece>     number of messages before it, and the position after which it forks (0 0: a root)
//! y<piece>     the positions of its boundaries
//! n<piece>:<n> a run of packed messages: one byte with their number, then the messages from the nth on
//! i<id>        position of a message
//! q<id>        number of revisions of a message; r<k><id>: the kth, its time of replacement and its content
//! f<n>         a fragment
//! g            the versions of fragments, in order (JSON); g<n>: content that a fragment had in version n
//! h            number of the newest entry of the log of references; h<n>: the entry in slot n
//! l            end, number and owner of the last lease
//! k<key>       outcome of the commit with this key (JSON)
//! z, t, u, c   streams, see the module `streams::fields`
//! ```
//!
//! A piece holds the messages that were written through one branch. No run crosses a multiple of
//! 64. The checksums before a value (`v`, `a`, `o`, `l`, `t`) or after it are described in
//! [`checksums`](crate::checksums).

use context_core::base::limits::MAX_REF_CHANGES;
use context_core::{MessageId, Timestamp};

use crate::checksums;
use crate::error::Result;
use crate::values::{Numbers, time, unreadable};

/// The number of messages in a block of a piece.
pub(crate) const BLOCK: u64 = 64;
/// The maximum number of bytes packed into a run of several messages. A larger message has a run of
/// its own.
pub(crate) const RUN_BYTES: usize = 256 << 10;

/// The field of the versions of fragments.
pub(crate) const VERSIONS: &str = "g";

/// The field of the newest entry of the log of references.
pub(crate) const REFS: &str = "h";

/// The field of the last lease.
pub(crate) const LEASE: &str = "l";

/// The position of a message: its piece, and its number in the piece, from 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct Position {
    pub(crate) piece: u64,
    pub(crate) pos: u64,
}

impl Position {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(value);
        Ok(Self { piece: numbers.number()?, pos: numbers.number()? })
    }

    pub(crate) fn write(self) -> Vec<u8> {
        format!("{} {}", self.piece, self.pos).into()
    }

    /// Returns the first message of its block.
    pub(crate) fn block(self) -> u64 {
        (self.pos - 1) / BLOCK * BLOCK + 1
    }
}

/// The end of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) piece: u64,
    pub(crate) own: u64,
    pub(crate) head: Option<MessageId>,
}

impl Tip {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(value);
        let (piece, own) = (numbers.number()?, numbers.number()?);
        let head = std::str::from_utf8(numbers.rest()).map_err(|_| unreadable())?;
        Ok(Self { piece, own, head: (!head.is_empty()).then(|| head.into()) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let head = self.head.as_ref().map_or("", MessageId::as_str);
        format!("{} {} {head}", self.piece, self.own).into()
    }
}

/// The counters that every write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChatCounts {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) updated_at: Timestamp,
}

impl ChatCounts {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(checksums::text_of("a", value)?.as_bytes());
        let (messages, bytes) = (numbers.number()?, numbers.number()?);
        Ok(Self { messages, bytes, updated_at: numbers.time()? })
    }

    pub(crate) fn write(self) -> Vec<u8> {
        checksums::summed(
            "a",
            &format!("{} {} {}", self.messages, self.bytes, time(self.updated_at)),
        )
    }
}

/// The number of the chat in the store, and how often stored messages were changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) number: u64,
    pub(crate) changes: u64,
}

impl Generation {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(checksums::text_of("o", value)?.as_bytes());
        Ok(Self { number: numbers.number()?, changes: numbers.number()? })
    }

    pub(crate) fn write(self) -> Vec<u8> {
        checksums::summed("o", &format!("{} {}", self.number, self.changes))
    }

    pub(crate) fn changed(self) -> Self {
        Self { changes: self.changes + 1, ..self }
    }

    /// Returns the generation that a chain reports.
    pub(crate) fn shown(self) -> u64 {
        (self.number << 32) + self.changes
    }

    pub(crate) fn of_shown(shown: u64) -> Self {
        Self { number: shown >> 32, changes: shown & u64::from(u32::MAX) }
    }
}

/// Reads the positions of boundaries.
pub(crate) fn read_boundaries(value: Option<&[u8]>) -> Result<Vec<u64>> {
    let text = std::str::from_utf8(value.unwrap_or_default()).map_err(|_| unreadable())?;
    text.split_ascii_whitespace().map(|pos| pos.parse().map_err(|_| unreadable())).collect()
}

pub(crate) fn write_boundaries(positions: &[u64]) -> Vec<u8> {
    let texts: Vec<_> = positions.iter().map(u64::to_string).collect();
    texts.join(" ").into()
}

pub(crate) fn branch(name: &str) -> String {
    format!("b{name}")
}

pub(crate) fn piece(no: u64) -> String {
    format!("p{no}")
}

pub(crate) fn boundaries(piece: u64) -> String {
    format!("y{piece}")
}

pub(crate) fn run(at: Position) -> String {
    format!("n{}:{}", at.piece, at.pos)
}

pub(crate) fn id(id: &MessageId) -> String {
    format!("i{id}")
}

pub(crate) fn revisions(id: &MessageId) -> String {
    format!("q{id}")
}

pub(crate) fn revision(nth: u64, id: &MessageId) -> String {
    format!("r{nth:010}{id}")
}

pub(crate) fn fragment(no: u64) -> String {
    format!("f{no}")
}

/// The content that a fragment had in a version.
pub(crate) fn version(number: u64) -> String {
    format!("{VERSIONS}{number}")
}

/// The field of an entry of the log of references. An entry takes the slot of the one that is not
/// kept any longer.
pub(crate) fn ref_change(number: u64) -> String {
    format!("{REFS}{}", number % MAX_REF_CHANGES)
}

pub(crate) fn key(key: &context_core::base::CommitKey) -> String {
    format!("k{key}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn small_forms_are_read_as_written(piece: u64, own: u64,
            head in proptest::option::of("(?s).{1,9}"), at: i64) {
            let tip = Tip { piece, own, head: head.map(Into::into) };
            prop_assert_eq!(&Tip::read(&tip.write()).unwrap(), &tip);
            let position = Position { piece, pos: own };
            prop_assert_eq!(Position::read(&position.write()).unwrap(), position);
            let counts = ChatCounts { messages: piece, bytes: own,
                updated_at: Timestamp::from_micros(at) };
            prop_assert_eq!(ChatCounts::read(&counts.write()).unwrap(), counts);
            let generation = Generation { number: piece >> 32, changes: own >> 32 };
            prop_assert_eq!(Generation::of_shown(generation.shown()), generation);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = (Tip::read(&bytes).is_ok(), ChatCounts::read(&bytes).is_ok(),
                read_boundaries(Some(&bytes)).is_ok());
        }
    }
}
