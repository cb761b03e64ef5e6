//! A layer that opens a `tracing` span for every call.

mod answer;
mod content;
mod span;

use std::fmt;
use std::sync::Arc;

use context_core::{Result, Store};
use tracing::Instrument;

use self::answer::Answer;
use self::span::SpanOptions;
use crate::call::Call;
use crate::forward::forward;
use crate::forward_store::forward_store;

/// A store that opens a span for every call, at the level `INFO` and with the target
/// `context.store`. Calls on leases have none.
///
/// Names of spans and fields are stable, so dashboards may rely on them. No field has content
/// unless [`content`](Self::content) is enabled, and no field names users or chats unless
/// [`scope`](Self::scope) is. Subscribers derive the duration of a call from the span. To trace
/// each try of a `RetryStore`, put this layer under it. Over it, a span covers all tries together.
///
/// # Fields
///
/// Each span has `operation` (the name without `context.store.`), `store`
/// ([`StoreInfo::name`](context_core::store::StoreInfo)) and `outcome`. A call whose future is
/// dropped has no outcome. A call that fails has the outcome `error`, `error.kind`
/// ([`ErrorKind::as_str`](context_core::ErrorKind::as_str)) and `error.retry` (`never`, `safe`,
/// `after_refresh`), and no fields about an answer.
///
/// | field | type | meaning |
/// |---|---|---|
/// | `operation`, `store`, `outcome` | text | always |
/// | `error.kind`, `error.retry` | text | for a call that failed |
/// | `user`, `chat` | text | with [`scope`](Self::scope), as far as the call names them |
/// | `sent.items`, `sent.bytes` | number | the number of items sent, and bytes of their bodies |
/// | `found.items`, `found.bytes` | number | the number of items returned, and bytes of their bodies |
/// | `content` | text | with [`content`](Self::content): the text that was sent, if there is any, otherwise the text that was returned |
///
/// | span | fields | outcomes |
/// |---|---|---|
/// | `context.store.create_chat` | | `new`, `existing` |
/// | `context.store.chat` | `found.items` | `found`, `none` |
/// | `context.store.list_chats` | `found.items` | `ok` |
/// | `context.store.update_chat` | | `ok` |
/// | `context.store.delete_chat` | | `done`, `none` |
/// | `context.store.chat_size` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.commit` | `sent.items`, `sent.bytes` | `applied`, `replayed`, `conflict`, `exists` |
/// | `context.store.branches` | `found.items` | `ok` |
/// | `context.store.activate_branch` | | `ok` |
/// | `context.store.rename_branch` | | `ok` |
/// | `context.store.delete_branch` | `found.items` | `deleted`, `conflict` |
/// | `context.store.set_checkpoint` | | `ok` |
/// | `context.store.checkpoints` | `found.items` | `ok` |
/// | `context.store.delete_checkpoint` | | `done`, `none` |
/// | `context.store.chain` | `found.items` | `ok` |
/// | `context.store.messages` | `sent.items`, `found.items`, `found.bytes` | `ok` |
/// | `context.store.all_messages` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.revisions` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.open_chat` | `found.items` | `found`, `none` |
/// | `context.store.fragments` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.put_fragments` | `sent.items`, `sent.bytes` | `ok` |
/// | `context.store.remove_fragment` | | `done`, `none` |
/// | `context.store.fragment_log` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.clear_fragment_log` | `found.items` | `ok` |
/// | `context.store.ref_log` | `found.items` | `ok` |
/// | `context.store.clear_ref_log` | `found.items` | `ok` |
/// | `context.store.search` | `found.items` | `ok` |
/// | `context.store.put_blob` | `sent.items`, `sent.bytes` | `ok` |
/// | `context.store.blob` | `found.items` | `found`, `none` |
/// | `context.store.read_blob` | `found.items`, `found.bytes` | `found`, `none` |
/// | `context.store.blobs` | `found.items` | `ok` |
/// | `context.store.remove_blob` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.prune_blobs` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.create_stream` | | `applied`, `replayed`, `refused` |
/// | `context.store.claim_stream` | | `applied`, `replayed`, `refused` |
/// | `context.store.append_stream` | `sent.items`, `sent.bytes` | `applied`, `replayed`, `refused` |
/// | `context.store.cancel_stream` | | `ok` |
/// | `context.store.reopen_stream` | | `applied`, `replayed`, `refused` |
/// | `context.store.stream` | `found.items` | `found`, `none` |
/// | `context.store.read_stream` | `found.items`, `found.bytes` | `found`, `none` |
/// | `context.store.streams` | `found.items` | `ok` |
/// | `context.store.remove_stream` | | `done`, `none` |
/// | `context.store.prune_streams` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.watch_stream` | `found.items` | `found`, `none` |
/// | `context.store.record_round` | `sent.items`, `sent.bytes` | `applied`, `replayed`, `conflict` |
/// | `context.store.load_rounds` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.rounds` | `found.items` | `ok` |
/// | `context.store.nodes_of_message` | `found.items` | `ok` |
/// | `context.store.prune_rounds` | `found.items` | `ok` |
/// | `context.store.write_memories` | `sent.items`, `sent.bytes` | `applied`, `conflict` |
/// | `context.store.memories` | `sent.items`, `found.items`, `found.bytes` | `ok` |
/// | `context.store.list_memories` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.find_memories` | `found.items`, `found.bytes` | `ok` |
/// | `context.store.memory_neighbours` | `sent.items`, `found.items`, `found.bytes` | `ok` |
/// | `context.store.forget_memories` | `found.items` | `forgotten`, `remains` |
/// | `context.store.memory_stats` | `found.items` | `ok` |
/// | `context.store.check` | `found.items` | `clean`, `broken` |
/// | `context.store.erase_user` | `found.items` | `erased`, `remains` |
/// | `context.store.users` | `found.items` | `ok` |
/// | `context.store.vacuum` | | `ok` |
/// | `context.store.backup` | | `ok` |
///
/// For a removal, `found` counts what was removed; for a check, the findings; for erasing, the
/// chats that were erased.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::Store;
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::TracedStore;
///
/// let store = TracedStore::new(Arc::new(InMemoryStore::default())).scope(true);
/// assert_eq!(store.info().name, "inmem");
/// ```
pub struct TracedStore(Shared);

