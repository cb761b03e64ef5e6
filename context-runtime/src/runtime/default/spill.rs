//! Spill: outputs that are too large for a context, stored as blobs of their chat and read back in
//! ranges.
//!
//! Blobs are content-addressed. So two results with the same call id never collide, the same output
//! is stored once, and a retry after a cancelled call writes the same blob again.
//!
//! [`ToolResultLimits`](super::ToolResultLimits) decides what is too large.

mod preview;
mod read_tool;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobStore, NewBlob, NewChat};
use context_core::{ChatRef, Clock, Error, ErrorKind, Json, Metadata, Result, Store, UserId};
pub(super) use preview::{LONGEST_REFERENCE, Preview};
pub use read_tool::{READ_SPILLED, spilled_output_tool};
use serde::{Deserialize, Serialize};

use super::parts::served;
use crate::SystemClock;

/// Storage for large outputs of chats: the blobs of a store, under the user and the chat.
///
/// Blobs are deleted with their chat, and when the user is erased. A chat that does not exist yet
/// is created with the first output, since a tool may answer before anything was saved.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// use context_runtime::Spill;
///
/// let store = context_runtime::open("mem:").await?;
/// # if store.blobs().is_none() { return Ok(()); }
/// let (spill, chat) = (Spill::new(store)?, ("ada", "lisbon").into());
/// let blob = spill.put(&chat, "a very long report", "text/plain").await?;
/// let part = spill.read(&chat, &blob.id.to_reference(), 7..11).await?;
/// assert_eq!(&part.bytes[..], b"long");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Spill {
    store: Arc<dyn Store>,
    /// The only user that is served. `None` if all are.
    user: Option<UserId>,
    clock: Arc<dyn Clock>,
}

impl Spill {
    /// Creates a spill over this store. Returns [`ErrorKind::Unsupported`] if the store does not
    /// support blobs.
    pub fn new(store: Arc<dyn Store>) -> Result<Self> {
        blobs(&*store)?;
        Ok(Self { store, user: None, clock: Arc::new(SystemClock) })
    }

    pub(super) fn composed(
        store: Arc<dyn Store>,
        user: Option<UserId>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, user, clock }
    }

    /// Sets the clock. Default: the host's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Stores an output of a chat. Storing the same bytes again only updates their timestamp of
    /// use.
    pub async fn put(
        &self,
        chat: &ChatRef,
        bytes: impl Into<Bytes>,
        media_type: &str,
    ) -> Result<Blob> {
        self.check_chat("spill", chat)?;
        let blob = NewBlob::new(bytes, self.clock.now()).media_type(media_type);
        match blobs(&*self.store)?.put_blob(chat, blob.clone()).await {
            Err(error) if error.is_not_found() => {
                let new = NewChat::new(chat.clone(), self.clock.now());
                let _created = self.store.history().create_chat(new).await?;
                blobs(&*self.store)?.put_blob(chat, blob).await
            }
            put => put,
        }
    }

    /// Reads a byte range of an output, cut at the end of the output. `reference` is `blob:` and
    /// the hexadecimal digits, or the digits alone.
    ///
    /// Returns [`ErrorKind::NotFound`] if this chat has no such output, even if another chat has
    /// it.
    pub async fn read(
        &self,
        chat: &ChatRef,
        reference: &str,
        range: Range<u64>,
    ) -> Result<SpilledRange> {
        const OPERATION: &str = "read_spilled";
        self.check_chat(OPERATION, chat)?;
        let id = match BlobId::from_reference(reference) {
            Some(id) => id,
            None => reference.parse()?,
        };
        let blobs = blobs(&*self.store)?;
        let missing = || Error::not_found(OPERATION, "blob", id);
        let blob = blobs.blob(chat, &id).await?.ok_or_else(missing)?;
        let start = range.start.min(blob.bytes);
        let end = range.end.clamp(start, blob.bytes);
        let read = blobs.read_blob(chat, &id, start..end, Some(self.clock.now())).await?;
        let bytes = read.ok_or_else(missing)?;
        Ok(SpilledRange { bytes, start, total: blob.bytes, media_type: blob.media_type })
    }

    /// Refuses an invalid chat reference, and a chat of a user that is not served.
    fn check_chat(&self, operation: &'static str, chat: &ChatRef) -> Result<()> {
        served(operation, self.user.as_ref(), chat)
    }
}

fn blobs(store: &dyn Store) -> Result<&dyn BlobStore> {
    store.blobs().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "spill", "the store keeps no blobs")
            .with("store", store.info().name)
    })
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill").field("store", &self.store).finish_non_exhaustive()
    }
}

/// A range of a stored output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpilledRange {
    /// The bytes.
    pub bytes: Bytes,
    /// The offset of the first byte.
    pub start: u64,
    /// The length of the whole output in bytes.
    pub total: u64,
    /// The media type, such as `text/plain`.
    pub media_type: Option<String>,
}

/// The reference of a result or of media to the blob with the full content: metadata under
/// [`Spilled::KEY`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spilled {
    /// The blob.
    pub blob: BlobId,
    /// The blob's size in bytes.
    pub bytes: u64,
    /// The media type, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The reason: `tool_result_too_large`, `tool_results_too_large` (too large together with the
    /// other results of its message) or `media_too_large`.
    pub reason: String,
}

impl Spilled {
    /// The metadata key.
    pub const KEY: &'static str = "spilled";

    /// Reads the reference from metadata, if present.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        metadata.get(Self::KEY)?.parse().ok()
    }

    pub(super) fn new(blob: &Blob, reason: &str) -> Self {
        let media_type = blob.media_type.clone();
        Self { blob: blob.id, bytes: blob.bytes, media_type, reason: reason.to_owned() }
    }

    pub(super) fn note_in(&self, metadata: &mut Metadata) {
        if let Ok(json) = Json::from_serialize(self) {
            metadata.insert(Self::KEY, json);
        }
    }
}
