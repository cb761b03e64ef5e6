//! Stores that keep each chat as one value. A backend implements three methods; this module derives
//! the rest.

mod seam;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use crate::ChatState;
use context_core::base::limits;
use context_core::store::{CheckReport, Cursor, Durability, Erasure, Page};
use context_core::{CancelSignal, ChatRef, Result, UserId};

/// A backend that can keep one value per chat and replace it in a transaction. An implementor gets
/// [`HistoryStore`](context_core::store::HistoryStore),
/// [`FragmentStore`](context_core::store::FragmentStore) and
/// [`SearchStore`](context_core::store::SearchStore), and returns itself from
/// [`Store`](context_core::Store)'s
/// methods.
///
/// [`ChatState`] implements the meaning of each call, so an implementor has to get only the
/// transaction right. The cost: a write costs time in the size of the chat, a listing or a search
/// in the size of all chats of the user. A backend that cannot afford this implements the traits
/// themselves.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use async_trait::async_trait;
/// use context_core::{ChatRef, Result, Store, UserId};
/// use context_store_kit::{ChatState, StateBacked, StateStore};
/// use context_core::store::{Durability, FragmentStore, HistoryStore, StoreInfo};
///
/// #[derive(Debug, Default)]
/// struct Chats {
///     chats: Mutex<(BTreeMap<ChatRef, Arc<ChatState>>, u64)>,
/// }
///
/// #[async_trait]
/// impl StateStore for Chats {
///     async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>> {
///         Ok(self.chats.lock().expect("no change panics").0.get(chat).cloned())
///     }
///
///     async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
///         let chats = self.chats.lock().expect("no change panics");
///         let theirs = chats.0.iter().filter(|(chat, _)| user.is_none_or(|user| chat.user == *user));
///         Ok(theirs.map(|(_, state)| Arc::clone(state)).collect())
///     }
///
///     async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
///     where
///         T: Send + 'static,
///         F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
///     {
///         let (chats, created) = &mut *self.chats.lock().expect("no change panics");
///         let mut state = chats.get(chat).map(|state| ChatState::clone(state));
///         let done = change(&mut state, created)?;
///         match state {
///             Some(state) => chats.insert(chat.clone(), Arc::new(state)),
///             None => chats.remove(chat),
///         };
///         Ok(done)
///     }
/// }
///
/// #[derive(Debug, Default)]
/// struct MyStore(StateBacked<Chats>);
///
/// impl Store for MyStore {
///     fn info(&self) -> StoreInfo {
///         StoreInfo::new("mine", Durability::Process, false)
///     }
///
///     fn history(&self) -> &dyn HistoryStore {
///         &self.0
///     }
///
///     fn fragments(&self) -> &dyn FragmentStore {
///         &self.0
///     }
/// }
/// ```
#[async_trait]
pub trait StateStore: Send + Sync {
    /// Returns a chat, if it exists.
    async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>>;

    /// Returns all chats of a user, or of all users, as one consistent snapshot and in any order.
    async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>>;

    /// Changes one chat in one serialized transaction. Reads the chat (`None` if it does not
    /// exist), calls `change` with it, and stores the value that `change` leaves there; `None`
    /// deletes the chat. If `change` returns an error, nothing is stored.
    ///
    /// The second argument of `change` is the number of chats ever created in the whole store. It
    /// is 0 in a new store, `change` increments it, and it is stored in the same transaction. It
    /// must never decrease: it distinguishes a chat from a deleted one with the same id.
    ///
    /// `change` is fast, does no I/O and is `'static`, so that it can be moved to a thread that may
    /// block. A caller may drop the future at any time: a started transaction then either completes
    /// or leaves no effect.
    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static;

    /// Returns the strongest durability that a commit may ask for, as in
    /// [`StoreInfo`](context_core::store::StoreInfo::strongest). Default: that of the process.
    fn strongest(&self) -> Durability {
        Durability::Process
    }

    /// Implements [`Maintenance::check`](context_core::store::Maintenance::check) for the chats.
    async fn check_states(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        for state in self.states(None).await? {
            cancel.check("check")?;
            report.findings.extend(state.check());
            report.messages += state.size().messages;
            report.chats += 1;
            cancel.report("message", report.messages);
        }
        Ok(report)
    }

    /// Implements [`Maintenance::users`](context_core::store::Maintenance::users).
    async fn users_of_states(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        let all = self.states(None).await?;
        let behind = |user: &&UserId| after.is_none_or(|after| user.as_str() > after.as_str());
        let users: BTreeSet<_> =
            all.iter().map(|state| &state.chat().chat.user).filter(behind).collect();
        let items: Vec<_> = users.iter().take(limit).map(|user| UserId::clone(user)).collect();
        let next =
            items.last().filter(|_| users.len() > limit).map(|last| Cursor::new(last.as_str()));
        Ok(Page { items, next })
    }

    /// Implements [`Maintenance::erase_user`](context_core::store::Maintenance::erase_user) for the
    /// chats.
    /// The caller clears traces in space that the backend has freed.
    async fn erase_states(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        const OPERATION: &str = "erase_user";
        limits::check_id(OPERATION, "user", user.as_str())?;
        cancel.check(OPERATION)?;
        let mut erased = Erasure::default();
        for state in self.states(Some(user)).await? {
            cancel.check(OPERATION)?;
            let taken = self.change(&state.chat().chat, |chat, _| Ok(chat.take())).await?;
            erased.chats += u64::from(taken.is_some());
            erased.messages += taken.map_or(0, |state| state.size().messages);
            cancel.report("message", erased.messages);
        }
        erased.remaining = self.states(Some(user)).await?.len() as u64;
        Ok(erased)
    }
}

/// The history, fragments, logs, leases and search of a store that keeps each chat as one value.
#[derive(Clone, Debug, Default)]
pub struct StateBacked<S>(pub S);
