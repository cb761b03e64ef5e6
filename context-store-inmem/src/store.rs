//! The store: a lock around all chats.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use context_core::{
    CancelSignal, ChatRef, ChatState, CheckReport, Durability, Erasure, Error, ErrorKind, FragmentStore,
    HistoryStore, Maintenance, Result, SearchStore, StateStore, Store, StoreInfo, UserId,
};

/// A store in memory. Clones are handles to the same chats.
///
/// It promises [`Durability::Process`]: nothing survives the last handle.
#[derive(Clone, Default)]
pub struct InMemoryStore(Shared);

/// Implements the seam apart from [`InMemoryStore`], so that `store.fragments()` can only mean one thing.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Chats>>);

#[derive(Default)]
struct Chats {
    by_ref: BTreeMap<ChatRef, Arc<ChatState>>,
    /// How many chats were ever created.
    created: u64,
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

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }
}

impl fmt::Debug for InMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryStore").finish_non_exhaustive()
    }
}

impl Shared {
    fn chats(&self, operation: &'static str) -> Result<RwLockReadGuard<'_, Chats>> {
        self.0.read().map_err(|_| poisoned(operation))
    }

    fn chats_mut(&self, operation: &'static str) -> Result<RwLockWriteGuard<'_, Chats>> {
        self.0.write().map_err(|_| poisoned(operation))
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
        let theirs = chats.by_ref.iter().filter(|(chat, _)| user.is_none_or(|user| chat.user == *user));
        Ok(theirs.map(|(_, state)| Arc::clone(state)).collect())
    }

    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        let mut chats = self.chats_mut("write")?;
        let Chats { by_ref, created } = &mut *chats;
        // Taken out, not copied, unless somebody reads it just now. What a `ChatState` refuses it has not changed,
        // so it goes back in either case.
        let mut state = by_ref.remove(chat).map(Arc::unwrap_or_clone);
        let done = change(&mut state, created);
        by_ref.extend(state.map(|state| (chat.clone(), Arc::new(state))));
        done
    }
}

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        self.check_states(cancel).await
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        self.erase_states(user, cancel).await
    }
}
