//! Saving: from pending messages to one commit.
//!
//! The usual save is one commit that appends messages with fresh ids to the branch, attempted
//! without reading first. With [`ConflictPolicy::Graft`] the store appends them to whatever the
//! head is by then. Only if the store refuses the commit does the engine compare in detail: ids
//! that are stored already are edits, and the conflict policy handles a head that moved. A commit
//! whose answer was lost is sent again with the same content, so it takes effect at most once.

use std::sync::Arc;

use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};
use context_core::{BranchName, CancelSignal, Error, ErrorKind, MessageId, Node, Result, Retry};

use tracing::Instrument;

use super::compaction::PendingCompaction;
use super::loads::Purpose;
use super::pending::{Settle, Settled};
use super::resolve::refuse;
use super::view::View;
use super::{ConflictPolicy, ContextEngine};
use crate::trace;

/// The maximum number of attempts at a save that loses races. A graft loses one only if the branch
/// was deleted or renamed and made again. A compaction names every message before it, so it has to
/// be made anew for each head; each race that it loses means that another save succeeded.
const ATTEMPTS: usize = 100;

/// The handling of pending messages whose ids are stored already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edits {
    /// An edit makes a new branch. A lazy message amends in place.
    #[default]
    Auto,
    /// Edits and lazy messages make a new branch.
    Branch,
    /// Edits and lazy messages amend in place: id, position and head stay, and the earlier text is
    /// kept as a revision.
    Amend,
}

/// The result of a save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The branch of the engine after the save.
    pub branch: BranchName,
    /// Its head. `None` while it has no messages.
    pub head: Option<MessageId>,
    /// The outcome.
    pub outcome: SaveOutcome,
}

/// The outcome of a save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// Nothing was pending, or all of it had been saved before.
    Unchanged,
    /// The messages were added to the branch, or amended in place.
    Saved,
    /// Stored messages were edited: a new branch holds the edits, the old one is untouched.
    Edited {
        /// The old branch.
        from: BranchName,
    },
    /// Another writer had moved the branch: the messages were appended after theirs.
    Grafted {
        /// The head they were appended to.
        onto: Option<MessageId>,
    },
    /// Another writer had moved the branch: the messages are on a new one.
    Forked {
        /// The branch that moved.
        from: BranchName,
    },
}

/// A commit with an unknown outcome, and the pending items that are done when it arrives.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    commit: Commit,
    /// The pending messages that are done with it, as they were set: those it holds, and transient
    /// ones.
    pending: Vec<Arc<Node>>,
    /// The context fragments it holds.
    fragments: Vec<u64>,
    /// The pending compaction that it holds, or that turned out to have no effect.
    compaction: Option<MessageId>,
}

impl ContextEngine {
    /// Saves pending messages and the context fragments that are to be persisted in one commit: all
    /// or nothing.
    ///
    /// [Transient](context_core::Fragment::transient) messages are dropped, also if nothing else is
    /// pending.
    ///
    /// Lazy data is stored as it was shown last, or loaded first if it was never shown. Data with a
    /// substitute for a failed load is not stored yet; a later save tries again.
    pub async fn save(&mut self) -> Result<Saved> {
        self.save_with(Edits::Auto).await
    }

    /// Saves with a choice of how edits are handled.
    pub async fn save_with(&mut self, edits: Edits) -> Result<Saved> {
        let span = trace::save(&self.chat);
        self.save_pending(edits).instrument(span).await
    }

    async fn save_pending(&mut self, edits: Edits) -> Result<Saved> {
        if let Some(mut earlier) = self.in_flight.clone() {
            // Sent again under the lease and at the time of now: with those of then, it would be
            // refused for a lease that has ended since. The durability may have been set since.
            let now = self.new_commit(earlier.commit.target.clone());
            (earlier.commit.lease, earlier.commit.at) = (now.lease, now.at);
            earlier.commit.durability = now.durability;
            // The reason for a refusal is found again below, with what is pending now.
            match self.send(earlier.clone()).await? {
                CommitOutcome::Applied(committed) => self.absorb(&earlier, &committed),
                CommitOutcome::Replayed(committed) => {
                    // Messages that were written since, by any writer, are found by reading again.
                    self.absorb(&earlier, &committed);
                    self.view = None;
                }
                _ => {}
            }
        }
        self.load_fragments(Purpose::Store, &CancelSignal::never()).await?;
        let has_answer = self.known_view().await?.newest_assistant().is_some();
        if !self.reminders.is_empty() || self.pending.seeks_answer() && !has_answer {
            // Reminders count turns from the first one on.
            self.known_whole_view().await?;
        }
        let view = self.view.as_ref().expect("just read");
        let settled = self.pending.settle(view, Settle::Stored).map_err(refuse)?;
        let Settled { mut nodes, replacement } = settled;
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
        let saved = self.commit_draft(draft).await?;
        self.store_prompt().await;
        Ok(saved)
    }

