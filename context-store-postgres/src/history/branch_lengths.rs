//! A cache of the lengths of branches, so that an append that fills no block of runs need not merge
//! one.
//!
//! The cache is only a hint. If it is wrong, a block is merged later, or a statement does slightly
//! more work than needed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use context_core::{BranchName, ChatRef};

/// The number of branches whose length a handle remembers.
const MAX_BRANCHES: usize = 4096;

#[derive(Default)]
pub(crate) struct BranchLengths(Mutex<HashMap<(ChatRef, BranchName), i64>>);

impl BranchLengths {
    /// Returns the number of messages that a branch owns, if it is known.
    pub(crate) fn get(&self, chat: &ChatRef, branch: &BranchName) -> Option<i64> {
        let lengths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lengths.get(&(chat.clone(), branch.clone())).copied()
    }

    pub(crate) fn set(&self, chat: &ChatRef, branch: &BranchName, own: i64) {
        let mut lengths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lengths.len() >= MAX_BRANCHES {
            lengths.clear();
        }
        lengths.insert((chat.clone(), branch.clone()), own);
    }
}
