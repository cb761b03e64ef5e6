//! The limits of every store, checked before anything is written.
//!
//! Stores call these functions first, so that every store refuses the same input with the same
//! message. Values that a layer has [sealed] are measured by their content.

use crate::base::{StreamId, sealed};
use crate::{ChatRef, Error, Metadata, Result};

/// Maximum length of an id or name in bytes.
pub const MAX_ID_BYTES: usize = 512;
/// Maximum length of a title in bytes.
pub const MAX_TITLE_BYTES: usize = 4096;
/// Maximum size of the body of a message or fragment in bytes.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Maximum size of a chat's metadata as JSON, in bytes.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// Maximum size of a blob in bytes.
pub const MAX_BLOB_BYTES: usize = 64 << 20;
/// Maximum size of a stream chunk in bytes.
pub const MAX_CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of chunks of a stream.
pub const MAX_STREAM_CHUNKS: u64 = 1 << 20;
/// Maximum size of a stream in bytes.
pub const MAX_STREAM_BYTES: u64 = 64 << 20;
/// Maximum number of bytes per read of a stream. A single chunk is always returned.
pub const MAX_STREAM_PAGE_BYTES: usize = 4 << 20;
/// Maximum number of nodes, amendments, redactions and fragments in a commit, counted together.
pub const MAX_COMMIT_ITEMS: usize = 10_000;
/// Number of the newest versions of persisted fragments that a chat keeps.
pub const MAX_FRAGMENT_VERSIONS: u64 = 256;
/// Number of the newest entries of the log of references that a chat keeps.
pub const MAX_REF_CHANGES: u64 = 1024;
/// Maximum number of predecessors, and of linked messages, of a trajectory node.
pub const MAX_PREDECESSORS: usize = 1000;
/// Maximum number of nodes in a trajectory round, including removed ones.
pub const MAX_ROUND_NODES: usize = 1 << 20;
/// Maximum number of versions of a trajectory node.
pub const MAX_NODE_VERSIONS: usize = 10_000;
/// Maximum length of a search text in bytes.
pub const MAX_SEARCH_BYTES: usize = 4096;
/// Maximum length of the text of a memory in bytes.
pub const MAX_MEMORY_BYTES: usize = 256 << 10;
/// Maximum number of words under which a memory is found.
pub const MAX_MEMORY_WORDS: usize = 1 << 16;
/// Maximum number of words, and of kinds, in a memory query.
pub const MAX_MEMORY_TERMS: usize = 64;
/// Maximum number of scopes in a memory query.
pub const MAX_MEMORY_SCOPES: usize = 16;
/// Maximum number of neighbours on each side of a memory.
pub const MAX_MEMORY_NEIGHBOURS: usize = 16;
/// Maximum number of components of a vector.
pub const MAX_VECTOR_LENGTH: usize = 16_384;
/// Minimum number of postings that a store examines for a memory query. The postings of a query are
/// the number of memories with each word, summed over the words.
pub const EXACT_MEMORY_POSTINGS: u64 = 2_000;
/// Minimum number of vectors that a store examines for a memory query.
pub const EXACT_MEMORY_VECTORS: u64 = 10_000;
/// Maximum number of items in a page of a listing.
pub const MAX_PAGE: usize = 1000;

/// Refuses an empty or too long id or name.
pub fn check_id(operation: &'static str, subject: &'static str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid(operation, "an id must not be empty").with("id", subject));
    }
    check_length(operation, subject, id.len(), MAX_ID_BYTES)
}

/// Refuses a chat reference with an invalid user or chat.
pub fn check_chat(operation: &'static str, chat: &ChatRef) -> Result<()> {
    check_id(operation, "user", chat.user.as_str())?;
    check_id(operation, "chat", chat.chat.as_str())
}

/// Refuses an invalid chat or stream id.
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
    subject: &'static str,
    bytes: usize,
    limit: usize,
) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::invalid(operation, "too long")
        .with("what", subject)
        .with("bytes", bytes)
        .with("limit", limit))
}
