//! A cache of the ends of branches, which allows an append to be one statement.

use std::collections::HashMap;
use std::mem;

use context_core::{BranchName, ChatRef, MessageId};

use crate::connections::tail::Tail;

/// The number of branches whose ends a handle remembers, at least. It remembers at most twice as
/// many, each in a few hundred bytes.
const REMEMBERED: usize = 16_384;

/// The ends of branches that this handle has seen. Numbers in the file are never reused, so an
/// entry may be stale but never refers to another branch.
#[derive(Default)]
pub(crate) struct BranchEnds {
    recent: HashMap<(ChatRef, BranchName), BranchEnd>,
    /// Those that were recent when `recent` became full.
    earlier: HashMap<(ChatRef, BranchName), BranchEnd>,
}

/// The end of a branch.
#[derive(Clone, Debug)]
pub(crate) struct BranchEnd {
    pub(crate) chat: i64,
    pub(crate) branch: i64,
    pub(crate) own: i64,
    pub(crate) head: Option<MessageId>,
    pub(crate) tail: Tail,
}

impl BranchEnds {
    pub(crate) fn get(&self, at: &(ChatRef, BranchName)) -> Option<&BranchEnd> {
        self.recent.get(at).or_else(|| self.earlier.get(at))
    }

    pub(crate) fn learn(&mut self, at: (ChatRef, BranchName), end: BranchEnd) {
        if self.recent.len() >= REMEMBERED && !self.recent.contains_key(&at) {
            self.earlier = mem::take(&mut self.recent);
        }
        self.recent.insert(at, end);
    }

    pub(crate) fn forget(&mut self, at: &(ChatRef, BranchName)) {
        self.recent.remove(at);
        self.earlier.remove(at);
    }
}
