//! The checksums of rows other than packed messages, which have their own: four bytes after a
//! value, or a column. A checksum covers the key of the row and the other columns that belong to
//! the value, so a value that was moved is detected.

pub(crate) mod rounds;

use bytes::Bytes;
use context_core::base::{BlobId, StreamId};
use context_core::store::{Checkpoint, FragmentVersion, StoredFragment, StoredStream, StreamState};
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::checksum::Checksum;

use crate::error::{Fault, Result};
use crate::values::numbers::signed_count;

/// The checksum of a chat's metadata, title and time of creation.
pub(crate) fn chat(chat: &ChatRef, title: Option<&str>, created_at: Timestamp) -> Checksum {
    let names = Checksum::of("chat").text(chat.user.as_str()).text(chat.chat.as_str());
    names.optional_text(title).int(created_at.as_micros())
}

/// The checksum of the name of a chat's active branch.
pub(crate) fn active(chat: &ChatRef, name: &str) -> Vec<u8> {
    let names = Checksum::of("active").text(chat.user.as_str()).text(chat.chat.as_str());
    names.text(name).value().to_le_bytes().to_vec()
}

/// The checksum of a chat's lease.
pub(crate) fn lease(chat: &ChatRef, until: Timestamp) -> Checksum {
    let names = Checksum::of("lease").text(chat.user.as_str()).text(chat.chat.as_str());
    names.int(until.as_micros())
}

/// The checksum of the time of the last write or use and of the number of amendments. SQL can
/// update it by the difference.
pub(crate) fn times(updated_at: i64, amended: i64) -> i64 {
    !(updated_at ^ (amended << 32))
}

/// The checksum of the name of a branch of the chat of this number.
pub(crate) fn branch_name(chat: i64, name: Option<&str>) -> Vec<u8> {
    Checksum::of("branch").int(chat).optional_text(name).value().to_le_bytes().to_vec()
}

/// The checksum of a branch of the chat of this number: its name, the place of its fork, and its
/// time.
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

/// The checksum of a fragment's body and of the other columns of its row.
pub(crate) fn fragment(id: Option<&str>, kind: &str, version: i64, metadata: &[u8]) -> Checksum {
    Checksum::of("fragment").optional_text(id).text(kind).int(version).bytes(metadata)
}

/// The checksum of the row of a version of a fragment, but for its body.
pub(crate) fn fragment_version(chat: i64, version: &FragmentVersion, metadata: &[u8]) -> Checksum {
    let (number, place) = (signed_count(version.number), signed_count(version.place));
    let row = Checksum::of("fragment_version").int(chat).int(number).int(place);
    let row = row.optional_text(version.id.as_ref().map(|id| id.as_str()));
    let row = row.optional_int(version.at.map(Timestamp::as_micros));
    let row = row.optional_text(version.message.as_ref().map(|id| id.as_str()));
    match &version.fragment {
        Some(StoredFragment { body, .. }) => {
            row.optional_text(Some(body.kind())).int(i64::from(body.version())).bytes(metadata)
        }
        None => row.optional_text(None),
    }
}

/// The checksum of the row of an entry of the log of references, but for its change.
pub(crate) fn ref_change(chat: i64, number: i64, at: i64) -> Checksum {
    Checksum::of("ref_change").int(chat).int(number).int(at)
}

/// The checksum of an earlier revision of a message and of the time it was replaced.
pub(crate) fn revision(message: &MessageId, replaced_at: Timestamp) -> Checksum {
    Checksum::of("revision").text(message.as_str()).int(replaced_at.as_micros())
}

/// The checksum of a piece of a blob.
pub(crate) fn piece(blob: &BlobId, n: i64) -> Checksum {
    Checksum::of("blob_piece").bytes(&blob.as_bytes()[..]).int(n)
}

/// The checksum of a chunk of a stream.
pub(crate) fn chunk(stream: &StreamId, n: i64) -> Checksum {
    Checksum::of("stream_chunk").text(stream.as_str()).int(n)
}

/// The number of a stream's chat with its checksum. It is stored before the first chunk.
pub(crate) fn stream_mark(stream: &StreamId, chat: i64) -> Vec<u8> {
    chunk(stream, -1).seal(chat.to_be_bytes().to_vec())
}

/// The checksum of a stream: its writer, the time of its claim, and its end. An append without an
/// end changes none of these.
pub(crate) fn stream(stream: &StoredStream) -> Vec<u8> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let claim = Checksum::of("stream").text(stream.id.as_str()).int(i64::from(stream.run));
    let claim = claim.optional_text(stream.writer.as_ref().map(|writer| writer.as_str()));
    let claim = claim.int(stream.created_at.as_micros()).optional_int(micros(stream.started_at));
    let claim = claim.optional_int(micros(stream.cancel_requested_at));
    let end = stream_end(&stream.id, stream.state, stream.error.as_deref(), stream.finished_at);
    [&claim.value().to_le_bytes()[..], &end].concat()
}

/// The checksum of the end of a stream.
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

/// The checksum of a chat's reference to a blob: its time and its media type.
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

/// The checksum of a memory record.
pub(crate) fn memory(place: i64, version: i64) -> Checksum {
    Checksum::of("memory").int(place).int(version)
}

/// The checksum of the vector of a memory.
pub(crate) fn vector(place: i64, model: &str) -> Checksum {
    Checksum::of("memory_vector").int(place).text(model)
}

/// The checksum of a checkpoint, which is a column.
pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> i64 {
    let names =
        Checksum::of("checkpoint").text(checkpoint.name.as_str()).text(checkpoint.message.as_str());
    i64::from(names.int(checkpoint.created_at.as_micros()).value())
}

/// Returns the value before its checksum, or an error if they disagree.
pub(crate) fn open(checksum: Checksum, sealed: &Bytes, problem: &'static str) -> Result<Bytes> {
    checksum.open(sealed).map_err(|_| Fault::Corrupt(problem, None))
}

/// Returns the value before its checksum in bytes that belong to a row.
pub(crate) fn open_slice<'a>(
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
