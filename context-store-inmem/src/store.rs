//! The in-memory store: one lock around all chats.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{BlobId, StreamId, limits};
use context_core::store::{
    Blob, BlobPrune, BlobStore, BlobsPruned, CheckReport, Cursor, Durability, Erasure,
    FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance, MemoryRecordStore,
    NewBlob, Page, RefLogStore, SearchStore, StoreInfo, StoredStream, StreamAppend, StreamClaim,
    StreamOutcome, StreamPart, StreamPrune, StreamStore, StreamWatch, StreamsPruned,
    TrajectoryStore,
};
use context_core::{CancelSignal, ChatRef, Error, ErrorKind, Result, Store, Timestamp, UserId};
use context_store_kit::watch::{Topic, Watches};
use context_store_kit::{ChatState, StateBacked, StateStore, yield_now};
use tokio::sync::Mutex;

use crate::blobs::Blobs;
use crate::memories::Memories;
use crate::rounds::Rounds;
use crate::streams::Streams;

/// A store in memory. Clones are handles to the same chats.
///
/// Its durability is [`Durability::Process`]: the data is freed with the last handle.
#[derive(Clone, Default)]
pub struct InMemoryStore(StateBacked<Shared>);

/// The shared state. It implements the store traits in place of [`InMemoryStore`], so that
/// `store.fragments()` is not ambiguous.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    chats: Arc<RwLock<Chats>>,
    /// Puts writers of chats in order. A lock of threads lets the one in first that is running,
    /// and some tasks run more often than others.
    turns: Arc<Mutex<()>>,
}

#[derive(Default)]
pub(crate) struct Chats {
    by_ref: BTreeMap<ChatRef, Arc<ChatState>>,
    /// The number of chats ever created.
    created: u64,
    blobs: Blobs,
    streams: Streams,
    watches: Watches,
    pub(crate) rounds: Rounds,
    pub(crate) memories: Memories,
}

impl Chats {
    /// Returns a not-found error if the chat does not exist.
    fn check(&self, operation: &'static str, chat: &ChatRef) -> Result<()> {
        let known = self.by_ref.contains_key(chat);
        if known { Ok(()) } else { Err(Error::not_found(operation, "chat", &chat.chat)) }
    }

    /// Wakes the watches of a stream.
    fn wake(&self, chat: &ChatRef, id: &StreamId) {
        if !self.watches.is_empty() {
            self.watches.wake(Topic::stream(chat, id));
        }
    }
}

impl Store for InMemoryStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("inmem", Durability::Process, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        Some(&self.0)
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        Some(&self.0)
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&self.0)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.0.0)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        Some(&self.0.0)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        Some(&self.0)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(&self.0.0)
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        Some(&self.0.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0.0)
    }
}

impl fmt::Debug for InMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryStore").finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn chats(&self, operation: &'static str) -> Result<RwLockReadGuard<'_, Chats>> {
        self.chats.read().map_err(|_| poisoned(operation))
    }

    pub(crate) fn chats_mut(&self, operation: &'static str) -> Result<RwLockWriteGuard<'_, Chats>> {
        self.chats.write().map_err(|_| poisoned(operation))
    }
}

fn poisoned(operation: &'static str) -> Error {
    Error::new(ErrorKind::Bug, operation, "an earlier call panicked while it wrote")
}

#[async_trait]
impl StateStore for Shared {
    async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>> {
        Ok(self.chats("read")?.by_ref.get(chat).cloned())
    }

    async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
        let chats = self.chats("read")?;
        let theirs =
            chats.by_ref.iter().filter(|(chat, _)| user.is_none_or(|user| chat.user == *user));
        Ok(theirs.map(|(_, state)| Arc::clone(state)).collect())
    }

    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        let _turn = self.turns.lock().await;
        // Whoever is ready to write queues up now, behind the others.
        yield_now().await;
        let mut chats = self.chats_mut("write")?;
        let Chats { by_ref, created, blobs, streams, watches, rounds: _, memories: _ } =
            &mut *chats;
        // The state is moved out, and cloned only if a reader holds it at the moment. A `ChatState`
        // does not change when it returns an error, so the state is put back in either case.
        let mut state = by_ref.remove(chat).map(Arc::unwrap_or_clone);
        let done = change(&mut state, created);
        match state {
            Some(state) => drop(by_ref.insert(chat.clone(), Arc::new(state))),
            None => {
                blobs.forget_chat(chat);
                streams.forget_chat(chat);
                watches.wake(Topic::chat(chat));
            }
        }
        done
    }
}

