//! Writing a tree that was built in memory to a store, and what a chat does not have of it.

use std::collections::HashMap;

use context_core::base::limits;
use context_core::store::{
    Branch, ChainEnd, Chat, ChatPatch, Commit, CommitOutcome, Created, HistoryStore, NewChat,
    Target, TitleChange, Window,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, Json, MessageId, Metadata, Node, Result, Role,
};
use context_transcript::{TranscriptSource, Tree, TreeDifference, TreeGrowth};

/// The number of times that a chat is compared with the tree, if others write to it meanwhile.
const ATTEMPTS: usize = 4;
/// The number of messages that are first read of a branch to find where it leaves the tree.
const FIRST_WINDOW: usize = 64;

/// The outcome of writing a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum TreeWritten {
    /// The chat was created with the whole tree.
    New,
    /// The chat existed, and the missing part of the tree was added.
    Extended(TreeExtension),
    /// The whole tree existed already.
    Unchanged,
    /// The chat has other content, or was continued by someone else. Nothing was written.
    Taken(TreeDifference),
}

/// The part of a tree that was added to a chat. All counts may be 0, if only the metadata changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeExtension {
    /// The number of new messages.
    pub messages: usize,
    /// The number of stored messages that have grown. Their earlier revisions are kept.
    pub amended: usize,
    /// The number of new branches.
    pub branches: usize,
}

/// The chat that is made of a [`Tree`]. Invalid content is refused before anything is written.
///
/// A chat that has a part of the tree is extended: with messages after a head, branches at stored
/// messages, and new content of messages that have grown. So a file that grows can be written again
/// and again, and an interrupted write is completed by repeating it. Messages that were amended in
/// the chat stay as they are, and so do branches of the chat that the tree does not have. The
/// active branch follows the tree's `main`, unless someone switched to a branch of their own.
///
/// To find the missing part, the heads of the branches and their last 32 messages are read. Earlier
/// messages are identified by their ids.
#[derive(Clone, Debug)]
pub struct TreePlan {
    new: NewChat,
    tree: Tree,
}

impl TreePlan {
    /// Plans to write a tree as a chat. Refuses everything that a store would refuse.
    pub fn new(new: NewChat, tree: &Tree) -> Result<Self> {
        new.check()?;
        tree.commits(&new.chat, new.at)?.iter().try_for_each(Commit::check)?;
        Ok(Self { new, tree: tree.clone() })
    }

    /// Returns the new chat.
    pub fn chat(&self) -> &NewChat {
        &self.new
    }

    /// Plans to write the same content to a chat of another name.
    #[must_use]
    pub fn with_chat(mut self, chat: ChatRef) -> Self {
        self.new.chat = chat;
        self
    }

