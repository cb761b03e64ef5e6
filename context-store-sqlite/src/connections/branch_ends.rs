//! The end of a branch as a handle knows it, which allows an append to be one statement.

use context_core::{BranchName, ChatRef, MessageId};
use context_store_kit::BoundedMap;

use crate::connections::tail::Tail;

/// The ends of branches that this handle has seen. Numbers in the file are never reused, so an
/// entry may be stale but never refers to another branch.
pub(crate) type BranchEnds = BoundedMap<(ChatRef, BranchName), BranchEnd>;

/// The end of a branch.
#[derive(Clone, Debug)]
pub(crate) struct BranchEnd {
    pub(crate) chat: i64,
    pub(crate) branch: i64,
    pub(crate) own: i64,
    pub(crate) head: Option<MessageId>,
    pub(crate) tail: Tail,
}
