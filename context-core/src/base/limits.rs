//! The limits every store keeps, checked before anything is written.
//!
//! Stores call these functions first thing, so the same input is refused by each with the same
//! words. What a layer has [sealed] counts as what is in it.

use crate::base::{StreamId, sealed};
use crate::{ChatRef, Error, Metadata, Result};

/// The longest id or name, in bytes.
pub const MAX_ID_BYTES: usize = 512;
/// The longest title, in bytes.
pub const MAX_TITLE_BYTES: usize = 4096;
/// The largest body of a message or fragment, in bytes.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// The largest metadata of a chat, as JSON, in bytes.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// The largest blob, in bytes.
pub const MAX_BLOB_BYTES: usize = 64 << 20;
/// The largest chunk of a stream, in bytes.
pub const MAX_CHUNK_BYTES: usize = 1 << 20;
/// The most chunks of a stream.
pub const MAX_STREAM_CHUNKS: u64 = 1 << 20;
/// The most bytes of a stream.
pub const MAX_STREAM_BYTES: u64 = 64 << 20;
/// The most bytes of a stream that are read at once; a single chunk is always given.
pub const MAX_STREAM_PAGE_BYTES: usize = 4 << 20;
/// The most nodes, amendments, redactions and fragments of one commit together.
pub const MAX_COMMIT_ITEMS: usize = 10_000;
/// The most predecessors, or linked messages, of a node of a trajectory.
pub const MAX_PREDECESSORS: usize = 1000;
/// The most nodes of a round of a trajectory, those removed among them.
pub const MAX_ROUND_NODES: usize = 1 << 20;
/// The most versions of a node of a trajectory.
pub const MAX_NODE_VERSIONS: usize = 10_000;
/// The longest text of a search, in bytes.
pub const MAX_SEARCH_BYTES: usize = 4096;
/// The longest text of a memory, in bytes.
pub const MAX_MEMORY_BYTES: usize = 256 << 10;
/// The most words under which a memory is found.
pub const MAX_MEMORY_WORDS: usize = 1 << 16;
/// The most words, and the most kinds, that memories are looked for by.
pub const MAX_MEMORY_TERMS: usize = 64;
/// The most scopes that memories are looked for in.
pub const MAX_MEMORY_SCOPES: usize = 16;
/// The most memories on each side of one that are read with it.
pub const MAX_MEMORY_NEIGHBOURS: usize = 16;
/// The longest vector.
pub const MAX_VECTOR_LENGTH: usize = 16_384;
/// How many places of words in memories a store looks at, at least: the sum over the words of in
/// how many memories each is.
pub const EXACT_MEMORY_POSTINGS: u64 = 2_000;
/// How many vectors a store looks at, at least.
pub const EXACT_MEMORY_VECTORS: u64 = 10_000;
/// The largest page of a listing.
pub const MAX_PAGE: usize = 1000;

/// Refuses an empty id or name and one that is too long.
pub fn check_id(operation: &'static str, what: &'static str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(operation, "an id must not be empty").with("id", what));
    }
    check_length(operation, what, id.len(), MAX_ID_BYTES)
}

/// Refuses a chat reference with a bad part.
pub fn check_chat(operation: &'static str, chat: &ChatRef) -> Result<()> {
    check_id(operation, "user", chat.user.as_str())?;
    check_id(operation, "chat", chat.chat.as_str())
}

/// Refuses a chat or stream with a bad name.
pub fn check_stream(operation: &'static str, chat: &ChatRef, stream: &StreamId) -> Result<()> {
    check_chat(operation, chat)?;
    check_id(operation, "stream", stream.as_str())
}

/// Refuses a title that is too long.
pub fn check_title(operation: &'static str, title: Option<&str>) -> Result<()> {
    check_length(operation, "title", title.map_or(0, sealed::text_length), MAX_TITLE_BYTES)
}

/// Refuses metadata that is too large.
pub fn check_metadata(operation: &'static str, metadata: &Metadata) -> Result<()> {
    let bytes = metadata
        .iter()
        .map(|(key, value)| key.len() + sealed::json_length(value.as_str()) + 4)
        .sum();
    check_length(operation, "metadata", bytes, MAX_METADATA_BYTES)
}

/// Refuses a page size of zero or above [`MAX_PAGE`].
pub fn check_page(operation: &'static str, limit: usize) -> Result<()> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(());
    }
    Err(Error::invalid(operation, "a page holds at least one item and at most the limit")
        .with("asked", limit)
        .with("limit", MAX_PAGE))
}

pub(crate) fn check_length(
    operation: &'static str,
    what: &'static str,
    bytes: usize,
    limit: usize,
) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::invalid(operation, "too long")
        .with("what", what)
        .with("bytes", bytes)
        .with("limit", limit))
}
