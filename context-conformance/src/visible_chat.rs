//! The complete visible state of a chat, as one comparable value.

use context_core::message::PlacedNode;
use context_core::store::{
    Branch, ChainEnd, ChatQuery, ChatSummary, Checkpoint, RefLog, Revision, StoredFragment, Window,
};
use context_core::{BranchName, Chain, MessageId};

use crate::chat_fixture::ChatFixture;
use crate::verdict::Check;

/// The visible state of a chat. Messages are ordered by id, since stores may order them freely.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VisibleChat {
    pub(crate) summary: ChatSummary,
    pub(crate) branches: Vec<Branch>,
    pub(crate) chains: Vec<(BranchName, Chain)>,
    pub(crate) messages: Vec<PlacedNode>,
    pub(crate) revisions: Vec<(MessageId, Vec<Revision>)>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) fragments: Vec<StoredFragment>,
    /// The log of references, if the store keeps one.
    pub(crate) refs: Option<RefLog>,
}

impl VisibleChat {
    /// Reads the state, or returns `None` if the chat does not exist.
    pub(crate) async fn of(fixture: &ChatFixture) -> Check<Option<Self>> {
        let (history, chat) = (fixture.history(), &fixture.chat);
        if history.chat(chat).await?.is_none() {
            return Ok(None);
        }
        let Some(summary) = summary(fixture).await? else { return Ok(None) };
        let branches = history.branches(chat).await?;
        let mut chains = Vec::new();
        for branch in &branches {
            let end = ChainEnd::Branch(branch.name.clone());
            chains.push((branch.name.clone(), history.chain(chat, &end, &Window::Whole).await?));
        }
        let mut messages = all_messages(fixture, 1000).await?;
        messages.sort_by(|a, b| a.node.id.cmp(&b.node.id));
        let mut revisions = Vec::new();
        for placed in messages.iter().filter(|placed| placed.node.revision > 0) {
            let id = &placed.node.id;
            revisions.push((id.clone(), history.revisions(chat, id).await?));
        }
        let checkpoints = history.checkpoints(chat).await?;
        let fragments = fixture.fragments().fragments(chat).await?;
        let refs = match fixture.store.ref_log() {
            Some(log) => Some(log.ref_log(chat).await?),
            None => None,
        };
        Ok(Some(Self {
            summary,
            branches,
            chains,
            messages,
            revisions,
            checkpoints,
            fragments,
            refs,
        }))
    }
}

/// Returns the entry of the chat in the listing.
pub(crate) async fn summary(fixture: &ChatFixture) -> Check<Option<ChatSummary>> {
    let mut query = ChatQuery { limit: 1000, ..ChatQuery::new(&fixture.chat.user) };
    loop {
        let page = fixture.history().list_chats(&query).await?;
        if let Some(found) = page.items.into_iter().find(|item| item.chat.chat == fixture.chat) {
            return Ok(Some(found));
        }
        query.after = page.next;
        if query.after.is_none() {
            return Ok(None);
        }
    }
}

/// Returns all messages, page by page.
pub(crate) async fn all_messages(fixture: &ChatFixture, limit: usize) -> Check<Vec<PlacedNode>> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = fixture.history().all_messages(&fixture.chat, limit, after.as_ref()).await?;
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}
