//! Where branches end, as far as a handle has seen: an append that fills no block of runs need not
//! look for one.
//!
//! Only a hint. If it is wrong, a block is merged later, or a statement does a little more than it
//! has to.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use context_core::{BranchName, ChatRef};

/// How many branches a handle remembers the end of.
const ENDS: usize = 4096;

#[derive(Default)]
pub(crate) struct Ends(Mutex<HashMap<(ChatRef, BranchName), i64>>);

impl Ends {
    /// How many messages a branch has of its own.
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
