//! From what is pending to one commit.
//!
//! The usual save is one commit that extends the branch by messages with fresh ids, tried at once.
//! Only when the store answers otherwise does the engine look closer: ids that are stored already
//! are edits, a head that moved is settled by the conflict policy. A commit whose answer was lost
//! is sent again as it was, so it counts once.

use std::sync::Arc;

use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};
use context_core::{BranchName, CancelSignal, Error, ErrorKind, MessageId, Node, Result, Retry};

use super::compaction::PendingCompaction;
use super::loading::Purpose;
use super::pending::Settled;
use super::resolve::refuse;
use super::view::View;
use super::{ConflictPolicy, ContextEngine};

/// How often a save is tried again because others keep moving the branch. Each lost race means that
/// somebody else's save succeeded, so only a crowd of writers comes near it.
const ATTEMPTS: usize = 100;

/// What a save does with pending messages whose ids are stored already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edits {
    /// An edit makes a new branch; a lazy message amends in place.
    #[default]
    Auto,
    /// Edits and lazy messages make a new branch.
    Branch,
    /// Edits and lazy messages amend in place: id, place and head stay, the earlier text is kept as
    /// a revision.
    Amend,
}

/// What a save did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The branch the engine is on now.
    pub branch: BranchName,
    /// Its head; nothing while it has no messages.
    pub head: Option<MessageId>,
    /// What happened.
    pub outcome: SaveOutcome,
}

/// What happened in a save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// There was nothing to save, or it had been saved before.
    Unchanged,
    /// The messages were added to the branch, or amended in place.
    Saved,
    /// Stored messages were edited: a new branch holds the edits, the old one is untouched.
    Edited {
        /// The old branch.
        from: BranchName,
    },
    /// Somebody else had moved the branch: the messages were put behind theirs.
    Grafted {
        /// Their head.
        onto: Option<MessageId>,
    },
    /// Somebody else had moved the branch: the messages are on a new one.
    Forked {
        /// The branch that moved.
        from: BranchName,
    },
}

/// A commit on its way, and what it takes off the engine's hands when it arrives.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    commit: Commit,
    /// The pending messages it holds, as they were set.
    pending: Vec<Arc<Node>>,
    /// The context fragments it holds.
    fragments: Vec<u64>,
    /// The pending compaction it holds, or that it shows to have no place.
    compaction: Option<MessageId>,
}

impl ContextEngine {
    /// Saves what is pending and the context fragments that are to be persisted: one commit, or
    /// nothing.
    ///
    /// Lazy data is stored as it was shown last; what was never shown is loaded first. What could
    /// not be loaded and has something else in its place is not stored yet: a later save tries
    /// again.
    pub async fn save(&mut self) -> Result<Saved> {
        self.save_with(Edits::Auto).await
    }

    /// The same, saying what becomes of edits.
    pub async fn save_with(&mut self, edits: Edits) -> Result<Saved> {
        if let Some(earlier) = self.in_flight.clone() {
            // Whatever it was refused for is found again below, with what is pending now.
            match self.send(earlier.clone()).await? {
                CommitOutcome::Applied(committed) => self.absorb(&earlier, &committed),
                CommitOutcome::Replayed(committed) => {
                    // Whatever was written since, by whom ever, is found by reading again.
                    self.absorb(&earlier, &committed);
                    self.view = None;
                }
                _ => {}
            }
        }
        self.load_fragments(Purpose::Store, &CancelSignal::never()).await?;
        self.seen().await?;
        let view = self.view.as_ref().expect("just read");
        #[cfg_attr(not(feature = "instructions"), allow(unused_mut))]
        let Settled { mut nodes, replacement } = self.pending.settle(view).map_err(refuse)?;
        #[cfg(feature = "instructions")]
        self.fold(&mut nodes, edits);
        let mut draft = Draft { pending: self.pending.nodes(), nodes, amendments: Vec::new() };
        match edits {
            Edits::Auto => draft.amendments.extend(replacement),
            Edits::Branch => draft.nodes.extend(replacement),
            Edits::Amend => {
                draft.amendments.extend(replacement);
                let ids: Vec<_> = draft.nodes.iter().map(|node| node.id.clone()).collect();
                let stored = self.parts.history().messages(&self.chat, &ids).await?;
                let mut stored = stored.iter().map(Option::is_some);
                let (old, new) =
                    draft.nodes.drain(..).partition(|_| stored.next().unwrap_or(false));
                draft.nodes = new;
                draft.amendments.extend::<Vec<_>>(old);
            }
        }
        self.commit_draft(draft).await
    }

