//! Reading a branch: from its last boundary on, as a whole, or what is new.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::history::{FrontEntry, StoredBoundary};
use context_core::message::NodeKind;
use context_core::store::{ChainEnd, HistoryStore, Window};
use context_core::{BranchName, Chain, ChatRef, MessageId, Node, Result};

use super::View;

/// The part of a branch that a view has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reach {
    /// The messages that a model is shown.
    Boundary,
    /// The chain from its root on.
    Whole,
}

/// A branch to read.
pub(in crate::engine) struct Source<'s> {
    pub(in crate::engine) history: &'s dyn HistoryStore,
    pub(in crate::engine) chat: &'s ChatRef,
}

impl Source<'_> {
    /// Brings a view up to date, or reads a new one. A view that is known is one round trip, and
    /// reads only new messages.
    pub(in crate::engine) async fn read(
        &self,
        known: Option<View>,
        branch: &BranchName,
        reach: Reach,
    ) -> Result<View> {
        let end = ChainEnd::Branch(branch.clone());
        let Some(mut view) = known else { return self.open(&end, reach).await };
        let reaches = reach == Reach::Boundary || view.is_whole();
        if view.take_ahead() && reaches {
            return Ok(view);
        }
        let Some(after) = view.news() else { return self.open(&end, reach).await };
        if !reaches {
            return Ok(self.open(&end, reach).await?.sharing(&view));
        }
        let news = self.history.chain(self.chat, &end, &after).await?;
        self.join(view, &end, news, reach).await
    }

    /// Returns a view of what a first read returned: the [news](View::news) of a known view, or the
    /// chain from its last boundary on.
    pub(in crate::engine) async fn begin(
        &self,
        known: Option<View>,
        end: &ChainEnd,
        read: Chain,
    ) -> Result<View> {
        match known {
            Some(view) => self.join(view, end, read, Reach::Boundary).await,
            None => self.shown(end, read).await,
        }
    }

    /// Brings a view up to date with its news.
    async fn join(
        &self,
        mut view: View,
        end: &ChainEnd,
        news: Chain,
        reach: Reach,
    ) -> Result<View> {
        if news.is_whole() {
            // A known message was amended, or the branch no longer contains the known head.
            return Ok(View::of(news).sharing(&view));
        }
        if !view.is_whole() && news.iter().any(|node| node.kind == NodeKind::Boundary) {
            // It may show messages that were not read.
            return Ok(self.open(end, reach).await?.sharing(&view));
        }
        news.iter().for_each(|node| view.push(Arc::clone(node)));
        view.behind = false;
        Ok(view)
    }

    /// Reads the whole chain up to a message.
    pub(in crate::engine) async fn path(&self, head: &MessageId) -> Result<View> {
        self.open(&ChainEnd::Message(head.clone()), Reach::Whole).await
    }

    async fn open(&self, end: &ChainEnd, reach: Reach) -> Result<View> {
        match reach {
            Reach::Boundary => {
                let chain = self.history.chain(self.chat, end, &Window::Boundary).await?;
                self.shown(end, chain).await
            }
            Reach::Whole => self.whole(end).await,
        }
    }

    async fn whole(&self, end: &ChainEnd) -> Result<View> {
        Ok(View::of(self.history.chain(self.chat, end, &Window::Whole).await?))
    }

    /// Returns the view of a chain that was read from its last boundary on.
    async fn shown(&self, end: &ChainEnd, chain: Chain) -> Result<View> {
        if chain.is_whole() {
            return Ok(View::of(chain));
        }
        match self.shown_before(chain).await {
            Ok(Some(view)) => Ok(view),
            // The chat changed between two reads.
            Ok(None) => self.whole(end).await,
            Err(error) if error.is_not_found() => self.whole(end).await,
            Err(error) => Err(error),
        }
    }

    /// Reads the messages that the boundary in force shows of those before it. `None` if the
    /// boundary cannot be read, or if messages were changed since the chain was read.
    async fn shown_before(&self, chain: Chain) -> Result<Option<View>> {
        let Some((position, boundary)) = StoredBoundary::in_force(&chain) else {
            return Ok(None);
        };
        let chain = chain.suffix(position);
        let ids: Vec<MessageId> = boundary.front.iter().filter_map(stored_id).cloned().collect();
        let mut front = HashMap::new();
        if !ids.is_empty() {
            let placed = self.history.messages(self.chat, &ids).await?.into_iter().flatten();
            let earlier = placed.filter(|placed| placed.depth < chain.skipped());
            front.extend(earlier.map(|placed| (placed.node.id.clone(), placed.node)));
        }
        // Read last, because only this read tells whether a message has changed since the first.
        let Some(before) = self.before(&chain, boundary.since).await? else { return Ok(None) };
        front.retain(|id, _| before.position(id).is_none());
        let mut joined = before;
        joined.extend(&chain);
        Ok(Some(View::of_part(joined, front)))
    }

    /// Reads the nodes before the boundary that a chain begins with, as many as have this number of
    /// messages. `None` if messages were changed since the chain was read.
    async fn before(&self, chain: &Chain, messages: u64) -> Result<Option<Chain>> {
        let Some(boundary) = chain.get(0) else { return Ok(None) };
        let end = ChainEnd::Message(boundary.id.clone());
        let wanted = usize::try_from(messages).unwrap_or(usize::MAX);
        let mut last = wanted.saturating_add(1);
        loop {
            let read = self.history.chain(self.chat, &end, &Window::Last(last)).await?;
            if read.generation() != chain.generation() {
                return Ok(None);
            }
            let before = read.prefix(read.len().saturating_sub(1));
            let found = before.iter().filter(|node| node.role().is_some()).count();
            if found >= wanted || read.is_whole() {
                return Ok(Some(before));
            }
            // Boundaries do not count.
            last = last.saturating_add(wanted - found);
        }
    }
}

fn stored_id(entry: &FrontEntry) -> Option<&MessageId> {
    match entry {
        FrontEntry::Stored(id) => Some(id),
        _ => None,
    }
}

/// Messages from before the first node of a view.
pub(super) type Front = Arc<HashMap<MessageId, Arc<Node>>>;
