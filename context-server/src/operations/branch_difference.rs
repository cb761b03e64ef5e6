//! The difference of two branches.

use std::sync::Arc;

use context_runtime::MessageId;
use serde::Serialize;

use super::{BranchView, Operations};
use crate::OperationError;

/// Two branches, from the message at which they part.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct BranchDifference {
    /// The number of messages that both have, from the first one on.
    pub common: usize,
    /// The last message that both have. `None` if they share none.
    pub at: Option<MessageId>,
    /// The messages that only the left branch has, oldest first.
    pub left: Vec<MessageId>,
    /// The messages that only the right branch has, oldest first.
    pub right: Vec<MessageId>,
    /// The left branch.
    #[serde(skip)]
    pub left_view: Arc<BranchView>,
    /// The right branch.
    #[serde(skip)]
    pub right_view: Arc<BranchView>,
}

impl Operations {
    /// Returns the difference of two branches of a chat.
    pub async fn branch_difference(
        &self,
        chat: &str,
        left: &str,
        right: &str,
    ) -> Result<BranchDifference, OperationError> {
        let left_view = self.branch(chat, Some(left)).await?;
        let right_view = self.branch(chat, Some(right)).await?;
        let common = left_view.chain.common_prefix(&right_view.chain);
        let last = common.checked_sub(1).and_then(|last| left_view.chain.get(last));
        let own = |view: &BranchView| {
            view.chain.iter().skip(common).map(|node| node.id.clone()).collect::<Vec<_>>()
        };
        Ok(BranchDifference {
            common,
            at: last.map(|node| node.id.clone()),
            left: own(&left_view),
            right: own(&right_view),
            left_view,
            right_view,
        })
    }
}
