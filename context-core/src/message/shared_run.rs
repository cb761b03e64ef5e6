//! The stored bytes of a run of nodes, which are released once they are not needed.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::base::CodecError;
use crate::{Encoded, Message};

/// The stored bytes of a run, and its messages once they are read.
///
/// A message and its stored form are about the same size, so keeping both doubles the memory of a
/// conversation. The bytes are released when every message of the run was read and its stored form
/// can be written again byte for byte. Until then they serve the nodes that were not read.
pub(super) struct SharedRun {
    bytes: Mutex<Option<Bytes>>,
    messages: Box<[OnceLock<Arc<Message>>]>,
    /// The number of messages that need the bytes.
    waiting: AtomicUsize,
}

/// The place of a message in a shared run.
#[derive(Clone)]
pub(super) struct PlaceInRun {
    run: Arc<SharedRun>,
    slot: u32,
    start: u32,
    end: u32,
}

impl SharedRun {
    /// Creates a run of messages with these places in the bytes, which are at most 4 GiB. Every
    /// body is of the current kind and version.
    pub(super) fn places(
        bytes: Bytes,
        bodies: &[Range<u32>],
    ) -> impl Iterator<Item = PlaceInRun> + use<'_> {
        let run = Arc::new(Self {
            bytes: Mutex::new(Some(bytes)),
            messages: bodies.iter().map(|_| OnceLock::new()).collect(),
            waiting: AtomicUsize::new(bodies.len()),
        });
        let place = move |(slot, body): (u32, &Range<u32>)| PlaceInRun {
            run: Arc::clone(&run),
            slot,
            start: body.start,
            end: body.end,
        };
        (0..).zip(bodies).map(place)
    }
}

impl PlaceInRun {
    /// Returns the length of the body in bytes.
    pub(super) fn length(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns the message if it was read.
    pub(super) fn get(&self) -> Option<&Arc<Message>> {
        self.slot().get()
    }

    /// Returns the message, which is read once for all nodes in this place.
    pub(super) fn message(&self) -> Result<&Arc<Message>, CodecError> {
        if let Some(message) = self.get() {
            return Ok(message);
        }
        // Without bytes another thread has read all messages in the meantime.
        if let Some(bytes) = self.stored() {
            let (message, is_exact) = Message::decode_and_compare(&encoded(bytes))?;
            let is_first = self.slot().set(Arc::new(message)).is_ok();
            if is_first && is_exact && self.run.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
                *self.run.bytes.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
        }
        Ok(self.get().expect("a message was read before its bytes are released"))
    }

    /// Returns the stored form, written again if the bytes were released.
    pub(super) fn body(&self) -> Encoded {
        match (self.stored(), self.get()) {
            (Some(bytes), _) => encoded(bytes),
            (None, message) => {
                message.expect("a message was read before its bytes are released").encode()
            }
        }
    }

    /// Returns the stored bytes of the message, if they are kept.
    pub(super) fn stored(&self) -> Option<Bytes> {
        let bytes = self.run.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.as_ref().map(|bytes| bytes.slice(self.start as usize..self.end as usize))
    }

    fn slot(&self) -> &OnceLock<Arc<Message>> {
        &self.run.messages[self.slot as usize]
    }
}

fn encoded(bytes: Bytes) -> Encoded {
    Encoded::new(Message::shared_kind(), Message::VERSION, bytes)
}
