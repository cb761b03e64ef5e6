//! Calls that failed for now, made again.

mod blobs;
mod history;
mod policy;
mod sleeper;
mod tries;

use std::fmt;
use std::sync::Arc;

use context_core::{IdGenerator, Result, Store};

pub use self::policy::RetryPolicy;
pub use self::sleeper::{Sleeper, TokioSleeper};
use self::tries::Tries;
use crate::call::Call;
use crate::forward::forward;
use crate::offer::forward_store;

/// A store that makes a call again if its error says that this is
/// [safe](context_core::Retry::Safe), and only then.
///
/// Between two tries it waits, twice as long each time and up to half of that less, so that many
/// callers do not come back at once. [`RetryPolicy`] says how often and for how long. The error of
/// the last try is the caller's, with the number of `tries`.
///
/// It has no clock and no randomness: it waits by a [`Sleeper`], and takes keys of commits and the
/// spread of waits from an [`IdGenerator`]. It sets no time limit to a single call: the store
/// inside has its own.
///
/// # After a lost reply
///
/// An error may come from a call that was carried out, and whose reply was lost. The caller is told
/// what is true all the same:
///
/// | call | when it is made again |
/// |---|---|
/// | everything that reads | the same |
/// | `create_chat` | `New` also if the chat is there exactly as this call would have left it |
/// | `update_chat` | the same patch again, over what others set in between. With numbers to [add](context_core::store::ChatPatch::add) it is a commit with a key, and then a read of the chat, so nothing is added twice |
/// | `delete_chat` | looks before: false only if there was no chat, or it was written to; one that was created anew in between is not taken |
/// | `commit` | a commit that its messages' ids do not make safe to repeat gets a key before the first try; a repetition of such a key is `Applied`. One with a key, or that only adds messages to a branch of a known name, is `Replayed` |
/// | `activate_branch`, `set_checkpoint`, `put_fragments` | the same, over what others did in between |
/// | `rename_branch` | looks before: done if the branch that was there has the new name |
/// | `delete_branch` | looks before: `Deleted` if the branch is gone and not renamed; `messages` is by how many the chat has become smaller, which is inexact if others wrote |
/// | `delete_checkpoint`, `remove_fragment`, `remove_stream` | looks before: true if it was there |
/// | `put_blob` | the same |
/// | `remove_blob` | looks before: what the blob was |
/// | `prune_blobs`, `prune_streams` | again; counts what the last try removed |
/// | `create_stream`, `claim_stream`, `append_stream`, `reopen_stream` | `Replayed`, as the seam has it |
/// | `cancel_stream` | the same |
/// | `record_round` | `Replayed`, by its key and revision |
/// | `prune_rounds` | again; counts what the last try removed |
/// | `write_memories` | as the seam has it: of an absent record `Kept`, also if the try before wrote it; of a version `Written`. One that expects anything is written over what others did in between, and its version may count a try that was lost |
/// | `forget_memories` | again; counts what the last try removed, and what remains |
/// | `check`, `vacuum` | again |
/// | `erase_user` | again; counts what the last try erased, and what remains |
/// | `backup` | is not made again: a file may be there by then |
///
/// What *looks before* reads once more before the first try. If all tries fail, a commit whose key
/// was given here, and an update that adds, fail with
/// [`AfterRefresh`](context_core::Retry::AfterRefresh): the caller has to see first whether it was
/// done. All other calls may be made again as they are.
///
/// Keys are remembered with the chat, so each commit that gets one makes the chat larger by some
/// dozens of bytes.
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

/// Implements the seam apart from [`RetryStore`], so that `store.fragments()` can only mean one
/// thing.
struct Shared {
    inner: Arc<dyn Store>,
    policy: RetryPolicy,
    sleeper: Arc<dyn Sleeper>,
    ids: Arc<dyn IdGenerator>,
}

impl RetryStore {
    /// Repeats calls of a store as the default policy says, with tokio's timer.
    pub fn new(store: Arc<dyn Store>, ids: Arc<dyn IdGenerator>) -> Self {
        let sleeper = Arc::new(TokioSleeper::default());
        Self(Shared { inner: store, policy: RetryPolicy::default(), sleeper, ids })
    }

    /// How often, and for how long.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.0.policy = policy;
        self
    }

    /// Waits by another timer.
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
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    fn tries(&self) -> Tries<'_> {
        Tries::new(&self.policy, &*self.sleeper, &*self.ids)
    }

    /// Makes a call that may be made again as it is.
    async fn around<T, W>(&self, _: Call<'_>, work: impl Fn() -> W) -> Result<T>
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

    /// Looks at something before a write. Nothing if there is nothing to look at: the write itself
    /// then says why.
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

    /// Removes something that was there, or was not.
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
        async fn remove_fragment(&self, chat: &ChatRef, id: &FragmentId) -> Result<bool> {
            let before = self.look(|| self.inner.fragments().fragments(chat))
                .await?.unwrap_or_default();
            let there = before.iter().any(|fragment| fragment.id.as_ref() == Some(id));
            self.remove(there, || self.inner.fragments().remove_fragment(chat, id)).await
        }
    }
}
forward! { SearchStore for Shared: search; {} }
forward! {
    StreamStore for Shared:
        create_stream claim_stream append_stream cancel_stream reopen_stream stream read_stream
            streams prune_streams;
    {
        async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
            let streams = self.below().channel()?;
            let there = self.look(|| streams.stream(chat, id)).await?.flatten().is_some();
            self.remove(there, || streams.remove_stream(chat, id)).await
        }
    }
}
forward! { TrajectoryStore for Shared: record_round load_rounds rounds nodes_of_message
prune_rounds; {} }
forward! {
    MemoryRecordStore for Shared:
        write_memories memories list_memories find_memories memories_beside forget_memories
            memory_stats;
    {}
}
forward! {
    Maintenance for Shared: check erase_user users vacuum;
    {
        async fn backup(&self, to: &std::path::Path) -> Result<()> {
            self.below().upkeep()?.backup(to).await
        }
    }
}
