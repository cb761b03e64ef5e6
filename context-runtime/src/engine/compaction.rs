//! Compactions of the branch: taking over plans, writing them as boundaries, undoing and listing
//! them.
//!
//! This module does not decide what to cut, and removes no message.

mod undo_stack;

use std::collections::HashSet;
use std::sync::Arc;

use context_core::history::{
    Boundary, BoundaryDraft, DraftError, HistoryRewrite, PlanReport, ShownMessage, StoredBoundary,
    shown,
};
use context_core::store::Target;
use context_core::{Chain, Error, ErrorKind, MessageId, Metadata, Node, Result, Timestamp};

use self::undo_stack::UndoStack;
use super::pending::Settle;
use super::resolve::refuse;
use super::{ContextEngine, Resolved};

/// A compaction of a branch, or the undoing of one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compaction {
    /// The id of its boundary.
    pub id: MessageId,
    /// The time of the compaction.
    pub created_at: Timestamp,
    /// The content of the boundary.
    pub boundary: Arc<StoredBoundary>,
    /// Whether it is in force: it is a compaction, not an undo, and was not undone since.
    pub stands: bool,
    /// Whether it is still to be saved.
    pub pending: bool,
}

/// A boundary that the next save writes.
#[derive(Clone, Debug)]
pub(super) struct PendingCompaction {
    pub(super) id: MessageId,
    created_at: Timestamp,
    draft: BoundaryDraft,
}

impl PendingCompaction {
    fn node(&self, chain: &Chain) -> Option<Arc<Node>> {
        self.draft.node(chain, self.id.clone(), self.created_at).map(Arc::new)
    }
}