#[async_trait]
impl BlobStore for Shared {
    async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
        blob.check(chat)?;
        // Hashing takes time, so the id is computed before the lock is taken.
        let id = BlobId::of(&blob.bytes);
        let mut chats = self.chats_mut("put_blob")?;
        chats.check("put_blob", chat)?;
        Ok(chats.blobs.put(chat, id, blob))
    }

    async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
        let chats = self.chats("blob")?;
        chats.check("blob", chat)?;
        Ok(chats.blobs.get(chat, id))
    }

    async fn read_blob(
        &self,
        chat: &ChatRef,
        id: &BlobId,
        range: Range<u64>,
        at: Option<Timestamp>,
    ) -> Result<Option<Bytes>> {
        if let Some(at) = at {
            self.chats_mut("read_blob")?.blobs.touch(chat, id, at);
        }
        let chats = self.chats("read_blob")?;
        chats.check("read_blob", chat)?;
        Ok(chats.blobs.read(chat, id, range))
    }

    async fn blobs(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Blob>> {
        let chats = self.chats("blobs")?;
        // A bad cursor is one whether or not the chat is there, as it is for every other store.
        let page = chats.blobs.list(chat, limit, after)?;
        chats.check("blobs", chat)?;
        Ok(page)
    }

    async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
        let mut chats = self.chats_mut("remove_blob")?;
        chats.check("remove_blob", chat)?;
        Ok(chats.blobs.remove(chat, id))
    }

    async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
        prune.check()?;
        let mut chats = self.chats_mut("prune_blobs")?;
        if let Some(chat) = &prune.chat {
            chats.check("prune_blobs", &ChatRef::new(prune.user.clone(), chat.clone()))?;
        }
        Ok(chats.blobs.prune(prune))
    }
}

#[async_trait]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        limits::check_stream("create_stream", chat, id)?;
        let mut chats = self.chats_mut("create_stream")?;
        chats.check("create_stream", chat)?;
        let done = chats.streams.create(chat, id, at);
        chats.wake(chat, id);
        Ok(done)
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        claim.check(chat, id)?;
        let mut chats = self.chats_mut("claim_stream")?;
        chats.check("claim_stream", chat)?;
        let done = chats.streams.claim(chat, id, claim);
        chats.wake(chat, id);
        done
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        append.check(chat, id)?;
        let mut chats = self.chats_mut("append_stream")?;
        chats.check("append_stream", chat)?;
        let done = chats.streams.append(chat, id, append);
        chats.wake(chat, id);
        done
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let mut chats = self.chats_mut("cancel_stream")?;
        chats.check("cancel_stream", chat)?;
        let done = chats.streams.cancel(chat, id, at);
        chats.wake(chat, id);
        done
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let mut chats = self.chats_mut("reopen_stream")?;
        chats.check("reopen_stream", chat)?;
        let done = chats.streams.reopen(chat, id, run, at);
        chats.wake(chat, id);
        done
    }

    async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
        let chats = self.chats("stream")?;
        chats.check("stream", chat)?;
        Ok(chats.streams.get(chat, id))
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Result<Option<StreamPart>> {
        limits::check_page("read_stream", limit)?;
        let chats = self.chats("read_stream")?;
        chats.check("read_stream", chat)?;
        Ok(chats.streams.read(chat, id, offset, limit))
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<StoredStream>> {
        limits::check_page("streams", limit)?;
        let chats = self.chats("streams")?;
        chats.check("streams", chat)?;
        Ok(chats.streams.list(chat, limit, after))
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
        let mut chats = self.chats_mut("remove_stream")?;
        chats.check("remove_stream", chat)?;
        let done = chats.streams.remove(chat, id);
        chats.wake(chat, id);
        Ok(done)
    }

    async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
        prune.check()?;
        let mut chats = self.chats_mut("prune_streams")?;
        if let Some(chat) = &prune.chat {
            chats.check("prune_streams", &ChatRef::new(prune.user.clone(), chat.clone()))?;
        }
        let pruned = chats.streams.prune(prune);
        chats.watches.wake(Topic::Store);
        Ok(pruned)
    }

    async fn watch_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        limits::check_stream("watch_stream", chat, id)?;
        Ok(Some(self.chats("watch_stream")?.watches.watch(chat, id)))
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let mut report = self.check_states(cancel).await?;
        let chats = self.chats("check")?;
        let (blobs, findings) = chats.blobs.check();
        report.blobs = blobs;
        report.findings.extend(findings);
        let (streams, findings) = chats.streams.check();
        report.streams = streams;
        report.findings.extend(findings);
        let (rounds, findings) = chats.rounds.check();
        report.rounds = rounds;
        report.findings.extend(findings);
        report.memories = chats.memories.all();
        Ok(report)
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        let chats = self.chats("users")?;
        let of_chats = chats.by_ref.keys().map(|chat| &chat.user);
        let all: BTreeSet<&UserId> =
            of_chats.chain(chats.rounds.users()).chain(chats.memories.users()).collect();
        let behind = |user: &&&UserId| after.is_none_or(|after| user.as_str() > after.as_str());
        let mut items: Vec<UserId> =
            all.iter().filter(behind).take(limit + 1).copied().cloned().collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.as_str()));
        Ok(Page { items, next })
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        let count = |chats: &Chats| {
            let Chats { blobs, streams, rounds, memories, .. } = chats;
            [blobs.count(user), streams.count(user), rounds.count(user), memories.count(user)]
        };
        let before = count(&*self.chats("erase_user")?);
        let mut erased = self.erase_states(user, cancel).await?;
        if !cancel.is_cancelled() {
            let mut chats = self.chats_mut("erase_user")?;
            chats.rounds.forget_user(user);
            chats.memories.forget_user(user);
        }
        let after = count(&*self.chats("erase_user")?);
        let erased_counts: [u64; 4] =
            std::array::from_fn(|kind| before[kind].saturating_sub(after[kind]));
        [erased.blobs, erased.streams, erased.rounds, erased.memories] = erased_counts;
        erased.remaining += after.iter().sum::<u64>();
        Ok(erased)
    }
}
