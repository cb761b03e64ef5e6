//! A cache of the ends of branches, which allows an append to be one statement.

use std::collections::HashMap;

use context_core::{BranchName, ChatRef, MessageId};

/// The number of branches whose end a handle remembers.
const ROUTES: usize = 4096;

/// The ends of branches that this handle has seen. Numbers in the file are never reused, so an
/// entry may be stale but never refers to another branch.
#[derive(Default)]
pub(crate) struct BranchEnds(pub(crate) HashMap<(ChatRef, BranchName), BranchEnd>);

/// The end of a branch.
#[derive(Clone, Debug)]
pub(crate) struct BranchEnd {
    pub(crate) chat: i64,
    pub(crate) branch: i64,
    pub(crate) own: i64,
    pub(crate) head: Option<MessageId>,
}

impl BranchEnds {
    pub(crate) fn learn(&mut self, chat: &ChatRef, branch: &BranchName, route: BranchEnd) {
        if self.0.len() >= ROUTES {
            self.0.clear();
        }
        self.0.insert((chat.clone(), branch.clone()), route);
    }

    pub(crate) fn forget(&mut self, chat: &ChatRef, branch: &BranchName) {
        self.0.remove(&(chat.clone(), branch.clone()));
    }
}
