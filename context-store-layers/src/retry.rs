//! A layer that retries calls after temporary failures.

mod attempts;
mod blobs;
mod history;
mod policy;
mod sleeper;

use std::fmt;
use std::sync::Arc;

use context_core::{IdGenerator, Result, Store};

use self::attempts::Attempts;
pub use self::policy::RetryPolicy;
pub use self::sleeper::{Sleeper, TokioSleeper};
use crate::call::Call;
use crate::forward::forward;
use crate::forward_store::forward_store;

/// A store that retries a call if its error says that this is [safe](context_core::Retry::Safe),
/// and only then.
///
/// The wait between two tries doubles each time. Up to half of it is randomly left out, so that
/// many callers do not retry at once. [`RetryPolicy`] sets how often and for how long. If all tries
/// fail, the caller gets the error of the last one, with the number of `tries`.
///
/// The layer has no clock and no randomness of its own: it waits with a [`Sleeper`], and takes keys
/// of commits and the spread of waits from an [`IdGenerator`]. It sets no timeout for a single
/// call, because the inner store has its own.
///
/// # After a lost reply
///
/// A call may fail although it was carried out, because its reply was lost. The answer to the
/// caller is correct nevertheless:
///
/// | call | answer of a retry |
/// |---|---|
/// | all reads | the same |
/// | `create_chat` | `New` also if the chat exists exactly as this call would have left it |
/// | `update_chat` | the same patch again, over what others set in between. With numbers to [add](context_core::store::ChatPatch::add) it is a commit with a key, followed by a read of the chat, so nothing is added twice |
/// | `delete_chat` | reads before: false only if there was no chat, or it was written to; a chat that was created in between is not deleted |
/// | `commit` | a commit that its messages' ids do not make safe to repeat gets a key before the first try; a replay of such a key is `Applied`. One with a key, or that only adds messages to a branch of a known name, is `Replayed` |
/// | `activate_branch`, `set_checkpoint`, `put_fragments` | the same, over what others did in between |
/// | `rename_branch` | reads before: done if the earlier branch has the new name |
/// | `delete_branch` | reads before: `Deleted` if the branch is gone and not renamed; `messages` is the decrease of the chat's size, which is inexact if others wrote |
/// | `delete_checkpoint`, `remove_fragment`, `remove_stream` | reads before: true if it existed |
/// | `clear_fragment_log`, `clear_ref_log` | repeated; counts what the last try removed |
/// | `put_blob` | the same |
/// | `remove_blob` | reads before: what the blob was |
/// | `prune_blobs`, `prune_streams` | repeated; counts what the last try removed |
/// | `create_stream`, `claim_stream`, `append_stream`, `reopen_stream` | `Replayed`, as the store trait defines it |
/// | `cancel_stream` | the same |
/// | `record_round` | `Replayed`, by its key and revision |
/// | `prune_rounds` | repeated; counts what the last try removed |
/// | `write_memories` | as the store trait defines it: `Unchanged` for an absent record, also if the try before wrote it; `Written` for a version. A write without an expectation overwrites what others wrote in between, and its version may count a lost try |
/// | `forget_memories` | repeated; counts what the last try removed, and what remains |
/// | `check`, `vacuum` | repeated |
/// | `erase_user` | repeated; counts what the last try erased, and what remains |
/// | `backup` | not retried: the file may exist by then |
/// | `take_lease`, `release_lease`, `lease` | not retried: a lease is renewed again and again anyway |
///
/// Calls that *read before* make one more read before the first try. If all tries fail, a commit
/// whose key was added by this layer, and an update that adds, fail with
/// [`AfterRefresh`](context_core::Retry::AfterRefresh): the caller must first find out whether the
/// call was carried out. All other calls may be repeated as they are.
///
/// Keys are stored with the chat, so each commit that gets one makes the chat larger by some dozens
/// of bytes.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use context_core::{IdGenerator, Store};
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::{RetryPolicy, RetryStore};
///
/// # fn layer(ids: Arc<dyn IdGenerator>) -> RetryStore {
/// let policy = RetryPolicy::default().tries(8).total(Duration::from_secs(20));
/// RetryStore::new(Arc::new(InMemoryStore::default()), ids).policy(policy)
/// # }
/// ```
pub struct RetryStore(Shared);

