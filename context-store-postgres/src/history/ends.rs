//! A cache of the lengths of branches, so that an append that fills no block of runs need not merge
//! one.
//!
//! The cache is only a hint. If it is wrong, a block is merged later, or a statement does slightly
//! more work than needed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use context_core::{BranchName, ChatRef};

/// The number of branches whose length a handle remembers.
const ENDS: usize = 4096;

#[derive(Default)]
pub(crate) struct Ends(Mutex<HashMap<(ChatRef, BranchName), i64>>);

impl Ends {
    /// Returns the number of messages that a branch owns, if it is known.
    pub(crate) fn own(&self, chat: &ChatRef, branch: &BranchName) -> Option<i64> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.get(&(chat.clone(), branch.clone())).copied()
    }

    pub(crate) fn learn(&self, chat: &ChatRef, branch: &BranchName, own: i64) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.len() >= ENDS {
            ends.clear();
        }
        ends.insert((chat.clone(), branch.clone()), own);
    }
}
