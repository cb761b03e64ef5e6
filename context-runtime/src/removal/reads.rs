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
    let pages = PageWalk::new("all_messages", "message");
    let read = |after: Option<_>| async move {
        history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await
    };
    pages.collect(read).await
}

/// Returns the streams of a chat.
pub(crate) async fn streams(
    streams: &dyn StreamStore,
    chat: &ChatRef,
) -> Result<Vec<StoredStream>> {
    let pages = PageWalk::new("streams", "stream");
    let read = |after: Option<_>| async move {
        streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await
    };
    pages.collect(read).await
}

/// Returns the blobs that a chat refers to.
pub(crate) async fn blobs(blobs: &dyn BlobStore, chat: &ChatRef) -> Result<Vec<Blob>> {
    let pages = PageWalk::new("blobs", "blob");
    let read =
        |after: Option<_>| async move { blobs.blobs(chat, limits::MAX_PAGE, after.as_ref()).await };
    pages.collect(read).await
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