    async fn commit_draft(&mut self, mut draft: Draft) -> Result<Saved> {
        let mut outcome = SaveOutcome::Saved;
        for _ in 0..ATTEMPTS {
            let expected = self.seen().await?.head().cloned();
            let target = match draft.nodes.is_empty() && self.compaction.is_none() {
                true => Target::Stay,
                false => Target::Extend { branch: self.branch.clone(), expected: expected.clone() },
            };
            let flight = self.flight(&draft, target)?;
            if flight.is_empty() {
                self.take_off(&flight);
                return Ok(self.saved(expected, SaveOutcome::Unchanged));
            }
            match self.send(flight.clone()).await? {
                CommitOutcome::Applied(committed) | CommitOutcome::Replayed(committed) => {
                    self.absorb(&flight, &committed);
                    let head = committed.head.or(expected);
                    return Ok(self.saved(head, outcome));
                }
                CommitOutcome::Conflict { actual } => match self.parts.conflict {
                    ConflictPolicy::Graft => {
                        outcome = SaveOutcome::Grafted { onto: actual };
                        self.view().await?;
                    }
                    ConflictPolicy::Fork => {
                        let outcome = SaveOutcome::Forked { from: self.branch.clone() };
                        return self.commit_fork(&draft, expected, false, outcome).await;
                    }
                    ConflictPolicy::Fail => return Err(self.conflict(actual.as_ref())),
                },
                CommitOutcome::Exists { ids } => {
                    if let Some(at) = self.take_edits(&mut draft, &ids).await? {
                        let outcome = SaveOutcome::Edited { from: self.branch.clone() };
                        return self.commit_fork(&draft, at, true, outcome).await;
                    }
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Bug,
                        "save",
                        "the store's answer is not understood",
                    ));
                }
            }
        }
        Err(self.conflict(None).with("attempts", ATTEMPTS))
    }

    /// Commits a draft to a new branch, which the engine is then on.
    async fn commit_fork(
        &mut self,
        draft: &Draft,
        at: Option<MessageId>,
        activate: bool,
        outcome: SaveOutcome,
    ) -> Result<Saved> {
        let name = ForkName::NextVersionOf(self.branch.clone());
        let flight = self.flight(draft, Target::Fork { name, at, activate })?;
        match self.send(flight.clone()).await?.committed() {
            Some(committed) => {
                self.absorb(&flight, &committed);
                Ok(self.saved(committed.head, outcome))
            }
            None => Err(self.conflict(None)),
        }
    }

    /// Sorts out new messages whose ids are stored: what is stored in the same words is saved
    /// already and leaves the draft; the others are edits and get fresh ids. The edits' common
    /// place is returned: behind the parent of the one nearest to the root.
    async fn take_edits(
        &mut self,
        draft: &mut Draft,
        ids: &[MessageId],
    ) -> Result<Option<Option<MessageId>>> {
        let stored = self.parts.history().messages(&self.chat, ids).await?;
        let mut place = None;
        for placed in stored.into_iter().flatten() {
            let Some(position) = draft.nodes.iter().position(|node| node.id == placed.node.id)
            else {
                continue;
            };
            if is_same(&draft.nodes[position], &placed.node) {
                draft.nodes.remove(position);
                continue;
            }
            let fresh = Node::clone(&draft.nodes[position]).with_id(self.parts.ids.next_id());
            draft.nodes[position] = Arc::new(fresh);
            if place.as_ref().is_none_or(|(depth, _)| placed.depth < *depth) {
                place = Some((placed.depth, placed.parent));
            }
        }
        let taken = |pending: &PendingCompaction| ids.contains(&pending.id);
        if self.compaction.as_ref().is_some_and(taken) {
            // Stored already; on a new branch it is needed once more.
            let fresh = self.parts.ids.next_id().into();
            self.compaction = self.compaction.take().filter(|_| place.is_some());
            self.compaction.iter_mut().for_each(|pending| pending.id = MessageId::clone(&fresh));
        }
        Ok(place.map(|(_, parent)| parent))
    }

    fn flight(&self, draft: &Draft, target: Target) -> Result<InFlight> {
        let (fragments, stored) = self.fragments.to_store(&self.parts.codecs)?.into_iter().unzip();
        let plain = matches!(target, Target::Extend { .. });
        let mut nodes = draft.nodes.clone();
        nodes.extend(self.boundary_behind(&target, &draft.nodes));
        let mut commit = Commit {
            nodes,
            amendments: draft.amendments.clone(),
            fragments: stored,
            ..Commit::new(self.chat.clone(), target, self.parts.clock.now())
        };
        // New messages at the end of a branch are told by their ids; all else needs a key to be
        // safe to repeat.
        if !plain || !commit.amendments.is_empty() || !commit.fragments.is_empty() {
            commit.key = self.parts.fresh_key();
        }
        let compaction = self.compaction.as_ref().map(|pending| pending.id.clone());
        Ok(InFlight { commit, pending: draft.pending.clone(), fragments, compaction })
    }

    /// Sends a commit, remembering it until its fate is known: not if the answer is lost, and not
    /// if this future is dropped.
    async fn send(&mut self, flight: InFlight) -> Result<CommitOutcome> {
        let commit = flight.commit.clone();
        self.in_flight = Some(flight);
        let result = self.parts.history().commit(commit).await;
        if !matches!(&result, Err(error) if error.retry() != Retry::Never) {
            self.in_flight = None;
        }
        result
    }

    /// Brings the engine to where a commit has left the store.
    fn absorb(&mut self, flight: &InFlight, committed: &Committed) {
        self.take_off(flight);
        let commit = &flight.commit;
        if let Some(branch) = &committed.branch {
            self.branch = branch.clone();
        }
        self.view = self.view.take().and_then(|mut view| match &commit.target {
            Target::Stay => Some(view),
            Target::Extend { expected, .. } => (view.head() == expected.as_ref()).then_some(view),
            Target::Fork { at: Some(at), .. } => view.up_to(at),
            Target::Fork { at: None, .. } => Some(View::default()),
        });
        if let Some(view) = &mut self.view {
            commit.nodes.iter().for_each(|node| view.push(Arc::clone(node)));
            commit.amendments.iter().for_each(|node| view.amend(node));
            if !commit.amendments.is_empty() {
                view.amended();
            }
        }
        self.share();
    }

    /// Takes what a commit holds off the lists of what is to be saved.
    fn take_off(&mut self, flight: &InFlight) {
        self.pending.saved(&flight.pending);
        self.fragments.saved(&flight.fragments);
        self.compaction = self
            .compaction
            .take()
            .filter(|pending| flight.compaction.as_ref() != Some(&pending.id));
    }

    fn saved(&self, head: Option<MessageId>, outcome: SaveOutcome) -> Saved {
        Saved { branch: self.branch.clone(), head, outcome }
    }

    fn conflict(&self, actual: Option<&MessageId>) -> Error {
        let error = Error::new(
            ErrorKind::Conflict,
            "save",
            "somebody else moved the branch; nothing was written",
        )
        .with("chat", &self.chat.chat)
        .with("branch", &self.branch);
        match actual {
            Some(head) => error.with("head", head),
            None => error,
        }
    }
}

/// Whether a stored message is the one that is to be saved.
fn is_same(new: &Node, stored: &Node) -> bool {
    if new.same_content(stored) {
        return true;
    }
    #[cfg(feature = "instructions")]
    return super::remind::same_but_for_reminders(new, stored);
    #[cfg(not(feature = "instructions"))]
    false
}

/// What is about to be written.
struct Draft {
    /// The pending messages it stands for, as they were set.
    pending: Vec<Arc<Node>>,
    nodes: Vec<Arc<Node>>,
    amendments: Vec<Arc<Node>>,
}

impl InFlight {
    /// Whether it holds the pending message of this id.
    pub(super) fn holds(&self, id: &MessageId) -> bool {
        self.pending.iter().any(|node| node.id == *id)
    }

    /// Whether it holds a compaction.
    pub(super) fn compacts(&self) -> bool {
        self.compaction.is_some()
    }

    fn is_empty(&self) -> bool {
        let Commit { nodes, amendments, fragments, .. } = &self.commit;
        nodes.is_empty() && amendments.is_empty() && fragments.is_empty()
    }
}
