//! The checksums of what rows hold apart from packed messages, which have their own: four bytes
//! behind a value, or a column. Each takes what names the row and what the row shows beside the
//! value, so a value that was moved does not pass.

use bytes::Bytes;
use context_core::base::{BlobId, StreamId};
use context_core::store::{Checkpoint, StoredStream, StreamState};
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::checksum::Checksum;

use crate::error::{Fault, Result};

/// A chat's metadata, with its title and when it was made.
pub(crate) fn chat(chat: &ChatRef, title: Option<&str>, created_at: Timestamp) -> Checksum {
    let names = Checksum::of("chat").text(chat.user.as_str()).text(chat.chat.as_str());
    names.optional_text(title).int(created_at.as_micros())
}

/// The name of the active branch of a chat.
pub(crate) fn active(chat: &ChatRef, name: &str) -> Vec<u8> {
    let names = Checksum::of("active").text(chat.user.as_str()).text(chat.chat.as_str());
    names.text(name).value().to_le_bytes().to_vec()
}

/// When something was last written to or used, and how often it was amended: a sum that SQL changes
/// by the difference.
pub(crate) fn times(updated_at: i64, amended: i64) -> i64 {
    !(updated_at ^ (amended << 32))
}

/// The name of a branch of the chat of this number.
pub(crate) fn branch_name(chat: i64, name: Option<&str>) -> Vec<u8> {
    Checksum::of("branch").int(chat).optional_text(name).value().to_le_bytes().to_vec()
}

/// A branch of the chat of this number: its name, and where and when it forks.
pub(crate) fn branch(
    chat: i64,
    name: Option<&str>,
    (parent, base): (Option<i64>, i64),
    created_at: Timestamp,
) -> Vec<u8> {
    let fork =
        Checksum::of("fork").int(chat).optional_int(parent).int(base).int(created_at.as_micros());
    [&branch_name(chat, name)[..], &fork.value().to_le_bytes()].concat()
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

/// The number of a stream's chat, which stands in front of the chunks.
pub(crate) fn stream_mark(stream: &StreamId, chat: i64) -> Vec<u8> {
    chunk(stream, -1).seal(chat.to_be_bytes().to_vec())
}

/// A stream: who writes to it since when, and how it ended. An append without an end changes
/// neither.
pub(crate) fn stream(stream: &StoredStream) -> Vec<u8> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let claim = Checksum::of("stream").text(stream.id.as_str()).int(i64::from(stream.run));
    let claim = claim.optional_text(stream.writer.as_ref().map(|writer| writer.as_str()));
    let claim = claim.int(stream.created_at.as_micros()).optional_int(micros(stream.started_at));
    let claim = claim.optional_int(micros(stream.cancel_requested_at));
    let end = stream_end(&stream.id, stream.state, stream.error.as_deref(), stream.finished_at);
    [&claim.value().to_le_bytes()[..], &end].concat()
}

/// The end of a stream.
pub(crate) fn stream_end(
    stream: &StreamId,
    state: StreamState,
    error: Option<&str>,
    finished_at: Option<Timestamp>,
) -> Vec<u8> {
    let end =
        Checksum::of("stream_end").text(stream.as_str()).text(state.as_str()).optional_text(error);
    end.optional_int(finished_at.map(Timestamp::as_micros)).value().to_le_bytes().to_vec()
}

/// A blob as the chat of this number knows it: since when, and as which media type.
pub(crate) fn reference(
    chat: i64,
    blob: &BlobId,
    media_type: Option<&str>,
    created_at: Timestamp,
) -> Vec<u8> {
    let of = || Checksum::of("blob_ref").int(chat).bytes(&blob.as_bytes()[..]);
    let parts = [of().int(created_at.as_micros()), of().optional_text(media_type)];
    parts.into_iter().flat_map(|part| part.value().to_le_bytes()).collect()
}

/// A record of a memory.
pub(crate) fn memory(place: i64, version: i64) -> Checksum {
    Checksum::of("memory").int(place).int(version)
}

/// A vector of a memory.
pub(crate) fn vector(place: i64, model: &str) -> Checksum {
    Checksum::of("memory_vector").int(place).text(model)
}

/// A checkpoint, whose checksum is a column.
pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> i64 {
    let names =
        Checksum::of("checkpoint").text(checkpoint.name.as_str()).text(checkpoint.message.as_str());
    i64::from(names.int(checkpoint.created_at.as_micros()).value())
}

/// The value in front of its checksum.
pub(crate) fn open(checksum: Checksum, sealed: &Bytes, problem: &'static str) -> Result<Bytes> {
    checksum.open(sealed).map_err(|_| Fault::Corrupt(problem, None))
}

/// The same of bytes that belong to a row.
pub(crate) fn opened<'a>(
    checksum: Checksum,
    sealed: &'a [u8],
    problem: &'static str,
) -> Result<&'a [u8]> {
    let (content, sum) = sealed.split_last_chunk().ok_or(Fault::Corrupt(problem, None))?;
    checksum
        .bytes(content)
        .check(u32::from_le_bytes(*sum))
        .map_err(|_| Fault::Corrupt(problem, None))?;
    Ok(content)
}
