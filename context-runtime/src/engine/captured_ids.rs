//! Pending messages that were passed to a capture.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::MessageId;

/// The ids of pending messages that memory providers may have captured. Shared by an engine and the
/// `Resolved` values it returned.
#[derive(Clone, Debug, Default)]
pub(super) struct CapturedIds(Arc<Mutex<HashSet<MessageId>>>);

impl CapturedIds {
    /// Ignores a poisoned lock: a panic under the lock leaves a valid set of ids.
    fn ids(&self) -> MutexGuard<'_, HashSet<MessageId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records messages that were captured while they were pending.
    pub(super) fn note(&self, pending: &[MessageId]) {
        self.ids().extend(pending.iter().cloned());
    }

    /// Drops the ids that are not pending any more.
    pub(super) fn keep(&self, pending: &[MessageId]) {
        self.ids().retain(|id| pending.contains(id));
    }

    /// Returns how many of these messages were captured.
    pub(super) fn count(&self, pending: impl Iterator<Item = MessageId>) -> usize {
        let ids = self.ids();
        pending.filter(|id| ids.contains(id)).count()
    }
}
