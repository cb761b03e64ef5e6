//! Data of a chat or a user that is not transferred with chats.

use context_core::base::limits;
use context_core::memory::{MemoryScope, MemorySource};
use context_core::store::{ChatQuery, Cursor, MemoryList, PageWalk, RoundQuery};
use context_core::{ChatRef, Result, SessionId, Store, UserId};

/// The amount of data of a chat, or of a user, that is not copied or exported with chats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftBehind {
    /// Rounds of trajectories, of the session with the name of the chat.
    pub rounds: u64,
    /// Memory records whose source is the session with the name of the chat.
    pub memories: u64,
    /// Streams of answers.
    pub streams: u64,
    /// Earlier versions of persisted fragments.
    pub fragment_versions: u64,
    /// Entries of the log of branches and checkpoints.
    pub ref_changes: u64,
}

impl LeftBehind {
    /// Counts the data of a chat.
    pub async fn of_chat(store: &dyn Store, chat: &ChatRef) -> Result<Self> {
        let session = SessionId::from(chat.chat.as_str());
        Ok(Self {
            rounds: rounds(store, RoundQuery::of_user(chat.user.clone()).session(session.clone()))
                .await?,
            memories: memories_from(store, &chat.user, session).await?,
            streams: streams(store, chat).await?,
            fragment_versions: fragment_versions(store, chat).await?,
            ref_changes: ref_changes(store, chat).await?,
        })
    }

    /// Counts the data of a user, whether it belongs to a chat or not.
    pub async fn of_user(store: &dyn Store, user: &UserId) -> Result<Self> {
        let rounds = rounds(store, RoundQuery::of_user(user.clone())).await?;
        let mut left = Self { rounds, ..Self::default() };
        if let Some(memories) = store.memories() {
            let mut after = None;
            let mut walk = PageWalk::new("memory_stats", "scope");
            loop {
                let page = memories.memory_stats(user, limits::MAX_PAGE, after.as_ref()).await?;
                let next = walk.next(&page)?;
                left.memories += page.items.iter().map(|stats| stats.records()).sum::<u64>();
                after = next;
                if after.is_none() {
                    break;
                }
            }
        }
        let mut query = ChatQuery::new(user.clone());
        query.limit = limits::MAX_PAGE;
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = store.history().list_chats(&query).await?;
            let next = walk.next(&page)?;
            for summary in &page.items {
                left.streams += streams(store, &summary.chat.chat).await?;
                left.fragment_versions += fragment_versions(store, &summary.chat.chat).await?;
                left.ref_changes += ref_changes(store, &summary.chat.chat).await?;
            }
            query.after = next;
            if query.after.is_none() {
                return Ok(left);
            }
        }
    }

    /// Returns the sum of two counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            memories: self.memories + other.memories,
            streams: self.streams + other.streams,
            fragment_versions: self.fragment_versions + other.fragment_versions,
            ref_changes: self.ref_changes + other.ref_changes,
        }
    }
}

async fn rounds(store: &dyn Store, query: RoundQuery) -> Result<u64> {
    let Some(trajectories) = store.trajectories() else { return Ok(0) };
    let (mut query, mut count) = (query.limit(limits::MAX_PAGE), 0);
    let mut walk = PageWalk::new("rounds", "round");
    loop {
        let page = trajectories.rounds(&query).await?;
        let next = walk.next(&page)?;
        count += page.items.len() as u64;
        if next.is_none() {
            return Ok(count);
        }
        query = query.after(next);
    }
}

async fn streams(store: &dyn Store, chat: &ChatRef) -> Result<u64> {
    let Some(streams) = store.streams() else { return Ok(0) };
    let (mut count, mut after): (_, Option<Cursor>) = (0, None);
    let mut walk = PageWalk::new("streams", "stream");
    loop {
        let page = streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
        let next = walk.next(&page)?;
        count += page.items.len() as u64;
        after = next;
        if after.is_none() {
            return Ok(count);
        }
    }
}

/// Counts the versions of fragments that are not also the content of a fragment.
async fn fragment_versions(store: &dyn Store, chat: &ChatRef) -> Result<u64> {
    let Some(log) = store.fragment_log() else { return Ok(0) };
    let versions = log.fragment_log(chat).await?.versions().len();
    let current = store.fragments().fragments(chat).await?.len();
    Ok(versions.saturating_sub(current) as u64)
}

async fn ref_changes(store: &dyn Store, chat: &ChatRef) -> Result<u64> {
    let Some(log) = store.ref_log() else { return Ok(0) };
    Ok(log.ref_log(chat).await?.entries().len() as u64)
}

/// Counts the records that come from a session, in any scope.
async fn memories_from(store: &dyn Store, user: &UserId, session: SessionId) -> Result<u64> {
    let Some(memories) = store.memories() else { return Ok(0) };
    let (mut scopes, mut after): (Vec<MemoryScope>, Option<Cursor>) = (Vec::new(), None);
    let mut walk = PageWalk::new("memory_stats", "scope");
    loop {
        let page = memories.memory_stats(user, limits::MAX_PAGE, after.as_ref()).await?;
        let next = walk.next(&page)?;
        scopes.extend(page.items.into_iter().map(|stats| stats.scope));
        after = next;
        if after.is_none() {
            break;
        }
    }
    let mut count = 0;
    for scopes in scopes.chunks(limits::MAX_MEMORY_SCOPES) {
        let mut list = MemoryList::new(scopes.to_vec(), limits::MAX_PAGE);
        list.source = Some(MemorySource::session(session.clone()));
        let mut walk = PageWalk::new("list_memories", "memory");
        loop {
            let page = memories.list_memories(&list).await?;
            let next = walk.next(&page)?;
            count += page.items.len() as u64;
            list.after = next;
            if list.after.is_none() {
                break;
            }
        }
    }
    Ok(count)
}
