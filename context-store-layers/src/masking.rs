//! A layer that masks secrets before they reach the backend.

mod chats;
mod commit;
mod memories;
mod observe;
mod rounds;
mod stream_tail;
mod trajectories;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::store::{BlobStore, Maintenance};
use context_core::{ChatRef, Error, Result, Store};
use context_secrets::{MaskReport, SecretFinder};

use self::commit::HashMemory;
pub use self::observe::{MaskError, MaskEvent, MaskObserver};
use self::stream_tail::{StreamTail, mask_append};
pub use self::trajectories::MaskingTrajectories;
use crate::call::Call;
use crate::forward::forward;

/// A store that masks secrets in everything that is written, before the inner store sees it. A
/// [`SecretFinder`] finds them; each is replaced by a mark such as `[secret:github-token]`.
///
/// # Masked data
///
/// Of messages and their amendments: texts, reasoning, inputs of tool calls (which stay valid
/// JSON), tool results, documents that are text, data and metadata. Boundaries with the messages in
/// them, persisted fragments, titles and metadata of chats, chunks and errors of streams, blobs
/// that are text, and memory records with their keys, speakers, data and words. Of trajectories:
/// titles of rounds, labels, descriptions, fields and earlier versions of nodes, names of edges,
/// and steps with their params.
///
/// So no table, index, search, recall or export of the inner store has the secret. Reading changes
/// nothing.
///
/// # Data that is not masked
///
/// * **Names**: ids of users, chats, messages, fragments, streams and memories, and names of
///   branches, checkpoints and keys. A program that makes names of content must mask it before.
/// * **Provider blocks**: opaque blocks and signed reasoning go back to their provider byte for
///   byte, and binary blobs would not be valid files. Secrets in them are left and
///   [reported](MaskReport::left), or refused with [`refuse_left`](Self::refuse_left).
/// * **Vectors** of memories, which the memory provider makes. Let it mask first.
/// * **A part of a secret** that was cut off before it was written, such as by a preview, if what
///   is left is too short to be recognized.
///
/// # Differences above this layer
///
/// * The layer has to be the outermost one that keeps or shows content: over the caching, traced
///   and encrypted layers. Search and caches of the program still have what the program set.
/// * A blob with a secret has the id of its masked bytes. [`BlobStore::put_blob`] returns it.
/// * A mark may be longer than its secret, so a text right at a limit may exceed it.
/// * A chunk of a stream whose end may be the beginning of a secret is stored up to there. The rest
///   precedes the next chunk, and is lost if this process ends before it. If the stream ends
///   without another chunk, one chunk is added. A secret that is cut into several JSON events is
///   not found, nor is one whose name is cut between two appends, or whose part in the first of
///   two appends looks like a word, such as its first letter.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::store::{ChainEnd, Commit, NewChat, Target, Window};
/// use context_core::{ChatRef, Message, Node, Store, Timestamp};
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::MaskingStore;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MaskingStore::new(Arc::new(InMemoryStore::default()));
/// let (chat, now) = (ChatRef::new("ada", "deploy"), Timestamp::from_micros(1));
/// let _ = store.history().create_chat(NewChat::new(chat.clone(), now)).await?;
/// let target = Target::Extend { branch: "main".into(), expected: None };
/// let node = Node::new("m1", Message::from("Use DB_PASSWORD=blue-hunter2."), now);
/// let commit = Commit { nodes: vec![Arc::new(node)], ..Commit::new(chat.clone(), target, now) };
/// let _ = store.history().commit(commit).await?;
///
/// let end = ChainEnd::Branch("main".into());
/// let chain = store.history().chain(&chat, &end, &Window::Whole).await?;
/// let shown = chain.iter().next().expect("one message").message()?.plain_text().into_owned();
/// assert_eq!(shown, "Use DB_PASSWORD=[secret:password].");
/// assert_eq!(store.report().masked.of("password"), 1);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share counters.
#[derive(Clone)]
pub struct MaskingStore(Arc<Shared>);

/// The shared state. It implements the store traits in place of [`MaskingStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    inner: Arc<dyn Store>,
    finder: SecretFinder,
    refuse_left: bool,
    observer: Option<Arc<dyn MaskObserver>>,
    report: Mutex<MaskReport>,
    hashes: Mutex<HashMemory>,
    tails: Mutex<HashMap<StreamKey, StreamTail>>,
}

type StreamKey = (ChatRef, context_core::base::StreamId);

/// The most streams whose open ends are kept. The ends of further streams are not.
const MOST_TAILS: usize = 4096;

