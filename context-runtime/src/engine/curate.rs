//! Operations on stored content: redact and delete messages, rename, delete and compare branches,
//! and copy messages between branches.

use std::collections::HashSet;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::NodeKind;
use context_core::store::{Branch, BranchDeletion, ChainEnd, Committed, RefLog, Target, Window};
use context_core::{
    BranchName, Chain, Diagnostic, Error, ErrorKind, MessageId, Node, Part, Result,
};

use super::ContextEngine;
use crate::removal::{Redaction, RemovalOptions, RemovalReport, redact_messages};

/// The fork point of two branches, and the messages that each has after it.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct BranchDiff {
    /// The number of messages they share, from the root on.
    pub common: usize,
    /// The last common message.
    pub at: Option<MessageId>,
    /// The messages that only the left branch has.
    pub left: Chain,
    /// The messages that only the right branch has.
    pub right: Chain,
}

/// The result of a cherry-pick.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct CherryPicked {
    /// The branch the copies are on.
    pub branch: BranchName,
    /// The head of that branch after the cherry-pick.
    pub head: Option<MessageId>,
    /// Each message and its copy, in order.
    pub copies: Vec<(MessageId, MessageId)>,
    /// Tool calls that were copied without their results, and results without their calls.
    pub diagnostics: Vec<Diagnostic>,
}

impl ContextEngine {
    /// Permanently removes the content of a stored message and everything derived from it:
    /// [`redact_messages`](crate::removal::redact_messages). Its place in the graph, its role and
    /// the shape of its parts stay ([`Message::redacted`](context_core::Message::redacted)), so the
    /// conversation remains valid. The message may be on any branch of the chat. A compaction that
    /// is not saved yet is dropped.
    pub async fn redact(&mut self, message: &MessageId) -> Result<RemovalReport> {
        self.remove_message(message, Redaction::Words).await
    }

    /// Removes a message entirely except for its place in the graph: like [`redact`](Self::redact),
    /// but models are no longer shown the message.
    pub async fn delete_message(&mut self, message: &MessageId) -> Result<RemovalReport> {
        self.remove_message(message, Redaction::Message).await
    }

    async fn remove_message(
        &mut self,
        message: &MessageId,
        redaction: Redaction,
    ) -> Result<RemovalReport> {
        let options = RemovalOptions::at(self.parts.clock.now());
        let messages = std::slice::from_ref(message);
        let removed =
            redact_messages(&*self.parts.store, &self.chat, messages, redaction, &options).await;
        if !removed.as_ref().is_err_and(Error::is_not_found) {
            // A compaction that is not saved yet may contain the removed content.
            self.compaction = None;
            self.in_flight = self.in_flight.take().filter(|flight| !flight.compacts());
            self.forget();
        }
        removed
    }

    /// The branches of the chat, in the order they were created.
    pub async fn branches(&self) -> Result<Vec<Branch>> {
        self.parts.history().branches(&self.chat).await
    }

