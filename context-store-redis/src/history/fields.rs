//! The fields of a chat's hash, and the forms of the small ones.
//!
//! ```text
//! v            version of the structure: another one after every write but a plain append
//! a            messages, bytes, when it was last written to: changes with every write
//! o            number of the chat, and how often stored messages were changed or removed
//! m            whose it is and which, title, metadata (JSON)
//! s            branches, what was forked where, checkpoints (JSON, [`Shape`](crate::history::shape::Shape))
//! x            which fragments there are, in order (JSON)
//! b<branch>    number of its piece, how many messages the piece has, head
//! p<piece>     how many messages come before it, and the place it forks behind (0 0: a root)
//! y<piece>     where it has boundaries
//! n<piece>:<n> a run of packed messages: one byte that says how many, then those from the nth on
//! i<id>        where a message is
//! q<id>        how many revisions a message has; r<k><id>: the kth, when it was replaced and what it was
//! f<n>         a fragment
//! k<key>       what became of a commit with this key (JSON)
//! z, t, u, c   streams, see [`stream_fields`](crate::streams::fields)
//! ```
//!
//! A piece holds the messages that were written through one branch. No run crosses a multiple of
//! 64. The checksums before a value (`v`, `a`, `o`, `t`) or after it are described in
//! [`seals`](crate::seals).

use context_core::{MessageId, Timestamp};

use crate::error::{Fault, Result};
use crate::seals;

/// The number of messages in a block of a piece.
pub(crate) const BLOCK: u64 = 64;
/// The maximum number of bytes packed into a run of several messages. A larger message has a run of
/// its own.
pub(crate) const RUN_BYTES: usize = 256 << 10;

/// The place of a message: a piece, and the position in it, from 1.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct Place {
    pub(crate) piece: u64,
    pub(crate) pos: u64,
}

impl Place {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(value);
        Ok(Self { piece: numbers.next()?, pos: numbers.next()? })
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
        let (piece, own) = (numbers.next()?, numbers.next()?);
        let head = std::str::from_utf8(numbers.0).map_err(|_| broken())?;
        Ok(Self { piece, own, head: (!head.is_empty()).then(|| head.into()) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let head = self.head.as_ref().map_or("", MessageId::as_str);
        format!("{} {} {head}", self.piece, self.own).into()
    }
}

/// The counters that every write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) updated_at: Timestamp,
}

impl Counts {
    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        let mut numbers = Numbers::of(seals::text_of("a", value)?.as_bytes());
        let (messages, bytes) = (numbers.next()?, numbers.next()?);
        Ok(Self { messages, bytes, updated_at: time_of(numbers.next()?) })
    }

    pub(crate) fn write(self) -> Vec<u8> {
        seals::summed("a", &format!("{} {} {}", self.messages, self.bytes, time(self.updated_at)))
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
        let mut numbers = Numbers::of(seals::text_of("o", value)?.as_bytes());
        Ok(Self { number: numbers.next()?, changes: numbers.next()? })
    }

    pub(crate) fn write(self) -> Vec<u8> {
        seals::summed("o", &format!("{} {}", self.number, self.changes))
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

/// Returns a time as text whose byte order is the order of times, because scripts count in floating
/// point.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{:020}", at.as_micros().cast_unsigned() ^ SIGN)
}

fn time_of(number: u64) -> Timestamp {
    Timestamp::from_micros((number ^ SIGN).cast_signed())
}

/// Reads a time that [`time`] has written.
pub(crate) fn read_time(value: &[u8]) -> Result<Timestamp> {
    read_number(value).map(time_of)
}

const SIGN: u64 = 1 << 63;

/// Reads the positions of boundaries.
pub(crate) fn read_boundaries(value: Option<&[u8]>) -> Result<Vec<u64>> {
    let text = std::str::from_utf8(value.unwrap_or_default()).map_err(|_| broken())?;
    text.split_ascii_whitespace().map(|pos| pos.parse().map_err(|_| broken())).collect()
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

pub(crate) fn run(at: Place) -> String {
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

pub(crate) fn key(key: &context_core::base::CommitKey) -> String {
    format!("k{key}")
}

/// Numbers separated by spaces, followed by other data.
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn of(value: &'a [u8]) -> Self {
        Self(value)
    }

    fn next(&mut self) -> Result<u64> {
        let end = self.0.iter().position(|byte| *byte == b' ').unwrap_or(self.0.len());
        let text = std::str::from_utf8(&self.0[..end]).map_err(|_| broken())?;
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text.parse().map_err(|_| broken())
    }
}

/// Reads a field that is a single number.
pub(crate) fn read_number(value: &[u8]) -> Result<u64> {
    Numbers::of(value).next()
}

/// Returns the error for a field that this program did not write.
pub(crate) fn broken() -> Fault {
    Fault::Corrupt("a field of the chat cannot be read", None)
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
            let place = Place { piece, pos: own };
            prop_assert_eq!(Place::read(&place.write()).unwrap(), place);
            let counts = Counts { messages: piece, bytes: own,
                updated_at: Timestamp::from_micros(at) };
            prop_assert_eq!(Counts::read(&counts.write()).unwrap(), counts);
            let generation = Generation { number: piece >> 32, changes: own >> 32 };
            prop_assert_eq!(Generation::of_shown(generation.shown()), generation);
        }

        #[test]
        fn times_are_in_order_as_texts(a: i64, b: i64) {
            let (a, b) = (Timestamp::from_micros(a), Timestamp::from_micros(b));
            prop_assert_eq!(time(a).cmp(&time(b)), a.cmp(&b));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = (Tip::read(&bytes).is_ok(), Counts::read(&bytes).is_ok(),
                read_boundaries(Some(&bytes)).is_ok());
        }
    }
}