impl MaskingStore {
    /// Masks the built-in kinds of secrets in what is written to a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_finder(store, SecretFinder::default())
    }

    /// Masks what a finder finds, which may have rules of the program.
    pub fn with_finder(store: Arc<dyn Store>, finder: SecretFinder) -> Self {
        Self(Arc::new(Shared {
            inner: store,
            finder,
            refuse_left: false,
            observer: None,
            report: Mutex::default(),
            hashes: Mutex::default(),
            tails: Mutex::default(),
        }))
    }

    /// Sets whether a write is refused that has a secret in a place that cannot be masked, such as
    /// an opaque block. The error is [`Invalid`](context_core::ErrorKind::Invalid) and its source a
    /// [`MaskError`]. Default: the secret is left and counted. To be set before the store is cloned
    /// or used.
    #[must_use]
    pub fn refuse_left(self, refuse: bool) -> Self {
        self.changed(|shared| shared.refuse_left = refuse)
    }

    /// Sets an observer, which is told of each write in which secrets were found. To be set before
    /// the store is cloned or used.
    #[must_use]
    pub fn observer(self, observer: Arc<dyn MaskObserver>) -> Self {
        self.changed(|shared| shared.observer = Some(observer))
    }

    /// Returns what was masked and what was left, by kind, since the store was made. Writes that
    /// the inner store refused are not counted.
    pub fn report(&self) -> MaskReport {
        lock(&self.0.report).clone()
    }

    fn changed(self, change: impl FnOnce(&mut Shared)) -> Self {
        let mut shared = match Arc::try_unwrap(self.0) {
            Ok(shared) => shared,
            Err(shared) => Shared {
                inner: shared.inner.clone(),
                finder: shared.finder.clone(),
                refuse_left: shared.refuse_left,
                observer: shared.observer.clone(),
                report: Mutex::default(),
                hashes: Mutex::default(),
                tails: Mutex::default(),
            },
        };
        change(&mut shared);
        Self(Arc::new(shared))
    }
}

impl fmt::Debug for MaskingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { inner, finder, refuse_left, .. } = &*self.0;
        let mut shown = f.debug_struct("MaskingStore");
        shown.field("inner", inner).field("finder", finder).field("refuse_left", refuse_left);
        shown.finish_non_exhaustive()
    }
}

/// Locks a value that stays whole even if a holder panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    /// Makes a call that writes nothing.
    async fn make_call<T, W>(&self, _: Call<'_>, work: impl Fn() -> W) -> Result<T>
    where
        W: Future<Output = Result<T>>,
    {
        work().await
    }

    /// Makes a write of data that was masked, and counts the secrets if it succeeds.
    async fn write<T>(
        &self,
        mut event: MaskEvent,
        report: MaskReport,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if let Some(error) = MaskError::of(&report).filter(|_| self.refuse_left) {
            let message = "a secret is in a place that cannot be masked";
            return Err(Error::invalid(event.operation, message).with_source(error));
        }
        let done = work.await?;
        if !report.is_empty() {
            lock(&self.report).merge(&report);
            if let Some(observer) = &self.observer {
                event.report = report;
                observer.masked(&event);
            }
        }
        Ok(done)
    }

    async fn append(
        &self,
        chat: &ChatRef,
        id: &context_core::base::StreamId,
        append: context_core::store::StreamAppend,
    ) -> Result<context_core::store::StreamOutcome> {
        use crate::abilities::Abilities as _;
        append.check(chat, id)?;
        let key = (chat.clone(), id.clone());
        let tail = lock(&self.tails).get(&key).cloned().unwrap_or_default();
        let may_hold = tail.is_open() || lock(&self.tails).len() < MOST_TAILS;
        let mut report = MaskReport::default();
        let masked = mask_append(&self.finder, &tail, &append, may_hold, &mut report);
        let is_ordinary = masked.tail.is_empty();
        let event = MaskEvent::of("append_stream", chat);
        let streams = self.inner().require_streams()?;
        let done =
            self.write(event, report, streams.append_stream(chat, id, masked.append)).await?;
        if done.is_done() {
            let mut tails = lock(&self.tails);
            if is_ordinary {
                tails.remove(&key);
            } else {
                tails.insert(key, masked.tail);
            }
            if tails.len() >= MOST_TAILS {
                tails.retain(|_, tail| tail.is_open());
            }
        }
        Ok(done)
    }

    fn forget_tail(&self, chat: &ChatRef, id: &context_core::base::StreamId) {
        lock(&self.tails).remove(&(chat.clone(), id.clone()));
    }
}

#[async_trait::async_trait]
#[deny(clippy::missing_trait_methods)]
impl Store for MaskingStore {
    fn info(&self) -> context_core::store::StoreInfo {
        self.0.inner.info()
    }

    fn history(&self) -> &dyn context_core::store::HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn context_core::store::FragmentStore {
        &*self.0
    }

    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&context_core::BranchName>,
        window: &context_core::store::Window,
    ) -> Result<Option<context_core::store::OpenedChat>> {
        self.0.inner.open_chat(chat, branch, window).await
    }

    fn ref_log(&self) -> Option<&dyn context_core::store::RefLogStore> {
        self.0.inner.ref_log()
    }

    fn fragment_log(&self) -> Option<&dyn context_core::store::FragmentLogStore> {
        self.0.inner.fragment_log()
    }

    fn search(&self) -> Option<&dyn context_core::store::SearchStore> {
        self.0.inner.search()
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs().map(|_| &*self.0 as &dyn BlobStore)
    }

    fn streams(&self) -> Option<&dyn context_core::store::StreamStore> {
        self.0.inner.streams().map(|_| &*self.0 as &dyn context_core::store::StreamStore)
    }

    fn leases(&self) -> Option<&dyn context_core::store::LeaseStore> {
        self.0.inner.leases()
    }

    fn trajectories(&self) -> Option<&dyn context_core::store::TrajectoryStore> {
        self.0.inner.trajectories().map(|_| &*self.0 as &dyn context_core::store::TrajectoryStore)
    }

    fn memories(&self) -> Option<&dyn context_core::store::MemoryRecordStore> {
        self.0.inner.memories().map(|_| &*self.0 as &dyn context_core::store::MemoryRecordStore)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.0.inner.maintenance()
    }

    async fn close(&self) -> Result<()> {
        self.0.inner.close().await
    }
}

