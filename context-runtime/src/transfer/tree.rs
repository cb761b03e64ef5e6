//! Writing a tree that was built in memory to a store.

use context_core::store::{Commit, CommitOutcome, Created, HistoryStore, NewChat};
use context_core::{CancelSignal, Result};
use context_transcript::Tree;

/// The outcome of writing a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum TreeWritten {
    /// The chat, or the missing part of it, was written.
    New,
    /// The whole tree existed already.
    Unchanged,
    /// The chat exists and has other content. Only missing nodes of the tree that come before the
    /// difference were added.
    Taken,
}

/// The chat and the commits that write a [`Tree`]. Invalid commits are refused before the first one
/// is written. Each commit is idempotent, so an interrupted import is completed by repeating it,
/// and repeating a complete one changes nothing.
#[derive(Clone, Debug)]
pub struct TreePlan {
    new: NewChat,
    commits: Vec<Commit>,
}

impl TreePlan {
    /// Plans to write a tree as a new chat. Refuses everything that a store would refuse.
    pub fn new(new: NewChat, tree: &Tree) -> Result<Self> {
        new.check()?;
        let commits = tree.commits(&new.chat, new.at)?;
        commits.iter().try_for_each(Commit::check)?;
        Ok(Self { new, commits })
    }

    /// Returns the new chat.
    pub fn chat(&self) -> &NewChat {
        &self.new
    }

    /// Writes the plan in one or more commits, and calls `progress` with the number of messages of
    /// each. A chat that exists already must have this metadata and these messages. Checks `cancel`
    /// before each commit. Commits written before a cancellation stay, and writing the same plan
    /// again continues from there.
    pub async fn write(
        &self,
        history: &dyn HistoryStore,
        cancel: &CancelSignal,
        mut progress: impl FnMut(usize) + Send,
    ) -> Result<TreeWritten> {
        cancel.check("write")?;
        let mut written = match history.create_chat(self.new.clone()).await? {
            Created::New(_) => TreeWritten::New,
            Created::Existing(chat) => {
                let same = |(key, value)| chat.metadata.get(key) == Some(value);
                if !self.new.metadata.iter().all(same) {
                    return Ok(TreeWritten::Taken);
                }
                TreeWritten::Unchanged
            }
        };
        for commit in &self.commits {
            cancel.check("write")?;
            match history.commit(commit.clone()).await? {
                CommitOutcome::Applied(_) => written = TreeWritten::New,
                CommitOutcome::Replayed(_) => {}
                _ => return Ok(TreeWritten::Taken),
            }
            progress(commit.nodes.len());
        }
        Ok(written)
    }
}
