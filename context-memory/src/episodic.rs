//! Episodes: messages are recalled verbatim, with speaker, source and time.
//!
//! A turn is captured as one record per message, or several for a long message. Nothing is
//! summarized and no model is needed. Memories are found by words, with an embedder also by
//! meaning, and ranked as described in [`rank`](crate::rank). A message that is still in the
//! current conversation is not recalled.
//!
//! Episodes do not decide what is true: an earlier statement is kept next to a later one. Use
//! [`Facts`](crate::Facts) for that.

mod answer_cache;
mod capture;
mod recall;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, MemoryScope, RecallQuery, Recalled,
};
use context_core::model::Embedder;
use context_core::store::MemoryRecordStore;
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result, Store};

use self::answer_cache::AnswerCache;
use crate::Queued;
use crate::records::Records;

/// The kind of the records.
pub const EPISODE: &str = "episode";

/// The part of a turn's scope under which memories are filed, and thus the scopes from which they
/// are recalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopeLevel {
    /// All sessions of the user.
    User,
    /// All sessions in the same project, if one is named.
    Project,
    /// All sessions in the same project with the same agent, as far as they are named.
    #[default]
    Agent,
    /// The same session only.
    Session,
}

impl ScopeLevel {
    /// Returns the part of a scope.
    pub fn of(self, scope: &MemoryScope) -> MemoryScope {
        let mut part = scope.clone();
        if self != Self::Session {
            part.session = None;
        }
        if matches!(self, Self::User | Self::Project) {
            part.agent = None;
        }
        if self == Self::User {
            part.project = None;
        }
        part
    }
}

/// A provider that remembers messages verbatim. Memories are stored when
/// [`capture`](MemoryProvider::capture) returns. Wrap the provider in [`Queued`], as
/// [`episodic`](crate::episodic()) does, so that no turn waits for that.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{CancelSignal, MemoryProvider, Message, Role, Timestamp};
/// use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope, RecallQuery};
/// use context_memory::Episodic;
/// use context_store_inmem::InMemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Episodic::new(Arc::new(InMemoryStore::default()))?;
/// let scope = MemoryScope::new("ada").session("monday");
/// let said = CapturedMessage::new("m1", Message::text(Role::User, "My cat is called Tom."));
/// let turn = CapturedTurn::new(scope, "t1", Timestamp::from_micros(0), vec![said]);
/// memory.capture(&turn, &CancelSignal::never()).await?;
///
/// let query = RecallQuery::new(MemoryScope::new("ada").session("friday"), "What is my cat's name?");
/// let recalled = memory.recall(&query, &CancelSignal::never()).await?;
/// assert_eq!(recalled.memories[0].text, "My cat is called Tom.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Episodic {
    records: Records,
    embedder: Option<Arc<dyn Embedder>>,
    scope_level: ScopeLevel,
    most: usize,
    tools: bool,
    hot: AnswerCache,
}

impl Episodic {
    /// Creates a provider on a store. Returns [`Unsupported`](ErrorKind::Unsupported) if the store
    /// has no memories.
    pub fn new(store: Arc<dyn Store>) -> Result<Self> {
        Ok(Self {
            records: Records::new(store, "episodic")?,
            embedder: None,
            scope_level: ScopeLevel::default(),
            most: 8,
            tools: false,
            hot: AnswerCache::new(Duration::from_secs(10)),
        })
    }

    /// Sets the scopes from which memories are recalled. Default: all sessions in the same project
    /// with the same agent.
    #[must_use]
    pub fn scope_level(mut self, level: ScopeLevel) -> Self {
        self.scope_level = level;
        self
    }

    /// Also finds memories by meaning. Memories captured earlier have no vectors and are found by
    /// words only. If the embedder fails, new memories get no vectors, and a recall uses words only
    /// and reports that.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets the most memories of a recall, whatever its token limit. Default: 8.
    #[must_use]
    pub fn limit(mut self, memories: usize) -> Self {
        self.most = memories;
        self
    }

    /// Sets whether tool results are remembered. Default: false, since they are long and can be
    /// obtained again.
    #[must_use]
    pub fn tool_results(mut self, remembered: bool) -> Self {
        self.tools = remembered;
        self
    }

    /// Sets how long a cached answer to a repeated question may be used although another process
    /// has captured new memories. Forgotten or changed memories are never returned from the cache.
    /// Default: 10 seconds. Zero disables the cache.
    #[must_use]
    pub fn hot(mut self, lifetime: Duration) -> Self {
        self.hot = AnswerCache::new(lifetime);
        self
    }

    fn records(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        self.records.get(operation)
    }
}

/// Returns the memory records of a store, or an error if it does not support them.
pub(crate) fn records<'a>(
    store: &'a Arc<dyn Store>,
    operation: &'static str,
) -> Result<&'a dyn MemoryRecordStore> {
    store.memories().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, operation, "this store keeps no memories")
            .with("store", store.info().name)
    })
}

/// Restricts a forget by ids to records of one kind, so that several providers may share a store.
/// Returns `None` if no record is left.
pub(crate) async fn own(
    records: &dyn MemoryRecordStore,
    forget: &MemoryForget,
    kind: &str,
) -> Result<Option<MemoryForget>> {
    let MemoryForget::Ids { scope, ids } = forget else { return Ok(Some(forget.clone())) };
    let stored = records.memories(scope, ids).await?;
    let own = stored
        .into_iter()
        .filter(|stored| stored.record.kind == kind)
        .map(|stored| stored.record.id);
    let own: Vec<_> = own.collect();
    Ok((!own.is_empty()).then(|| MemoryForget::ids(scope.clone(), own)))
}

/// Creates an episodic provider that captures in the background. Fails with
/// [`Unsupported`](ErrorKind::Unsupported) if the store does not support memories.
pub fn episodic(store: &Arc<dyn Store>) -> Result<Queued<Episodic>> {
    Ok(Queued::new(Episodic::new(Arc::clone(store))?))
}

#[async_trait]
impl MemoryProvider for Episodic {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        recall::recall(self, query, cancel).await
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        capture::check(turn).map(drop)
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        capture::capture(self, turn, cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        let records = self.records("forget")?;
        let forgotten = match own(records, forget, EPISODE).await? {
            Some(own) => records.forget_memories(&own).await,
            None => Ok(MemoriesForgotten::default()),
        };
        self.hot.changed(&forget.scope().user).await;
        forgotten
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        Some(&self.records)
    }
}