    async fn commit_draft(&mut self, mut draft: Draft) -> Result<Saved> {
        let mut outcome = SaveOutcome::Saved;
        for _ in 0..ATTEMPTS {
            let expected = self.known_view().await?.head().cloned();
            let branch = self.branch.clone();
            let target = if self.compaction.is_some() {
                Target::Extend { branch, expected: expected.clone() }
            } else if draft.nodes.is_empty() {
                Target::Stay
            } else if self.parts.conflict == ConflictPolicy::Graft {
                Target::Graft { branch, seen: expected.clone() }
            } else {
                Target::Extend { branch, expected: expected.clone() }
            };
            let flight = self.flight(&draft, target)?;
            if flight.is_empty() {
                self.remove_saved(&flight);
                return Ok(self.saved(expected, SaveOutcome::Unchanged));
            }
            match self.send(flight.clone()).await? {
                CommitOutcome::Applied(committed) | CommitOutcome::Replayed(committed) => {
                    self.absorb(&flight, &committed);
                    let grafts = matches!(flight.commit.target, Target::Graft { .. });
                    if grafts && committed.onto != expected {
                        outcome = SaveOutcome::Grafted { onto: committed.onto };
                    }
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
                        return self.commit_fork(&draft, at.after, true, outcome).await;
                    }
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Bug,
                        "save",
                        "the store returned an unknown outcome",
                    ));
                }
            }
        }
        Err(self.conflict(None).with("attempts", ATTEMPTS))
    }

    /// Commits a draft to a new branch and moves the engine there.
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

    /// Handles new messages whose ids are stored. Messages with the same content are saved already
    /// and leave the draft. The others are edits and get fresh ids. Returns the common position of
    /// the edits: after the parent of the edit that is nearest to the root.
    async fn take_edits(
        &mut self,
        draft: &mut Draft,
        ids: &[MessageId],
    ) -> Result<Option<ForkPoint>> {
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
            // The boundary is stored already. A new branch needs another copy of it.
            let fresh = self.parts.ids.next_id().into();
            self.compaction = self.compaction.take().filter(|_| place.is_some());
            self.compaction.iter_mut().for_each(|pending| pending.id = MessageId::clone(&fresh));
        }
        Ok(place.map(|(_, after)| ForkPoint { after }))
    }

    fn flight(&self, draft: &Draft, target: Target) -> Result<InFlight> {
        let (fragments, stored) = self.fragments.to_store(&self.parts.codecs)?.into_iter().unzip();
        let plain = matches!(target, Target::Extend { .. } | Target::Graft { .. });
        let mut nodes = draft.nodes.clone();
        nodes.extend(self.boundary_behind(&target, &draft.nodes));
        let mut commit = Commit {
            nodes,
            amendments: draft.amendments.clone(),
            fragments: stored,
            ..self.new_commit(target)
        };
        // Appended messages are recognized by their ids. All other commits need a key to be
        // idempotent.
        if !plain || !commit.amendments.is_empty() || !commit.fragments.is_empty() {
            commit.key = self.parts.fresh_key();
        }
        let compaction = self.compaction.as_ref().map(|pending| pending.id.clone());
        Ok(InFlight { commit, pending: draft.pending.clone(), fragments, compaction })
    }

    /// Sends a commit and remembers it until its outcome is known. It stays remembered if the
    /// answer is lost or this future is dropped.
    async fn send(&mut self, flight: InFlight) -> Result<CommitOutcome> {
        let commit = flight.commit.clone();
        self.in_flight = Some(flight);
        let result = self.parts.history().commit(commit).await;
        if !matches!(&result, Err(error) if error.retry() != Retry::Never) {
            self.in_flight = None;
        }
        result
    }

    /// Updates the engine to the state of the store after a commit.
    fn absorb(&mut self, flight: &InFlight, committed: &Committed) {
        self.remove_saved(flight);
        let commit = &flight.commit;
        if let Some(branch) = &committed.branch {
            self.branch = branch.clone();
        }
        self.view = self.view.take().and_then(|mut view| match &commit.target {
            Target::Stay => Some(view),
            Target::Extend { .. } | Target::Graft { .. } => {
                (view.head() == commit.base()).then_some(view)
            }
            Target::Fork { at: Some(at), .. } => view.up_to(at),
            Target::Fork { at: None, .. } => Some(View::default()),
        });
        let grafts = matches!(commit.target, Target::Graft { .. });
        if let Some(view) = &mut self.view {
            if grafts && view.head() != committed.onto.as_ref() {
                // The messages of others come first. They are read with the next use of the view.
                view.fall_behind();
            } else {
                commit.nodes.iter().for_each(|node| view.push(Arc::clone(node)));
            }
            commit.amendments.iter().for_each(|node| view.amend(node));
            if !commit.amendments.is_empty() {
                view.amended();
            }
        }
        self.share();
    }

    /// Removes the items of a commit from what is pending.
    fn remove_saved(&mut self, flight: &InFlight) {
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
            "another writer moved the branch; nothing was written",
        )
        .with("chat", &self.chat.chat)
        .with("branch", &self.branch);
        match actual {
            Some(head) => error.with("head", head),
            None => error,
        }
    }
}

/// Whether a stored message is the one to be saved.
fn is_same(new: &Node, stored: &Node) -> bool {
    new.same_content(stored) || super::reminders::same_but_for_reminders(new, stored)
}

/// The position of a new branch: after this message, or at the root.
struct ForkPoint {
    after: Option<MessageId>,
}

/// The content of the next commit.
struct Draft {
    /// The pending messages of this draft, as they were set.
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
