//! The checksums of what rows hold apart from packed messages, which have their own: four bytes behind a value, or a column.
//! Each takes what names the row and what the row shows beside the value, so a value that was moved does not pass.

use bytes::Bytes;
use context_core::checksum::Checksum;
use context_core::{BlobId, ChatRef, Checkpoint, MessageId, StreamId, Timestamp};

use crate::error::{Fault, Result};

/// A chat's metadata, with its title and when it was made.
pub(crate) fn chat(chat: &ChatRef, title: Option<&str>, created_at: Timestamp) -> Checksum {
    let names = Checksum::of("chat").text(chat.user.as_str()).text(chat.chat.as_str());
    names.optional_text(title).int(created_at.as_micros())
}

/// A fragment's body, with all that its row says of it.
pub(crate) fn fragment(id: Option<&str>, kind: &str, version: i64, metadata: &[u8]) -> Checksum {
    Checksum::of("fragment").optional_text(id).text(kind).int(version).bytes(metadata)
}

/// What a message was, and when that was replaced.
pub(crate) fn revision(message: &MessageId, replaced_at: Timestamp) -> Checksum {
    Checksum::of("revision").text(message.as_str()).int(replaced_at.as_micros())
}

/// A piece of a blob.
pub(crate) fn piece(blob: &BlobId, n: i64) -> Checksum {
    Checksum::of("blob_piece").bytes(&blob.as_bytes()[..]).int(n)
}

/// A chunk of a stream.
pub(crate) fn chunk(stream: &StreamId, n: i64) -> Checksum {
    Checksum::of("stream_chunk").text(stream.as_str()).int(n)
}

/// A record of a memory.
pub(crate) fn memory(place: i64, version: i64) -> Checksum {
    Checksum::of("memory").int(place).int(version)
}

/// A checkpoint, whose checksum is a column.
pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> i64 {
    let names = Checksum::of("checkpoint").text(checkpoint.name.as_str()).text(checkpoint.message.as_str());
    i64::from(names.int(checkpoint.created_at.as_micros()).value())
}

/// The value in front of its checksum.
pub(crate) fn open(checksum: Checksum, sealed: &Bytes, problem: &'static str) -> Result<Bytes> {
    checksum.open(sealed).map_err(|_| Fault::Corrupt(problem, None))
}

/// The same of bytes that belong to a row.
pub(crate) fn opened<'a>(checksum: Checksum, sealed: &'a [u8], problem: &'static str) -> Result<&'a [u8]> {
    let (content, sum) = sealed.split_last_chunk().ok_or(Fault::Corrupt(problem, None))?;
    checksum.bytes(content).check(u32::from_le_bytes(*sum)).map_err(|_| Fault::Corrupt(problem, None))?;
    Ok(content)
}
