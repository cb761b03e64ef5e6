//! Outputs too large for a context, kept as blobs of their chat and read back in ranges.
//!
//! Blobs are named by what they hold. So two results with one call id never meet, the same output
//! is kept once, and what was written before a caller gave up is what the next try writes again.
//!
//! Deciding what is too large is not done here; see [`ToolResultLimits`](super::ToolResultLimits).

mod preview;
mod reading;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobStore, NewBlob, NewChat};
use context_core::{ChatRef, Clock, Error, ErrorKind, Json, Metadata, Result, Store, UserId};
pub(super) use preview::{LONGEST_REFERENCE, Preview};
pub use reading::{READ_SPILLED, spilled_output_tool};
use serde::{Deserialize, Serialize};

use super::parts::served;
use crate::SystemClock;

/// Where large outputs of chats are kept: in the blobs of a store, each under its user and its
/// chat.
///
/// They go with the chat: deleting it deletes them, and so does erasing the user. A chat that does
/// not exist yet is created with the first output, since a tool may answer before anything was
/// saved.
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
    /// The only user that is served, if it is only one.
    user: Option<UserId>,
    clock: Arc<dyn Clock>,
}

impl Spill {
    /// In this store. [`ErrorKind::Unsupported`] if it keeps no blobs.
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

    /// Tells the time. Default: the host's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Keeps an output of a chat. The same bytes again change nothing but the time of their use.
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

    /// Reads a range of bytes of an output, cut to where it ends. `reference` is `blob:` and the
    /// digits, or the digits alone.
    ///
    /// [`ErrorKind::NotFound`] if the chat has no such output, whoever else may have it.
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

    /// Refuses a chat with a bad name, and one of a user that is not served.
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

/// A part of an output that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpilledRange {
    /// The bytes.
    pub bytes: Bytes,
    /// Where they begin.
    pub start: u64,
    /// How many bytes the whole output has.
    pub total: u64,
    /// What it is, such as `text/plain`.
    pub media_type: Option<String>,
}

/// What a result or a piece of media says of the blob that holds what was too large: its metadata
/// under [`Spilled::KEY`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spilled {
    /// The blob.
    pub blob: BlobId,
    /// The blob's size in bytes.
    pub bytes: u64,
    /// What it is, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Why it was spilled: `tool_result_too_large`, `tool_results_too_large` (it, with the others
    /// of its message) or `media_too_large`.
    pub reason: String,
}

impl Spilled {
    /// The metadata key.
    pub const KEY: &'static str = "spilled";

    /// What metadata says, if it says something.
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
