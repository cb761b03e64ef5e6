//! The engine of a chat, between two operations.

use std::sync::Arc;

use context_runtime::{BranchName, ChatRef, ContextEngine, Metadata, Result, Store};
use tokio::sync::{Mutex, MutexGuard};

/// A chat and its engine. Operations take turns. The engine of an operation that failed or was
/// dropped is given up with what was pending in it, and the next operation opens another one.
pub(crate) struct Slot {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) chat: ChatRef,
    place: Mutex<Place>,
}

/// The branch of a handle, and its engine if one is open.
struct Place {
    branch: BranchName,
    engine: Option<ContextEngine>,
}

impl Slot {
    /// Opens a chat on a branch, or on its active one. A chat that must exist is not created.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        chat: ChatRef,
        branch: Option<BranchName>,
        existing: bool,
        metadata: Metadata,
    ) -> Result<Self> {
        let mut builder = builder(&store, &chat).metadata(metadata);
        if let Some(branch) = branch {
            builder = builder.branch(branch);
        }
        if existing {
            builder = builder.existing();
        }
        let engine = builder.open().await?;
        let place = Place { branch: engine.branch().clone(), engine: Some(engine) };
        Ok(Self { store, chat, place: Mutex::new(place) })
    }

    /// Waits for earlier operations and lends the engine.
    pub(crate) async fn engine(&self) -> Result<Lent<'_>> {
        let mut place = self.place.lock().await;
        let engine = match place.engine.take() {
            Some(engine) => engine,
            None => {
                let builder = builder(&self.store, &self.chat).branch(place.branch.clone());
                builder.existing().open().await?
            }
        };
        Ok(Lent { place, engine })
    }

    /// Returns the branch that the handle is on.
    pub(crate) async fn branch(&self) -> BranchName {
        self.place.lock().await.branch.clone()
    }
}

fn builder(store: &Arc<dyn Store>, chat: &ChatRef) -> context_runtime::ContextEngineBuilder {
    let builder = ContextEngine::builder(Arc::clone(store));
    builder.user(chat.user.clone()).chat(chat.chat.clone())
}

/// An engine that an operation works with. It stays with the handle only if it is given back.
pub(crate) struct Lent<'s> {
    place: MutexGuard<'s, Place>,
    pub(crate) engine: ContextEngine,
}

impl Lent<'_> {
    /// Ends an operation that succeeded.
    pub(crate) fn give_back(mut self) {
        self.place.branch = self.engine.branch().clone();
        self.place.engine = Some(self.engine);
    }
}
