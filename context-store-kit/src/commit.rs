//! The decision of a commit: one pure function over what a store has looked up.
//!
//! A store looks up [`CommitFacts`] under its lock or in its transaction, asks [`decide_commit`],
//! and either returns the outcome or writes the [`CommitPlan`]. So the rule of
//! [`HistoryStore::commit`](context_core::store::HistoryStore::commit) is written once.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::base::limits;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{
    Chat, Commit, CommitOutcome, Committed, ForkName, Lease, RefChange, Target,
};
use context_core::{BranchName, Error, MessageId, Node, Result, Timestamp};

const OPERATION: &str = "commit";

/// The facts that decide a commit, as a store has looked them up in the commit's chat. `P` is what
/// the store knows of a stored message, for example the place of its row.
///
/// A store fills the fields in this order and may stop after `known`, if the key is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommitFacts<P> {
    /// The digest and the result that are stored with the commit's key.
    pub known: Option<([u8; 32], Committed)>,
    /// Those of the commit's [`named_messages`] that the chat has.
    pub stored: HashMap<MessageId, P>,
    /// The new messages as the chat has them, in the order of the commit. Looked up only if
    /// [`CommitFacts::repeated_on`] names a branch; empty also if the chain of that branch does not
    /// have the last new message.
    pub repeated: Vec<PlacedNode>,
    /// The head of the branch that [`Target::Extend`] extends or after which [`Target::Fork`] names
    /// its branch.
    pub head: BranchHead,
    /// The names of all branches. Looked up only for [`Target::Fork`].
    pub names: Vec<BranchName>,
    /// The chat. Looked up only if [`needs_chat`] says so.
    pub chat: Option<Chat>,
    /// The last lease of the chat. A store without leases looks up none, so that a commit with a
    /// lease is refused.
    pub lease: Option<Lease>,
}

/// The head of a branch, as a store has looked it up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchHead {
    /// The chat has no such branch.
    #[default]
    Missing,
    /// The newest message of the branch. `None` for a branch without messages.
    At(Option<MessageId>),
}

impl BranchHead {
    fn of(self, branch: &BranchName) -> Result<Option<MessageId>> {
        match self {
            Self::At(head) => Ok(head),
            Self::Missing => Err(Error::not_found(OPERATION, "branch", branch)),
        }
    }
}

/// The decision of a commit.
#[derive(Clone, Debug)]
#[must_use]
pub enum CommitDecision<P> {
    /// Nothing is written, and this is the outcome.
    Answer(CommitOutcome),
    /// The commit is written. The outcome is [`CommitOutcome::Applied`] with
    /// [`CommitPlan::committed`].
    Write(CommitPlan<P>),
}

/// The decided parts of a commit that is written. The others are in the [`Commit`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommitPlan<P> {
    /// The branch that moves, or that [`Target::Fork`] creates, and its new head.
    pub committed: Committed,
    /// The stored messages that [`changes`] replaces, in its order.
    pub changed: Vec<P>,
    /// The stored message after which a new branch begins. `None` without a new branch, and for a
    /// new root.
    pub fork_point: Option<P>,
    /// The chat with the patch applied, if the commit has a patch.
    pub patched: Option<Chat>,
    /// The digest to store with the commit's key, if the commit has one.
    pub digest: Option<[u8; 32]>,
    /// The entries for the log of references, for stores that keep one.
    pub refs: Vec<RefChange>,
}

/// Returns the messages that a store looks up for a commit: the new, the amended and the redacted
/// ones, and the one that a fork starts after.
pub fn named_messages(commit: &Commit) -> impl Iterator<Item = &MessageId> + Clone {
    let fork_point = match &commit.target {
        Target::Fork { at, .. } => at.as_ref(),
        _ => None,
    };
    let nodes = commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
    nodes.map(|node| &node.id).chain(fork_point)
}

/// Whether a store looks up the chat for a commit: the commit has a patch, or makes a new branch
/// the active one.
pub fn needs_chat(commit: &Commit) -> bool {
    commit.patch.is_some() || matches!(commit.target, Target::Fork { activate: true, .. })
}

/// Returns the new contents of stored messages: first the amendments, each with the time of the
/// revision that it leaves, then the redactions, which leave none.
pub fn changes(commit: &Commit) -> impl Iterator<Item = (&Arc<Node>, Option<Timestamp>)> {
    let amendments = commit.amendments.iter().map(|node| (node, Some(commit.at)));
    amendments.chain(commit.redactions.iter().map(|node| (node, None)))
}

/// Returns the branch and the expected head of a commit that does nothing but append messages other
/// than boundaries to a branch, and has no lease. Stores have a fast path for such a commit, which
/// must leave a commit to a chat whose lease is in force to [`decide_commit`].
pub fn plain_append(commit: &Commit) -> Option<(&BranchName, Option<&MessageId>)> {
    let Target::Extend { branch, expected } = &commit.target else { return None };
    let plain = !commit.nodes.is_empty()
        && commit.amendments.is_empty()
        && commit.redactions.is_empty()
        && commit.fragments.is_empty()
        && commit.patch.is_none()
        && commit.key.is_none()
        && commit.lease.is_none()
        && commit.nodes.iter().all(|node| node.kind != NodeKind::Boundary);
    plain.then_some((branch, expected.as_ref()))
}

impl<P> CommitFacts<P> {
    /// Creates the facts of a commit to a chat without messages and branches.
    pub fn new() -> Self {
        Self {
            known: None,
            stored: HashMap::new(),
            repeated: Vec::new(),
            head: BranchHead::Missing,
            names: Vec::new(),
            chat: None,
            lease: None,
        }
    }

