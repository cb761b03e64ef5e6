//! The checksums of fields other than packed messages, which have their own: four bytes after a
//! value. A checksum covers the name of the field, so a value that was moved is detected. Texts
//! that scripts write have their checksum in front. Ends of branches, places and counts have no
//! checksum: the check compares them with the data.

use bytes::Bytes;
use context_store_kit::checksum::Checksum;

use crate::error::{Fault, Result};

/// The number of characters of a checksum in front of a text.
const SUM: usize = 8;
const DAMAGED: Fault = Fault::Corrupt("a stored value does not match its checksum", None);

fn of(field: &str) -> Checksum {
    Checksum::of("field").text(field)
}

/// Returns the value followed by its checksum.
pub(crate) fn seal(field: &str, value: Vec<u8>) -> Vec<u8> {
    of(field).seal(value)
}

/// Returns the value before its checksum, or an error if they disagree.
pub(crate) fn open(field: &str, sealed: &Bytes) -> Result<Bytes> {
    of(field).open(sealed).map_err(|_| DAMAGED)
}

/// Returns the value before its checksum, for borrowed bytes.
pub(crate) fn opened<'a>(field: &str, sealed: &'a [u8]) -> Result<&'a [u8]> {
    let (value, sum) = sealed.split_last_chunk().ok_or(DAMAGED)?;
    of(field).bytes(value).check(u32::from_le_bytes(*sum)).map_err(|_| DAMAGED)?;
    Ok(value)
}

/// Returns a text that scripts write as well, with its checksum in front: the first characters of a
/// SHA-1, which scripts can compute too.
pub(crate) fn summed(field: &str, text: &str) -> Vec<u8> {
    let mut hash = sha1_smol::Sha1::new();
    for part in [field, " ", text] {
        hash.update(part.as_bytes());
    }
    let sum = hash.digest().to_string();
    [&sum.as_bytes()[..SUM], b" ", text.as_bytes()].concat()
}

/// Returns the text after its checksum, or an error if they disagree.
pub(crate) fn text_of<'a>(field: &str, value: &'a [u8]) -> Result<&'a str> {
    let text = value.get(SUM + 1..).and_then(|text| std::str::from_utf8(text).ok());
    text.filter(|text| summed(field, text) == value).ok_or(DAMAGED)
}

/// The checksum of an edge of a round.
pub(crate) fn edge(record: &[u8]) -> [u8; 4] {
    Checksum::of("edge").bytes(record).value().to_le_bytes()
}

/// Returns the error for a value that differs from its checksum.
pub(crate) fn damaged() -> Fault {
    DAMAGED
}
