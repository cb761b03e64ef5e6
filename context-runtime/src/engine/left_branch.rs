//! The summary of a branch that is left, for the branch that goes on.

use std::sync::Arc;

use context_core::history::SummaryError;
use context_core::model::{Budget, TokenCounter};
use context_core::{Answer, BranchName, Fragment, Message, MessageId, Result};
use context_policy_summarize::{BranchTask, Summarize};

use super::ContextEngine;
use crate::left_branch::LeftBranch;

/// A request for the summary of a branch that is left, and where the messages are from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BranchSummary {
    /// The task: its request is to be sent to a model.
    pub task: BranchTask,
    /// The messages that are summarised.
    pub from: LeftBranch,
    policy: Summarize,
}

impl BranchSummary {
    /// Returns the message with the summary that an answer holds, or the reason for refusing it.
    pub fn accept(
        &self,
        answer: &Answer,
        counter: &dyn TokenCounter,
    ) -> Result<Message, SummaryError> {
        Ok(self.from.mark(self.policy.accept_branch(&self.task, answer, counter)?))
    }
}

impl ContextEngine {
    /// Returns a request for a summary of a branch: of the messages that it has after the last one
    /// that it shares with the engine's branch. The program sends the request to a model of its
    /// choice, and [accepts](Self::accept_branch_summary) the answer. Nothing is written.
    ///
    /// The request stays within `budget`. `None` if the branch has no messages of its own, or too
    /// few to be worth a summary.
    ///
    /// ```
    /// use context_runtime::model::Answer;
    /// use context_runtime::summarize::Summarize;
    /// use context_runtime::tokens::{Budget, ModelCounter};
    /// use context_runtime::{ContextEngine, LeftBranch, Message, Role, assistant, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("c").open().await?;
    /// chat.set([user("Sort the log.").with_id("ask"), assistant("With a queue: ".repeat(300))]);
    /// chat.save().await?;
    /// chat.rewind(&"ask".into()).await?;
    ///
    /// let (policy, counter) = (Summarize::new(), ModelCounter::for_model("gpt-4o"));
    /// let budget = Budget::new(100_000, 4_000);
    /// let left = chat.summarize_branch(&"main".into(), &policy, &counter, &budget).await?;
    /// let left = left.ok_or("a branch with messages")?;
    /// // Send `left.task.request` to a model; this is what it might say.
    /// let text = "## Objective\nA sorted log\n## Current state\nThe queue was slow";
    /// let answer = Answer::new(Message::text(Role::Assistant, text));
    /// chat.accept_branch_summary(&left, &answer, &counter)?;
    /// chat.save().await?;
    ///
    /// let shown = chat.resolve().await?.messages;
    /// let from = LeftBranch::of(shown[1].message()?).ok_or("a summary")?;
    /// assert_eq!((from.branch.as_str(), from.messages), ("main", 1));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn summarize_branch(
        &self,
        left: &BranchName,
        policy: &Summarize,
        counter: &dyn TokenCounter,
        budget: &Budget,
    ) -> Result<Option<BranchSummary>> {
        let diff = self.diff(left, &self.branch).await?;
        let nodes: Vec<_> = diff.left.iter().filter(|node| node.is_shown()).collect();
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Ok(None) };
        let from = LeftBranch {
            branch: left.clone(),
            after: diff.at.clone(),
            first: first.id.clone(),
            last: last.id.clone(),
            messages: nodes.len(),
        };
        let messages: Vec<Arc<Message>> =
            nodes.iter().filter_map(|node| Some(Arc::clone(node.message().ok()?))).collect();
        let task = policy.branch(&messages, counter, budget);
        Ok(task.map(|task| BranchSummary { task, from, policy: policy.clone() }))
    }

    /// Sets the message with the summary of a branch that was left. The next save stores it at the
    /// head of the engine's branch. [`LeftBranch::of`] tells where it is from. Returns its id.
    ///
    /// A redaction of a message of that branch redacts the summary too.
    pub fn accept_branch_summary(
        &mut self,
        summary: &BranchSummary,
        answer: &Answer,
        counter: &dyn TokenCounter,
    ) -> Result<MessageId, SummaryError> {
        let message = summary.accept(answer, counter)?;
        let id = MessageId::from(self.parts.ids.next_id());
        self.set([Fragment::from(message).with_id(id.clone())]);
        Ok(id)
    }
}
