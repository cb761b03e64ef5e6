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
/// A store fills the fields in this order. If the key is known, it may stop after `known`, except
/// for a graft with new messages: that needs the fields up to `repeated`, which tell what the
/// messages were appended to.
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
    /// The depth of the message that [`seen_on`] names. `None` if the branch's chain does not have
    /// it.
    pub seen: Option<u64>,
    /// The head of the branch that [`Target::Extend`] and [`Target::Graft`] move, or after which
    /// [`Target::Fork`] names its branch.
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
    /// The message that the first new message follows: the head of the branch, or the fork point.
    pub base: Option<MessageId>,
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
/// ones, and the one that a fork starts after or a graft has seen.
pub fn named_messages(commit: &Commit) -> impl Iterator<Item = &MessageId> + Clone {
    let base = match &commit.target {
        Target::Fork { .. } | Target::Graft { .. } => commit.base(),
        Target::Stay | Target::Extend { .. } => None,
    };
    let nodes = commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
    nodes.map(|node| &node.id).chain(base)
}

/// Returns the branch of a graft and the message that its chain must have, whose depth a store
/// looks up. `None` for other commits, and for a graft that has seen no message.
pub fn seen_on(commit: &Commit) -> Option<(&BranchName, &MessageId)> {
    match &commit.target {
        Target::Graft { branch, seen: Some(seen) } => Some((branch, seen)),
        _ => None,
    }
}

/// Whether a store may answer a commit whose key is known from what is stored with the key.
pub fn is_known_by_key(commit: &Commit) -> bool {
    !matches!(commit.target, Target::Graft { .. }) || commit.nodes.is_empty()
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

/// A commit that does nothing but append messages other than boundaries to a branch, and has no
/// lease. Stores have a fast path for such a commit, which must leave a commit to a chat whose
/// lease is in force to [`decide_commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlainAppend<'c> {
    /// The branch.
    pub branch: &'c BranchName,
    /// The head that the caller saw.
    pub seen: Option<&'c MessageId>,
    /// Whether the head may have moved on since, so that it only must have `seen` on its chain.
    pub grafts: bool,
}

/// Returns the commit as a plain append, if it is one.
pub fn plain_append(commit: &Commit) -> Option<PlainAppend<'_>> {
    let (branch, seen, grafts) = match &commit.target {
        Target::Extend { branch, expected } => (branch, expected, false),
        Target::Graft { branch, seen } => (branch, seen, true),
        Target::Stay | Target::Fork { .. } => return None,
    };
    let plain = !commit.nodes.is_empty()
        && commit.amendments.is_empty()
        && commit.redactions.is_empty()
        && commit.fragments.is_empty()
        && commit.patch.is_none()
        && commit.key.is_none()
        && commit.lease.is_none()
        && commit.nodes.iter().all(|node| node.kind != NodeKind::Boundary);
    plain.then_some(PlainAppend { branch, seen: seen.as_ref(), grafts })
}

impl<P> CommitFacts<P> {
    /// Creates the facts of a commit to a chat without messages and branches.
    pub fn new() -> Self {
        Self {
            known: None,
            stored: HashMap::new(),
            repeated: Vec::new(),
            seen: None,
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
        let (Target::Extend { branch, .. }
        | Target::Graft { branch, .. }
        | Target::Fork { name: ForkName::Exact(branch), .. }) = &commit.target
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
        // A graft was appended to some message from the one on that it has seen.
        let (after, follows) = match (&commit.target, self.repeated.first()) {
            (Target::Graft { seen, .. }, Some(first)) => {
                let behind = self.seen.is_some_and(|seen| seen < first.depth);
                (first.parent.as_ref(), seen.is_none() || behind)
            }
            _ => (commit.base(), true),
        };
        let parents = std::iter::once(after).chain(new().map(Some));
        let mut pairs = commit.nodes.iter().zip(parents).zip(&self.repeated);
        let same = follows
            && self.repeated.len() == commit.nodes.len()
            && pairs.all(|((node, parent), stored)| {
                stored.node.id == node.id
                    && stored.parent.as_ref() == parent
                    && stored.node.same_content(node)
            });
        Some(match self.repeated_on(commit).filter(|_| same) {
            Some((branch, last)) => {
                let committed = Committed::new(Some(branch.clone()), Some(last.clone()));
                CommitOutcome::Replayed(self.grafted(commit, committed))
            }
            None => CommitOutcome::Exists { ids: taken },
        })
    }

    /// Completes the result of a commit that was written before by what a graft was appended to.
    fn grafted(&self, commit: &Commit, committed: Committed) -> Committed {
        let onto = match (&commit.target, self.repeated.first()) {
            (Target::Graft { .. }, _) if commit.nodes.is_empty() => committed.head.clone(),
            (Target::Graft { .. }, Some(first)) => first.parent.clone(),
            _ => None,
        };
        committed.with_onto(onto)
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
            let committed = facts.grafted(commit, committed.clone());
            return Ok(CommitDecision::Answer(CommitOutcome::Replayed(committed)));
        }
        let error = Error::invalid(OPERATION, "the key was used for another commit");
        return Err(error.with("key", key));
    }
    if let Some(outcome) = facts.written_before(commit) {
        return Ok(CommitDecision::Answer(outcome));
    }
    Lease::check_commit(facts.lease.as_ref(), commit)?;
    let CommitFacts { stored, seen: seen_at, head, names, chat, .. } = facts;
    let stored_message = |id: &MessageId| {
        stored.get(id).cloned().ok_or_else(|| Error::not_found(OPERATION, "message", id))
    };
    let (mut fork_point, mut onto) = (None, None);
    let branch = match &commit.target {
        Target::Stay => None,
        Target::Extend { branch, expected } => {
            let actual = head.of(branch)?;
            if actual != *expected {
                return Ok(CommitDecision::Answer(CommitOutcome::Conflict { actual }));
            }
            Some(branch.clone())
        }
        Target::Graft { branch, seen } => {
            let actual = head.of(branch)?;
            if seen.is_some() && seen_at.is_none() {
                return Ok(CommitDecision::Answer(CommitOutcome::Conflict { actual }));
            }
            onto = actual;
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
    let base = match &commit.target {
        Target::Graft { .. } => onto.clone(),
        _ => commit.base().cloned(),
    };
    let head = commit.nodes.last().map(|node| node.id.clone()).or_else(|| base.clone());
    let committed = Committed::new(branch, head).with_onto(onto);
    let plan = CommitPlan { committed, base, changed, fork_point, patched, digest, refs };
    Ok(CommitDecision::Write(plan))
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