/// The shared state. It implements the store traits in place of [`TracedStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    inner: Arc<dyn Store>,
    options: SpanOptions,
}

impl TracedStore {
    /// Traces the calls of a store, without names of users and chats, and without content.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let options = SpanOptions { store: store.info().name, scope: false, content: false };
        Self(Shared { inner: store, options })
    }

    /// Sets whether spans name the user and the chat.
    #[must_use]
    pub fn scope(mut self, scope: bool) -> Self {
        self.0.options.scope = scope;
        self
    }

    /// Sets whether spans have the text of messages, fragments, memories, titles and searches, up
    /// to 4 KiB per call. Bytes of blobs and chunks, and the content of rounds of trajectories, are
    /// never included. Everybody who can read the traces can then read the conversations.
    #[must_use]
    pub fn content(mut self, content: bool) -> Self {
        self.0.options.content = content;
        self
    }
}

impl fmt::Debug for TracedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { inner, options: SpanOptions { scope, content, .. } } = &self.0;
        let mut options = f.debug_struct("TracedStore");
        options.field("inner", inner).field("scope", scope).field("content", content).finish()
    }
}

impl Shared {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    /// Makes a call within its span.
    async fn make_call<T, W>(&self, call: Call<'_>, work: impl Fn() -> W) -> Result<T>
    where
        T: Answer,
        W: Future<Output = Result<T>>,
    {
        let span = span::open(call.operation);
        if span.is_disabled() {
            return work().await;
        }
        span::record_request(&span, &call, &self.options);
        let result = work().instrument(span.clone()).await;
        span::record_result(&span, &call, &result, &self.options);
        result
    }
}

forward_store!(TracedStore);

forward! {
    HistoryStore for Shared:
        create_chat chat list_chats update_chat delete_chat chat_size commit branches
            activate_branch rename_branch
        delete_branch set_checkpoint checkpoints delete_checkpoint chain messages all_messages
            revisions;
    {}
}
forward! { FragmentStore for Shared: fragments put_fragments remove_fragment; {} }
forward! { FragmentLogStore for Shared: fragment_log clear_fragment_log; {} }
forward! { RefLogStore for Shared: ref_log clear_ref_log; {} }
forward! { SearchStore for Shared: search; {} }
forward! { BlobStore for Shared: put_blob blob read_blob blobs remove_blob prune_blobs; {} }
forward! {
    StreamStore for Shared:
        create_stream claim_stream append_stream cancel_stream reopen_stream stream read_stream
            streams remove_stream
        prune_streams watch_stream;
    {}
}
forward! { TrajectoryStore for Shared: record_round load_rounds rounds nodes_of_message
prune_rounds; {} }
forward! {
    MemoryRecordStore for Shared:
        write_memories memories list_memories find_memories memory_neighbours forget_memories
            memory_stats;
    {}
}
forward! { Maintenance for Shared: check erase_user users facts vacuum backup; {} }