impl ContextEngine {
    /// Takes over a compaction. From now on a resolve shows the compacted history, and the next
    /// save writes a boundary after the pending messages, in the same commit. The stored messages
    /// and all branches stay. Messages that the plan made are part of the boundary and are never
    /// saved as messages.
    ///
    /// `turn` is the history that was compacted. The positions in `rewrite` count the readable
    /// messages of `turn`. Messages added since then, set here or saved by another writer, follow
    /// what the compaction keeps, also if they arrive before the save. Transient messages stay
    /// shown until the save and are no part of the boundary, whatever the plan did with them. A
    /// second compaction before the save is merged with the first into one boundary. Moving to
    /// another branch drops the pending compaction.
    ///
    /// Returns the id that the boundary will have, or `None` if the compaction changes nothing.
    /// Returns [`ErrorKind::Conflict`] if the history shown is no longer the one that was
    /// compacted, and [`ErrorKind::Invalid`] if the turn is of another chat.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// use context_runtime::{ContextEngine, assistant, user, compaction::{BoundaryKind, Edit, HistoryView, Plan}};
    /// use context_runtime::tokens::ModelTable;
    ///
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.set([user("Two tickets to Lisbon."), assistant("Let me think …"), user("Window seats.")]);
    ///
    /// let turn = chat.resolve().await?;
    /// let messages = turn.request().messages;
    /// let counter = ModelTable::builtin().model("gpt-4o").counter();
    /// let view = HistoryView::new(&messages, &counter);
    /// let plan = Plan::new("by hand", BoundaryKind::Snip, &view, vec![Edit::remove(1..2)], "1 message").unwrap();
    ///
    /// chat.compact(&turn, &plan.apply(&messages).unwrap(), &[]).await?;
    /// let _saved = chat.save().await?;
    /// assert_eq!(chat.resolve().await?.messages.len(), 2);
    /// chat.undo_compaction().await?;
    /// assert_eq!(chat.resolve().await?.messages.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn compact(
        &mut self,
        turn: &Resolved,
        rewrite: &HistoryRewrite,
        reports: &[PlanReport],
    ) -> Result<Option<MessageId>> {
        self.check_chat("compact", &turn.chat)?;
        let chain = self.full_chain(Settle::Shown).await?;
        let earlier = self.compaction.take().filter(|earlier| earlier.node(&chain).is_some());
        self.compaction = earlier.clone();
        let entries = self.entries().await?;
        let draft =
            BoundaryDraft::compact(&chain, &entries, turn.messages.iter(), rewrite, reports);
        let Some(draft) = draft.map_err(|error| refused("compact", error))? else {
            return Ok(None);
        };
        let view = self.known_view().await?;
        let transient = turn.transient.iter().filter(|id| view.position(id).is_none());
        let transient: HashSet<_> = transient.cloned().collect();
        let draft = draft.without(&transient);
        let draft = match &earlier {
            Some(earlier) => draft.with_earlier(&earlier.draft),
            None => draft,
        };
        Ok(Some(self.pend(draft)))
    }

    /// Undoes the newest compaction in force: the messages it hid are shown again, followed by
    /// those added since. The next save writes the undo as a boundary too, so nothing is lost and
    /// [`redo_compaction`](Self::redo_compaction) restores the compaction. A second call undoes the
    /// compaction before. A compaction that is not saved yet is dropped.
    ///
    /// Returns the boundary that was undone, or `None` if no compaction is in force.
    pub async fn undo_compaction(&mut self) -> Result<Option<MessageId>> {
        let all = self.compactions().await?;
        let newest = UndoStack::of(&all).newest();
        self.revert("undo_compaction", newest).await
    }

    /// Reverts the newest [`undo_compaction`](Self::undo_compaction), unless the branch was
    /// compacted since.
    ///
    /// Returns the undo that was reverted, or `None` if there is none.
    pub async fn redo_compaction(&mut self) -> Result<Option<MessageId>> {
        let all = self.compactions().await?;
        let newest = UndoStack::of(&all).newest_undo();
        self.revert("redo_compaction", newest).await
    }

    /// Returns the compactions and undos of the branch, oldest first, the pending one included.
    pub async fn compactions(&mut self) -> Result<Vec<Compaction>> {
        let view = self.whole_view().await?;
        let stored = view.boundaries().filter_map(|(position, boundary)| {
            Some((Arc::clone(view.chain().get(position)?), Arc::clone(boundary), false))
        });
        let mut all: Vec<_> = stored.collect();
        if self.compaction.is_some() {
            let chain = self.full_chain(Settle::Shown).await?;
            let pending = self.compaction.as_ref().and_then(|pending| {
                let boundary = pending.draft.boundary(&chain, &pending.id)?;
                Some((pending.node(&chain)?, Arc::new(boundary), true))
            });
            all.extend(pending);
        }
        let compaction = |(node, boundary, pending): (Arc<Node>, _, _)| {
            let (id, created_at) = (node.id.clone(), node.created_at);
            Compaction { id, created_at, boundary, stands: false, pending }
        };
        let mut all: Vec<_> = all.into_iter().map(compaction).collect();
        for position in UndoStack::of(&all).standing() {
            all[position].stands = true;
        }
        Ok(all)
    }

    /// Returns the compactions in force, in the form that runtimes use.
    pub(super) async fn boundaries(&mut self) -> Result<Vec<Boundary>> {
        let all = self.compactions().await?;
        let standing = all.into_iter().filter(|compaction| compaction.stands);
        let boundary = |Compaction { id, boundary, .. }| {
            let StoredBoundary { kind, policy, before, after, retained, .. } = &*boundary;
            let metadata = Metadata::default().with("id", MessageId::as_str(&id));
            let metadata = metadata.with("policy", policy.as_str());
            let mut entry = Boundary::new(*kind, usize::try_from(*retained).unwrap_or(usize::MAX));
            let tokens = |count: u64| serde_json::Value::from(count);
            entry.metadata = metadata.with("before", tokens(*before)).with("after", tokens(*after));
            entry
        };
        Ok(standing.map(boundary).collect())
    }

    /// Returns the stored messages with pending ones in their places, ignoring boundaries.
    pub(super) async fn full_chain(&mut self, settle: Settle) -> Result<Chain> {
        self.whole_view().await?;
        let view = self.view.as_mut().expect("just read");
        let settled = self.pending.settle(view, settle).map_err(refuse)?;
        // The boundary may have been stored although the store's answer was lost.
        self.compaction =
            self.compaction.take().filter(|pending| view.position(&pending.id).is_none());
        let mut chain = view.chain().clone();
        for node in settled.nodes.iter().chain(&settled.replacement) {
            match view.position(&node.id) {
                Some(position) => chain.replace(position, Arc::clone(node)),
                None => chain.push(Arc::clone(node)),
            }
        }
        Ok(chain)
    }

    /// Returns the entries of this chain that may be shown, the pending compaction included.
    pub(super) async fn entries(&mut self) -> Result<Vec<ShownMessage>> {
        let mut chain = self.full_chain(Settle::Shown).await?;
        if let Some(node) = self.compaction.as_ref().and_then(|pending| pending.node(&chain)) {
            chain.push(node);
        }
        let mut decode = |entry: ShownMessage| match entry.node.is_encoded() {
            true => {
                let node = self.decoded.decode(&entry.node, &self.parts.codecs);
                entry.decoded(node)
            }
            false => entry,
        };
        Ok(shown(&chain).into_iter().map(&mut decode).collect())
    }

    /// Returns the boundary that a commit writes after its messages.
    pub(super) fn boundary_behind(
        &self,
        target: &Target,
        nodes: &[Arc<Node>],
    ) -> Option<Arc<Node>> {
        let (pending, view) = (self.compaction.as_ref()?, self.view.as_ref()?);
        let mut chain = match target {
            Target::Extend { .. } | Target::Graft { .. } => view.chain().clone(),
            Target::Fork { at: Some(at), .. } => {
                view.chain().prefix(view.chain().position(at)? + 1)
            }
            Target::Fork { at: None, .. } => Chain::default(),
            Target::Stay => return None,
        };
        nodes.iter().for_each(|node| chain.push(Arc::clone(node)));
        pending.node(&chain)
    }

    async fn revert(
        &mut self,
        operation: &'static str,
        boundary: Option<MessageId>,
    ) -> Result<Option<MessageId>> {
        let Some(boundary) = boundary else { return Ok(None) };
        if self.compaction.as_ref().is_some_and(|pending| pending.id == boundary) {
            self.compaction = None;
            return Ok(Some(boundary));
        }
        let chain = self.full_chain(Settle::Stored).await?;
        let draft =
            BoundaryDraft::undo(&chain, &boundary).map_err(|error| refused(operation, error))?;
        self.pend(draft);
        Ok(Some(boundary))
    }

    fn pend(&mut self, draft: BoundaryDraft) -> MessageId {
        let (id, created_at) = (MessageId::from(self.parts.ids.next_id()), self.parts.clock.now());
        self.compaction = Some(PendingCompaction { id: id.clone(), created_at, draft });
        id
    }
}

fn refused(operation: &'static str, error: DraftError) -> Error {
    let kind = match &error {
        DraftError::Stale { .. } => ErrorKind::Conflict,
        _ => ErrorKind::Invalid,
    };
    Error::new(kind, operation, error.to_string()).with_source(error)
}
