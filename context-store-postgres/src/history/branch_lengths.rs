//! A cache of the lengths of branches, so that an append that fills no block of runs need not merge
//! one.
//!
//! The cache is only a hint. If it is wrong, a block is merged later, or a statement does slightly
//! more work than needed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use context_core::{BranchName, ChatRef};
use context_store_kit::BoundedMap;

#[derive(Default)]
pub(crate) struct BranchLengths(Mutex<BoundedMap<(ChatRef, BranchName), i64>>);

impl BranchLengths {
    /// Returns the number of messages that a branch owns, if it is known.
    pub(crate) fn get(&self, at: &(ChatRef, BranchName)) -> Option<i64> {
        self.lock().get(at).copied()
    }

    pub(crate) fn set(&self, at: (ChatRef, BranchName), own: i64) {
        self.lock().learn(at, own);
    }

    pub(crate) fn forget(&self, at: &(ChatRef, BranchName)) {
        self.lock().forget(at);
    }

    fn lock(&self) -> MutexGuard<'_, BoundedMap<(ChatRef, BranchName), i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
