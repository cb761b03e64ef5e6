//! Complete reads of what a chat holds, page by page.

use bytes::Bytes;
use context_core::base::{StreamId, limits};
use context_core::message::PlacedNode;
use context_core::store::{Blob, BlobStore, HistoryStore, PageWalk, StoredStream, StreamStore};
use context_core::{ChatRef, Result};

/// Returns all messages of a chat, parents before their children.
pub(super) async fn messages(
    history: &dyn HistoryStore,
    chat: &ChatRef,
) -> Result<Vec<PlacedNode>> {
    let (mut nodes, mut after) = (Vec::new(), None);
    let mut walk = PageWalk::new("all_messages", "message");
    loop {
        let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await?;
        let next = walk.next(&page)?;
        nodes.extend(page.items);
        after = next;
        if after.is_none() {
            return Ok(nodes);
        }
    }
}

/// Returns the streams of a chat.
pub(super) async fn streams(
    streams: &dyn StreamStore,
    chat: &ChatRef,
) -> Result<Vec<StoredStream>> {
    let (mut all, mut after) = (Vec::new(), None);
    let mut walk = PageWalk::new("streams", "stream");
    loop {
        let page = streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
        let next = walk.next(&page)?;
        all.extend(page.items);
        after = next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// Returns the blobs that a chat refers to.
pub(super) async fn blobs(blobs: &dyn BlobStore, chat: &ChatRef) -> Result<Vec<Blob>> {
    let (mut all, mut after) = (Vec::new(), None);
    let mut walk = PageWalk::new("blobs", "blob");
    loop {
        let page = blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
        let next = walk.next(&page)?;
        all.extend(page.items);
        after = next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// Returns the chunks of a stream. Empty if the stream is gone.
pub(super) async fn chunks(
    streams: &dyn StreamStore,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Vec<Bytes>> {
    let mut chunks = Vec::new();
    while let Some(part) =
        streams.read_stream(chat, id, chunks.len() as u64, limits::MAX_PAGE).await?
    {
        if part.chunks.is_empty() {
            break;
        }
        chunks.extend(part.chunks);
    }
    Ok(chunks)
}