    /// Writes the plan in one or more commits, and calls `progress` with the number of messages of
    /// each, and first with the number of messages that the chat has. A chat that exists already
    /// must have this metadata, except that its [`TranscriptSource`] may be an earlier state of the
    /// same file. Checks `cancel` before each commit. Commits written before a cancellation stay,
    /// and writing the same plan again continues from there.
    pub async fn write(
        &self,
        history: &dyn HistoryStore,
        cancel: &CancelSignal,
        mut progress: impl FnMut(usize) + Send,
    ) -> Result<TreeWritten> {
        cancel.check("write")?;
        let created = history.create_chat(self.new.clone()).await?;
        let is_new = matches!(created, Created::New(_));
        let mut chat = created.into_chat();
        let (mut extension, mut difference) = (TreeExtension::default(), TreeDifference::Metadata);
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                let Some(now) = history.chat(&self.new.chat).await? else { break };
                chat = now;
            }
            if !self.has_origin_of(&chat) {
                return Ok(TreeWritten::Taken(TreeDifference::Metadata));
            }
            let growth = match self.growth(history, is_new && attempt == 0).await? {
                Ok(growth) => growth,
                Err(difference) => return Ok(TreeWritten::Taken(difference)),
            };
            let patch = self.patch(&chat, &growth);
            if growth.is_empty() && patch.is_empty() {
                progress(self.tree.nodes().len());
                return Ok(self.outcome(is_new, extension, attempt > 0));
            }
            let stored = self.tree.nodes().len() - growth.messages();
            if attempt == 0 && stored > 0 {
                progress(stored);
            }
            match self.apply(history, &growth, cancel, &mut progress, &mut extension).await? {
                None => {
                    if !patch.is_empty() {
                        let _ = history.update_chat(&self.new.chat, &patch, self.new.at).await?;
                    }
                    return Ok(self.outcome(is_new, extension, true));
                }
                // Someone else wrote to the chat meanwhile: perhaps the same messages.
                Some(found) => difference = found,
            }
        }
        Ok(TreeWritten::Taken(difference))
    }

    fn outcome(&self, is_new: bool, extension: TreeExtension, has_changed: bool) -> TreeWritten {
        match (is_new, has_changed) {
            (true, _) => TreeWritten::New,
            (false, true) => TreeWritten::Extended(extension),
            (false, false) => TreeWritten::Unchanged,
        }
    }

    /// Writes a growth. Returns the difference if the chat is no longer the one that was compared.
    async fn apply(
        &self,
        history: &dyn HistoryStore,
        growth: &TreeGrowth<'_>,
        cancel: &CancelSignal,
        progress: &mut (impl FnMut(usize) + Send),
        extension: &mut TreeExtension,
    ) -> Result<Option<TreeDifference>> {
        let chat = &self.new.chat;
        if let Some(branch) = growth.activate() {
            cancel.check("write")?;
            history.activate_branch(chat, branch, self.new.at).await?;
        }
        for commit in growth.commits(chat, self.new.at) {
            cancel.check("write")?;
            let (messages, amended) = (commit.nodes.len(), commit.amendments.len());
            let is_fork = matches!(commit.target, Target::Fork { .. });
            match history.commit(commit).await? {
                CommitOutcome::Applied(_) => {
                    extension.messages += messages;
                    extension.amended += amended;
                    extension.branches += usize::from(is_fork);
                }
                CommitOutcome::Replayed(_) => {}
                CommitOutcome::Exists { ids } => {
                    let message = ids.into_iter().next().unwrap_or_else(|| "".into());
                    return Ok(Some(TreeDifference::Message { message }));
                }
                _ => {
                    let branch = BranchName::main();
                    return Ok(Some(TreeDifference::Continued { branch, message: None }));
                }
            }
            progress(messages);
        }
        Ok(None)
    }

    /// Compares the tree with the chat.
    async fn growth(
        &self,
        history: &dyn HistoryStore,
        is_new: bool,
    ) -> Result<Result<TreeGrowth<'_>, TreeDifference>> {
        let chat = &self.new.chat;
        let branches = match is_new {
            true => vec![Branch::new(BranchName::main(), None, 0, true, self.new.at)],
            false => history.branches(chat).await?,
        };
        let mut left_at = HashMap::new();
        for branch in &branches {
            if branch.head.as_ref().is_some_and(|head| self.tree.position(head).is_none())
                && let Some(message) = self.left_at(history, branch).await?
            {
                left_at.insert(branch.name.clone(), message);
            }
        }
        let mut growth = match TreeGrowth::new(&self.tree, &branches, &left_at) {
            Ok(growth) => growth,
            Err(difference) => return Ok(Err(difference)),
        };
        let ids = growth.compared();
        let mut stored = Vec::with_capacity(ids.len());
        for ids in ids.chunks(limits::MAX_PAGE) {
            stored.extend(history.messages(chat, ids).await?);
        }
        Ok(growth.compare(&stored).map(|()| growth))
    }

    /// Returns the last message of the tree on a branch that ends in another message.
    async fn left_at(
        &self,
        history: &dyn HistoryStore,
        branch: &Branch,
    ) -> Result<Option<MessageId>> {
        let (end, mut last) = (ChainEnd::Branch(branch.name.clone()), FIRST_WINDOW);
        loop {
            let chain = history.chain(&self.new.chat, &end, &Window::Last(last)).await?;
            let mut nodes = chain.iter().rev();
            let found = nodes.find(|node| self.tree.position(&node.id).is_some());
            if found.is_some() || chain.skipped() == 0 {
                return Ok(found.map(|node| node.id.clone()));
            }
            last = last.saturating_mul(8);
        }
    }

    /// Returns whether the chat was made of the same source.
    fn has_origin_of(&self, chat: &Chat) -> bool {
        self.new.metadata.iter().all(|(key, value)| match chat.metadata.get(key) {
            Some(stored) if stored == value => true,
            Some(stored) if key == TranscriptSource::KEY => is_same_conversation(stored, value),
            _ => false,
        })
    }

    /// Returns the change of the chat's title and metadata. A title is replaced only if it was
    /// taken from the first message, and added only with the first message.
    fn patch(&self, chat: &Chat, growth: &TreeGrowth<'_>) -> ChatPatch {
        let mut patch = ChatPatch::default();
        let changed =
            self.new.metadata.iter().filter(|(key, value)| chat.metadata.get(key) != Some(*value));
        patch.set =
            changed.fold(Metadata::default(), |set, (key, value)| set.with(key, value.clone()));
        let is_question = |node: &Node| node.role() == Some(Role::User);
        let follows = match &chat.title {
            None => !growth.has_stored(is_question),
            title => *title == self.tree.title(),
        };
        if let Some(title) =
            self.new.title.as_ref().filter(|_| follows && chat.title != self.new.title)
        {
            patch.title = TitleChange::Set(title.clone());
        }
        patch
    }
}

fn is_same_conversation(stored: &Json, new: &Json) -> bool {
    match (TranscriptSource::from_json(stored), TranscriptSource::from_json(new)) {
        (Ok(stored), Ok(new)) => stored.is_same_conversation(&new),
        _ => false,
    }
}
