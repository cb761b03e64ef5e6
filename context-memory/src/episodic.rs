//! Episodes: what was said comes back as it was said, with who said it, where and when.
//!
//! A turn is captured as one record for each message; nothing is summarised and no model is needed.
//! What is recalled is found by its words, and if there is an embedder by its meaning, and ranked
//! as [`rank`](crate::rank) says. What stands in the conversation that asks is not recalled into
//! it.
//!
//! It does not decide what is true: an earlier statement stays beside a later one.
//! [`Facts`](crate::Facts) do.

mod capture;
mod hot;
mod recall;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryScope, RecallQuery, Recalled,
};
use context_core::model::Embedder;
use context_core::store::MemoryRecordStore;
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result, Store};

use self::hot::Hot;
use crate::Queued;

/// The kind of its records.
pub const EPISODE: &str = "episode";

/// Under which part of a turn's scope what is said in it is filed, and so from where it comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// From all sessions of the user.
    User,
    /// From all sessions in the same project, if one was named.
    Project,
    /// From all sessions in the same project with the same agent, as far as they were named.
    #[default]
    Agent,
    /// From the same session alone.
    Session,
}

impl Reach {
    /// The part of a scope.
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

/// Remembers what was said. What it captured is kept when [`capture`](MemoryProvider::capture)
/// returns: wrap it in [`Queued`], as [`episodic`](crate::episodic()) does, so that no turn waits
/// for that.
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
    store: Arc<dyn Store>,
    embedder: Option<Arc<dyn Embedder>>,
    reach: Reach,
    most: usize,
    tools: bool,
    hot: Hot,
}

impl Episodic {
    /// Creates a provider on a store. Returns [`Unsupported`](ErrorKind::Unsupported) if the store
    /// has no memories.
    pub fn new(store: Arc<dyn Store>) -> Result<Self> {
        records(&store, "episodic")?;
        Ok(Self {
            store,
            embedder: None,
            reach: Reach::default(),
            most: 8,
            tools: false,
            hot: Hot::new(Duration::from_secs(10)),
        })
    }

    /// From where what is said comes back. Default: from all sessions in the same project with the
    /// same agent.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Finds by meaning, too. What was captured before has no vector, and is found by its words. If
    /// the embedder fails, what is captured then has none either, and a recall goes on without and
    /// says so.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The most memories of a recall, whatever room there is. Default: 8.
    #[must_use]
    pub fn limit(mut self, memories: usize) -> Self {
        self.most = memories;
        self
    }

    /// Whether results of tools are remembered. Default: no, since they are long, and can be had
    /// again.
    #[must_use]
    pub fn tool_results(mut self, remembered: bool) -> Self {
        self.tools = remembered;
        self
    }

    /// For how long the answer to a question that was asked before may be given again, where
    /// another process has captured something new. What was forgotten or changed is not given even
    /// then. Default: 10 seconds; zero to look each time.
    #[must_use]
    pub fn hot(mut self, lifetime: Duration) -> Self {
        self.hot = Hot::new(lifetime);
        self
    }

    fn records(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        records(&self.store, operation)
    }
}

/// The store's records; an error if it keeps none.
pub(crate) fn records<'a>(
    store: &'a Arc<dyn Store>,
    operation: &'static str,
) -> Result<&'a dyn MemoryRecordStore> {
    store.memories().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, operation, "this store keeps no memories")
            .with("store", store.info().name)
    })
}

/// What a provider of one kind of record forgets: of names only those of its own, so that several
/// may share a store. Nothing if none is.
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

/// Remembers what was said, and lets no turn wait for that. [`Unsupported`](ErrorKind::Unsupported)
/// if the store keeps no memories.
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
}
