//! Pending messages that were handed out to be captured.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::MessageId;

/// The ids of pending messages that memories may have been told of. Shared by an engine and what it
/// resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct Captured(Arc<Mutex<HashSet<MessageId>>>);

impl Captured {
    /// Whoever panicked under the lock left a set of ids.
    fn ids(&self) -> MutexGuard<'_, HashSet<MessageId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of messages that were captured while they were pending.
    pub(super) fn note(&self, pending: &[MessageId]) {
        self.ids().extend(pending.iter().cloned());
    }

    /// Forgets those that are not pending any more.
    pub(super) fn keep(&self, pending: &[MessageId]) {
        self.ids().retain(|id| pending.contains(id));
    }

    /// How many of these messages were captured.
    pub(super) fn count(&self, pending: impl Iterator<Item = MessageId>) -> usize {
        let ids = self.ids();
        pending.filter(|id| ids.contains(id)).count()
    }
}
