//! The checksums of what fields hold apart from packed messages, which have their own: four bytes behind a value. Each takes the name of
//! the field, so a value that was moved does not pass. What scripts count up themselves has none: the check counts it again.

use bytes::Bytes;
use context_core::checksum::Checksum;

use crate::error::{Fault, Result};

const DAMAGED: Fault = Fault::Corrupt("a stored value is not what was written: its checksum differs", None);

fn of(field: &str) -> Checksum {
    Checksum::of("field").text(field)
}

/// The value with its checksum behind it.
pub(crate) fn seal(field: &str, value: Vec<u8>) -> Vec<u8> {
    of(field).seal(value)
}

/// The value in front of its checksum.
pub(crate) fn open(field: &str, sealed: &Bytes) -> Result<Bytes> {
    of(field).open(sealed).map_err(|_| DAMAGED)
}

/// The same of bytes that are somebody else's.
pub(crate) fn opened<'a>(field: &str, sealed: &'a [u8]) -> Result<&'a [u8]> {
    let (value, sum) = sealed.split_last_chunk().ok_or(DAMAGED)?;
    of(field).bytes(value).check(u32::from_le_bytes(*sum)).map_err(|_| DAMAGED)?;
    Ok(value)
}

/// The checksum of an edge of a round.
pub(crate) fn edge(record: &[u8]) -> [u8; 4] {
    Checksum::of("edge").bytes(record).value().to_le_bytes()
}

/// The refusal of a value that is not what was written.
pub(crate) fn damaged() -> Fault {
    DAMAGED
}
