//! The limits every store keeps, checked before anything is written.
//!
//! Stores call these functions first thing, so the same input is refused by each with the same
//! words. What a layer has [sealed] counts as what is in it.

use std::collections::HashSet;

use crate::{
    AgentRef, ChatRef, Commit, Error, MemoryId, MemoryScope, Metadata, NewChat, Node, Result,
    StoredFragment, StreamId, Target, sealed,
};

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

/// Refuses an agent or round with a bad user or session.
pub fn check_agent(operation: &'static str, agent: &AgentRef) -> Result<()> {
    check_id(operation, "user", agent.user.as_str())?;
    check_id(operation, "session", agent.session.as_str())
}

/// Refuses a bad scope of memories, bad names of memories and too many of them.
pub fn check_memory_ids(
    operation: &'static str,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<()> {
    scope.check(operation)?;
    check_length(operation, "memories", ids.len(), MAX_PAGE)?;
    ids.iter().try_for_each(|id| check_id(operation, "memory", id.as_str()))
}

/// Refuses what [`check_memory_ids`] does, and too many neighbours.
pub fn check_memory_neighbours(
    operation: &'static str,
    scope: &MemoryScope,
    ids: &[MemoryId],
    each_side: usize,
) -> Result<()> {
    check_memory_ids(operation, scope, ids)?;
    check_length(operation, "neighbours", each_side, MAX_MEMORY_NEIGHBOURS)
}

/// Refuses a chat that cannot be created.
pub fn check_new_chat(new: &NewChat) -> Result<()> {
    check_chat("create_chat", &new.chat)?;
    check_title("create_chat", new.title.as_deref())?;
    check_metadata("create_chat", &new.metadata)
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

/// Refuses a commit that is wrong in itself, whatever the store holds.
pub fn check_commit(commit: &Commit) -> Result<()> {
    const OPERATION: &str = "commit";
    check_chat(OPERATION, &commit.chat)?;
    match &commit.target {
        Target::Stay if commit.nodes.is_empty() => {}
        Target::Stay => {
            return Err(Error::invalid(OPERATION, "new messages need a branch to go to"));
        }
        Target::Extend { branch, expected } => {
            check_id(OPERATION, "branch", branch.as_str())?;
            expected.iter().try_for_each(|id| check_id(OPERATION, "expected", id.as_str()))?;
        }
        Target::Fork { name, at, .. } => {
            check_id(OPERATION, "branch", name.base().as_str())?;
            at.iter().try_for_each(|id| check_id(OPERATION, "at", id.as_str()))?;
        }
    }
    if let Some(key) = &commit.key {
        check_id(OPERATION, "key", key.as_str())?;
    }
    let changed = || commit.amendments.iter().chain(&commit.redactions);
    let items = commit.nodes.len() + changed().count() + commit.fragments.len();
    if items > MAX_COMMIT_ITEMS {
        return Err(Error::invalid(OPERATION, "too many items in one commit")
            .with("items", items)
            .with("limit", MAX_COMMIT_ITEMS));
    }
    let mut seen = HashSet::with_capacity(commit.nodes.len());
    for node in commit.nodes.iter().chain(changed()) {
        check_node(OPERATION, node)?;
        if !seen.insert(&node.id) {
            return Err(Error::invalid(OPERATION, "the same message twice in one commit")
                .with("message", &node.id));
        }
    }
    commit.fragments.iter().try_for_each(|fragment| check_fragment(OPERATION, fragment))?;
    commit.patch.iter().try_for_each(|patch| patch.check(OPERATION))
}

/// Refuses a persisted fragment that is too large or has a bad id.
pub fn check_fragment(operation: &'static str, fragment: &StoredFragment) -> Result<()> {
    fragment.id.iter().try_for_each(|id| check_id(operation, "fragment", id.as_str()))?;
    check_id(operation, "fragment kind", fragment.body.kind())?;
    check_length(operation, "fragment", sealed::form_length(&fragment.body), MAX_BODY_BYTES)?;
    check_metadata(operation, &fragment.metadata)
}

/// Refuses a message with a bad id or too large a body.
pub fn check_node(operation: &'static str, node: &Node) -> Result<()> {
    check_id(operation, "message", node.id.as_str())?;
    check_length(operation, "body kind", node.body().kind().len(), 255)?;
    check_length(operation, "body", sealed::form_length(node.body()), MAX_BODY_BYTES)
        .map_err(|error| error.with("message", &node.id))
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