/// The shared state. It implements the store traits in place of [`RetryStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    inner: Arc<dyn Store>,
    policy: RetryPolicy,
    sleeper: Arc<dyn Sleeper>,
    ids: Arc<dyn IdGenerator>,
}

impl RetryStore {
    /// Retries calls of a store with the default policy and tokio's timer.
    pub fn new(store: Arc<dyn Store>, ids: Arc<dyn IdGenerator>) -> Self {
        let sleeper = Arc::new(TokioSleeper::default());
        Self(Shared { inner: store, policy: RetryPolicy::default(), sleeper, ids })
    }

    /// Sets how often and for how long calls are retried.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.0.policy = policy;
        self
    }

    /// Sets the timer for waits.
    #[must_use]
    pub fn sleeper(mut self, sleeper: Arc<dyn Sleeper>) -> Self {
        self.0.sleeper = sleeper;
        self
    }
}

impl fmt::Debug for RetryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { inner, policy, .. } = &self.0;
        f.debug_struct("RetryStore")
            .field("inner", inner)
            .field("policy", policy)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn tries(&self) -> Attempts<'_> {
        Attempts::new(&self.policy, &*self.sleeper, &*self.ids)
    }

    /// Makes a call that can be repeated as it is.
    async fn make_call<T, W>(&self, _: Call<'_>, work: impl Fn() -> W) -> Result<T>
    where
        W: Future<Output = Result<T>>,
    {
        self.again(work).await
    }

    async fn again<T, W>(&self, work: impl Fn() -> W) -> Result<T>
    where
        W: Future<Output = Result<T>>,
    {
        let mut tries = self.tries();
        loop {
            match work().await {
                Ok(done) => return Ok(done),
                Err(error) => tries.failed(error).await?,
            }
        }
    }

    /// Reads something before a write. Returns `None` if it does not exist: the write itself then
    /// returns the error.
    async fn look<T, W>(&self, work: impl Fn() -> W) -> Result<Option<T>>
    where
        W: Future<Output = Result<T>>,
    {
        match self.again(work).await {
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.retry() == context_core::Retry::Safe => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Removes something, given whether it existed before.
    async fn remove<W>(&self, there: bool, work: impl Fn() -> W) -> Result<bool>
    where
        W: Future<Output = Result<bool>>,
    {
        let mut tries = self.tries();
        loop {
            match work().await {
                Ok(removed) => return Ok(removed || (there && tries.lost())),
                Err(error) => tries.failed(error).await?,
            }
        }
    }
}

forward_store!(RetryStore);

forward! {
    FragmentStore for Shared: fragments put_fragments;
    {
        async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId,
            at: Timestamp) -> Result<bool> {
            let before = self.look(|| self.inner.fragments().fragments(chat))
                .await?.unwrap_or_default();
            let there = before.iter().any(|fragment| fragment.id.as_ref() == Some(id));
            self.remove(there, || self.inner.fragments().remove_fragment(chat, id, at)).await
        }
    }
}
forward! { FragmentLogStore for Shared: fragment_log clear_fragment_log; {} }
forward! { RefLogStore for Shared: ref_log clear_ref_log; {} }
forward! { SearchStore for Shared: search; {} }
forward! {
    StreamStore for Shared:
        create_stream claim_stream append_stream cancel_stream reopen_stream stream read_stream
            streams prune_streams watch_stream;
    {
        async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
            let streams = self.inner().require_streams()?;
            let there = self.look(|| streams.stream(chat, id)).await?.flatten().is_some();
            self.remove(there, || streams.remove_stream(chat, id)).await
        }
    }
}
forward! { TrajectoryStore for Shared: record_round load_rounds rounds nodes_of_message
prune_rounds; {} }
forward! {
    MemoryRecordStore for Shared:
        write_memories memories list_memories find_memories memory_neighbours forget_memories
            memory_stats;
    {}
}
forward! {
    Maintenance for Shared: check erase_user users facts vacuum;
    {
        async fn backup(&self, to: &std::path::Path) -> Result<()> {
            self.inner().require_maintenance()?.backup(to).await
        }
    }
}