forward! {
    HistoryStore for Shared:
        chat delete_chat chat_size branches activate_branch rename_branch delete_branch
            set_checkpoint checkpoints delete_checkpoint chain messages all_messages revisions;
    {
        async fn create_chat(&self, new: NewChat) -> Result<Created> {
            new.check()?;
            let mut report = context_secrets::MaskReport::default();
            let new = chats::new_chat(&self.finder, new, &mut report);
            let event = MaskEvent::of("create_chat", &new.chat);
            self.write(event, report, self.inner.history().create_chat(new)).await
        }

        async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
            let query = chats::query(&self.finder, query);
            self.inner.history().list_chats(&query).await
        }

        async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch,
            at: Timestamp) -> Result<Chat> {
            let mut report = context_secrets::MaskReport::default();
            let patch = chats::patch(&self.finder, patch, &mut report);
            let event = MaskEvent::of("update_chat", chat);
            self.write(event, report, self.inner.history().update_chat(chat, &patch, at)).await
        }

        async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
            commit.check()?;
            let mut report = context_secrets::MaskReport::default();
            let commit = self.masked_commit(commit, &mut report);
            let event = MaskEvent::of("commit", &commit.chat);
            self.write(event, report, self.inner.history().commit(commit)).await
        }
    }
}
forward! {
    FragmentStore for Shared: fragments remove_fragment;
    {
        async fn put_fragments(&self, chat: &ChatRef, fragments: &[StoredFragment],
            at: Timestamp) -> Result<()> {
            let mut report = context_secrets::MaskReport::default();
            let masked: Vec<_> =
                fragments.iter().map(|fragment| self.fragment(fragment, &mut report)).collect();
            let event = MaskEvent::of("put_fragments", chat);
            self.write(event, report, self.inner.fragments().put_fragments(chat, &masked, at)).await
        }
    }
}
forward! {
    BlobStore for Shared: blob read_blob blobs remove_blob prune_blobs;
    {
        async fn put_blob(&self, chat: &ChatRef, mut blob: NewBlob) -> Result<Blob> {
            blob.check(chat)?;
            let mut report = context_secrets::MaskReport::default();
            if let Some(masked) = self.finder.mask_bytes(&blob.bytes, &mut report) {
                blob.bytes = masked.into();
            }
            let event = MaskEvent::of("put_blob", chat);
            self.write(event, report, self.inner().require_blobs()?.put_blob(chat, blob)).await
        }
    }
}
forward! {
    StreamStore for Shared:
        create_stream claim_stream cancel_stream stream read_stream streams prune_streams
            watch_stream;
    {
        async fn append_stream(&self, chat: &ChatRef, id: &StreamId,
            append: StreamAppend) -> Result<StreamOutcome> {
            self.append(chat, id, append).await
        }

        async fn reopen_stream(&self, chat: &ChatRef, id: &StreamId, run: u32,
            at: Timestamp) -> Result<StreamOutcome> {
            self.forget_tail(chat, id);
            self.inner().require_streams()?.reopen_stream(chat, id, run, at).await
        }

        async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
            self.forget_tail(chat, id);
            self.inner().require_streams()?.remove_stream(chat, id).await
        }
    }
}
forward! {
    TrajectoryStore for Shared: load_rounds rounds nodes_of_message prune_rounds;
    {
        async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
            commit.check()?;
            let mut report = context_secrets::MaskReport::default();
            let masked = rounds::commit(&self.finder, commit, &mut report)?;
            let event = MaskEvent::of_user("record_round", &commit.head.round.agent.user);
            let store = self.inner().require_trajectories()?;
            self.write(event, report, store.record_round(&masked)).await
        }
    }
}
forward! {
    MemoryRecordStore for Shared:
        memories find_memories memory_neighbours forget_memories memory_stats;
    {
        async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
            check_memory_writes(writes)?;
            let mut report = context_secrets::MaskReport::default();
            let masked = memories::writes(&self.finder, writes, &mut report);
            let event = MaskEvent::of_user("write_memories", &writes[0].record.scope.user);
            let store = self.inner().require_memories()?;
            self.write(event, report, store.write_memories(&masked)).await
        }

        async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
            let list = memories::list(&self.finder, list);
            self.inner().require_memories()?.list_memories(&list).await
        }
    }
}