    /// Returns the log of the branches and checkpoints of the chat: what was created, renamed,
    /// activated, moved and deleted, when, and from which message to which. A branch that was
    /// deleted can begin again at its last head, as long as something else keeps that message.
    ///
    /// [`ErrorKind::Unsupported`] if the store keeps no such log.
    ///
    /// ```
    /// use context_runtime::store::RefChange;
    /// use context_runtime::{ContextEngine, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.set([user("Two tickets.").with_id("ask")]).save().await?;
    /// chat.checkpoint("asked").await?;
    /// chat.delete_checkpoint(&"asked".into()).await?;
    ///
    /// let log = chat.ref_log().await?;
    /// let [_set, deleted] = log.entries() else { panic!("{log:?}") };
    /// let from = "ask".into();
    /// let expected = RefChange::CheckpointDeleted { checkpoint: "asked".into(), from, messages: 0 };
    /// assert_eq!(deleted.change, expected);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ref_log(&self) -> Result<RefLog> {
        let Some(log) = self.parts.store.ref_log() else {
            let text = "this store keeps no log of branches and checkpoints";
            return Err(Error::new(ErrorKind::Unsupported, "ref_log", text));
        };
        log.ref_log(&self.chat).await
    }

    /// Renames a branch. An engine that is on it stays on it.
    pub async fn rename_branch(
        &mut self,
        branch: &BranchName,
        to: impl Into<BranchName>,
    ) -> Result<()> {
        let to = to.into();
        self.parts.history().rename_branch(&self.chat, branch, &to, self.parts.clock.now()).await?;
        if self.branch == *branch {
            self.branch = to;
            // The commit names a branch that no longer exists. If it arrived, the next save finds
            // its ids.
            self.in_flight = None;
        }
        Ok(())
    }

    /// Deletes a branch, and the messages that no other branch and no checkpoint reaches. Returns
    /// the number of deleted messages. The active branch and the branch of this engine cannot be
    /// deleted.
    ///
    /// Returns [`ErrorKind::Conflict`] if another writer keeps writing to the branch.
    pub async fn delete_branch(&mut self, branch: &BranchName) -> Result<u64> {
        const OPERATION: &str = "delete_branch";
        if self.branch == *branch {
            let error = Error::invalid(
                OPERATION,
                "the engine is on this branch; switch to another one first",
            );
            return Err(error.with("branch", branch));
        }
        let found = self.branches().await?.into_iter().find(|found| found.name == *branch);
        let head = found.ok_or_else(|| Error::not_found(OPERATION, "branch", branch))?.head;
        let (history, now) = (self.parts.history(), self.parts.clock.now());
        match history.delete_branch(&self.chat, branch, head.as_ref(), now).await? {
            BranchDeletion::Deleted { messages } => Ok(messages),
            _ => {
                let error = Error::new(
                    ErrorKind::Conflict,
                    OPERATION,
                    "another writer keeps writing to the branch",
                );
                Err(error.with("branch", branch))
            }
        }
    }

    /// Compares two branches.
    pub async fn diff(&self, left: &BranchName, right: &BranchName) -> Result<BranchDiff> {
        let whole = async |branch: &BranchName| {
            let end = ChainEnd::Branch(branch.clone());
            self.parts.history().chain(&self.chat, &end, &Window::Whole).await
        };
        let (left, right) = (whole(left).await?, whole(right).await?);
        let common = left.common_prefix(&right);
        let at = common.checked_sub(1).and_then(|last| left.get(last)).map(|node| node.id.clone());
        Ok(BranchDiff { common, at, left: left.suffix(common), right: right.suffix(common) })
    }

    /// Copies messages, of any branches, to the end of a branch, in the order given and with new
    /// ids. The copies keep the timestamps of the originals. If another writer appends to the
    /// branch at the same time, the copies follow its messages.
    pub async fn cherry_pick(
        &mut self,
        messages: &[MessageId],
        onto: impl Into<BranchName>,
    ) -> Result<CherryPicked> {
        const OPERATION: &str = "cherry_pick";
        let (onto, history) = (onto.into(), self.parts.history());
        let found = history.messages(&self.chat, messages).await?;
        let mut copies = Vec::with_capacity(found.len());
        let mut nodes = Vec::with_capacity(found.len());
        for (id, placed) in messages.iter().zip(found) {
            let node = placed.ok_or_else(|| Error::not_found(OPERATION, "message", id))?.node;
            if node.kind == NodeKind::Boundary {
                let error =
                    Error::invalid(OPERATION, "a boundary belongs to the branch it was made on");
                return Err(error.with("message", id));
            }
            let mut copy = Node::clone(&node).with_id(self.parts.ids.next_id());
            copy.revision = 0;
            copies.push((id.clone(), copy.id.clone()));
            nodes.push(Arc::new(copy));
        }
        let target = Target::Graft { branch: onto.clone(), seen: None };
        let mut commit = self.new_commit(target);
        commit.nodes = nodes;
        let diagnostics = unpaired(&commit.nodes);
        let committed = self.parts.history().commit(commit).await?.committed();
        let Some(Committed { head, .. }) = committed else {
            return Err(Error::new(ErrorKind::Bug, OPERATION, "generated ids exist already"));
        };
        Ok(CherryPicked { branch: onto, head, copies, diagnostics })
    }
}

/// Returns diagnostics for tool calls and results of these messages that have no counterpart among
/// them.
fn unpaired(nodes: &[Arc<Node>]) -> Vec<Diagnostic> {
    let messages: Vec<_> =
        nodes.iter().filter_map(|node| Some((&node.id, node.message().ok()?))).collect();
    let parts = || {
        messages.iter().flat_map(|(id, message)| message.parts.iter().map(move |part| (*id, part)))
    };
    let calls: HashSet<_> = parts()
        .filter_map(|(_, part)| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    let results: HashSet<_> = parts()
        .filter_map(|(_, part)| match part {
            Part::ToolResult(result) => Some(result.call_id.as_str()),
            _ => None,
        })
        .collect();
    let lonely = parts().filter_map(|(id, part)| match part {
        Part::ToolCall(call) if !results.contains(call.id.as_str()) => {
            Some((id, "a call came without its result"))
        }
        Part::ToolResult(result) if !calls.contains(result.call_id.as_str()) => {
            Some((id, "a result came without its call"))
        }
        _ => None,
    });
    lonely
        .map(|(id, text)| {
            Diagnostic::new(
                DiagnosticCode::Unpaired,
                Severity::Warning,
                format!("message {id}"),
                text,
            )
        })
        .collect()
}