    /// Returns the branch and the last new message of a commit that may have been written before:
    /// one that names its branch, and whose new messages are all stored. Needs
    /// [`CommitFacts::stored`]; then [`CommitFacts::repeated`] has to be looked up.
    pub fn repeated_on<'c>(&self, commit: &'c Commit) -> Option<(&'c BranchName, &'c MessageId)> {
        let (Target::Extend { branch, .. } | Target::Fork { name: ForkName::Exact(branch), .. }) =
            &commit.target
        else {
            return None;
        };
        let last = commit.nodes.last()?;
        let all = commit.nodes.iter().all(|node| self.stored.contains_key(&node.id));
        all.then_some((branch, &last.id))
    }

    /// Determines the outcome if some of the new messages are stored already.
    fn written_before(&self, commit: &Commit) -> Option<CommitOutcome> {
        let new = || commit.nodes.iter().map(|node| &node.id);
        let taken: Vec<_> = new().filter(|id| self.stored.contains_key(*id)).cloned().collect();
        if taken.is_empty() {
            return None;
        }
        let parents = std::iter::once(commit.base()).chain(new().map(Some));
        let mut pairs = commit.nodes.iter().zip(parents).zip(&self.repeated);
        let same = self.repeated.len() == commit.nodes.len()
            && pairs.all(|((node, parent), stored)| {
                stored.node.id == node.id
                    && stored.parent.as_ref() == parent
                    && stored.node.same_content(node)
            });
        Some(match self.repeated_on(commit).filter(|_| same) {
            Some((branch, last)) => {
                CommitOutcome::Replayed(Committed::new(Some(branch.clone()), Some(last.clone())))
            }
            None => CommitOutcome::Exists { ids: taken },
        })
    }
}

impl<P> Default for CommitFacts<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Decides a commit that has passed [`Commit::check`], in the order that
/// [`HistoryStore::commit`](context_core::store::HistoryStore::commit) states. No check can fail
/// after that.
///
/// # Errors
///
/// [`NotFound`](context_core::ErrorKind::NotFound) for a branch, a fork point or a changed message
/// that the chat does not have. [`Invalid`](context_core::ErrorKind::Invalid) for a key that was
/// used with other content, for a chosen branch name that is too long, and for a patch that cannot
/// be applied. [`Conflict`](context_core::ErrorKind::Conflict) for a commit that a
/// [lease](Lease::check_commit) excludes.
pub fn decide_commit<P: Clone>(
    commit: &Commit,
    facts: CommitFacts<P>,
) -> Result<CommitDecision<P>> {
    let digest = commit.key.is_some().then(|| commit.digest());
    if let (Some(key), Some((written, committed))) = (&commit.key, &facts.known) {
        if digest == Some(*written) {
            return Ok(CommitDecision::Answer(CommitOutcome::Replayed(committed.clone())));
        }
        let error = Error::invalid(OPERATION, "the key was used for another commit");
        return Err(error.with("key", key));
    }
    if let Some(outcome) = facts.written_before(commit) {
        return Ok(CommitDecision::Answer(outcome));
    }
    Lease::check_commit(facts.lease.as_ref(), commit)?;
    let CommitFacts { stored, head, names, chat, .. } = facts;
    let stored_message = |id: &MessageId| {
        stored.get(id).cloned().ok_or_else(|| Error::not_found(OPERATION, "message", id))
    };
    let mut fork_point = None;
    let branch = match &commit.target {
        Target::Stay => None,
        Target::Extend { branch, expected } => {
            let actual = head.of(branch)?;
            if actual != *expected {
                return Ok(CommitDecision::Answer(CommitOutcome::Conflict { actual }));
            }
            Some(branch.clone())
        }
        Target::Fork { name, at, .. } => {
            fork_point = at.as_ref().map(stored_message).transpose()?;
            let Some(chosen) = name.choose(|name| names.contains(name)) else {
                let actual = head.of(name.base())?;
                return Ok(CommitDecision::Answer(CommitOutcome::Conflict { actual }));
            };
            limits::check_id(OPERATION, "branch", chosen.as_str())?;
            Some(chosen)
        }
    };
    let changed =
        changes(commit).map(|(node, _)| stored_message(&node.id)).collect::<Result<_>>()?;
    let refs = ref_changes(commit, branch.as_ref(), chat.as_ref());
    let patched = match (&commit.patch, chat) {
        (Some(patch), Some(mut chat)) => {
            patch.apply(&mut chat)?;
            Some(chat)
        }
        (Some(_), None) => return Err(Error::not_found(OPERATION, "chat", &commit.chat.chat)),
        (None, _) => None,
    };
    let head = commit.nodes.last().map(|node| &node.id).or(commit.base()).cloned();
    let committed = Committed::new(branch, head);
    Ok(CommitDecision::Write(CommitPlan { committed, changed, fork_point, patched, digest, refs }))
}

/// Returns the changes of references that a commit makes: the branch that it creates, and whether
/// that branch becomes the active one. An append is none.
fn ref_changes(
    commit: &Commit,
    branch: Option<&BranchName>,
    chat: Option<&Chat>,
) -> Vec<RefChange> {
    let mut refs = Vec::new();
    if let (Target::Fork { at, activate, .. }, Some(branch)) = (&commit.target, branch) {
        refs.push(RefChange::BranchCreated { branch: branch.clone(), from: at.clone() });
        if let Some(chat) = chat.filter(|_| *activate) {
            let (from, to) = (chat.active.clone(), branch.clone());
            refs.push(RefChange::BranchActivated { from, to });
        }
    }
    if !commit.redactions.is_empty() {
        refs.push(RefChange::MessagesRedacted { messages: commit.redactions.len() as u64 });
    }
    refs
}

#[cfg(test)]
mod tests;
