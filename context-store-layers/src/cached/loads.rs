//! Deduplication of loads: if several callers miss the same chain, one of them loads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use context_core::{Chain, Result};
use tokio::sync::OnceCell;

use super::chains::Key;

/// The result of a load. `None` if it failed, because the error is returned to the loading caller
/// only.
type Loaded = OnceCell<Option<Chain>>;

/// The loads in progress.
#[derive(Default)]
pub(super) struct Loads(Mutex<HashMap<Key, Weak<Loaded>>>);

/// The outcome of a load for one caller.
pub(super) enum Load {
    /// The chain was loaded for this caller.
    Performed(Result<Chain>),
    /// Another caller loaded the chain or failed to. The load may have begun before this caller's
    /// request, so the chain may be out of date.
    Shared(Option<Chain>),
}

impl Loads {
    /// Loads the chain, or waits for the caller that loads it. If that caller is dropped, one of
    /// the waiting callers loads the chain.
    pub(super) async fn join(&self, key: &Key, load: impl Future<Output = Result<Chain>>) -> Load {
        let handle = self.enter(key);
        let mut own = None;
        let load = async {
            let result = load.await;
            let shared = result.as_ref().ok().cloned();
            own = Some(result);
            shared
        };
        let shared = handle.loaded.get_or_init(|| load).await.clone();
        own.map_or(Load::Shared(shared), Load::Performed)
    }

    fn enter(&self, key: &Key) -> LoadHandle<'_> {
        let mut in_progress = self.in_progress();
        let known = in_progress.get(key).and_then(Weak::upgrade);
        let loaded = known.unwrap_or_else(|| {
            let loaded = Arc::default();
            in_progress.insert(key.clone(), Arc::downgrade(&loaded));
            loaded
        });
        LoadHandle { loads: self, key: key.clone(), loaded }
    }

    fn in_progress(&self) -> MutexGuard<'_, HashMap<Key, Weak<Loaded>>> {
        // No code can panic while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's share in a load. The last one to be dropped removes the load.
struct LoadHandle<'a> {
    loads: &'a Loads,
    key: Key,
    loaded: Arc<Loaded>,
}

impl Drop for LoadHandle<'_> {
    fn drop(&mut self) {
        let mut in_progress = self.loads.in_progress();
        // Callers join under the same lock, so none can join between this check and the removal.
        if Arc::strong_count(&self.loaded) == 1 {
            in_progress.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use context_core::store::ChainEnd;
    use context_core::{ChatRef, Error, ErrorKind};
    use tokio::sync::oneshot;

    use super::*;

    fn key() -> Key {
        Key::new(&ChatRef::new("ada", "trip"), &ChainEnd::Branch("main".into()))
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_loads_and_nothing_is_left_behind() {
        let loads = Loads::default();
        let (open, gate) = oneshot::channel::<()>();
        let key = key();
        let slow = loads.join(&key, async {
            gate.await.expect("opened below");
            Ok(Chain::default())
        });
        let other = async {
            let follows = loads.join(&key, async { panic!("a second load") });
            open.send(()).expect("awaited above");
            follows.await
        };
        let (own, shared) = tokio::join!(slow, other);
        assert!(matches!(own, Load::Performed(Ok(_))));
        assert!(matches!(shared, Load::Shared(Some(_))));
        assert!(loads.in_progress().is_empty());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_gives_up_leaves_the_load_to_the_next() {
        let loads = Loads::default();
        let key = key();
        let mut given_up = Box::pin(loads.join(&key, std::future::pending()));
        let polled = futures_poll(&mut given_up).await;
        assert!(polled.is_none());
        drop(given_up);
        let failed =
            loads.join(&key, async { Err(Error::new(ErrorKind::Timeout, "chain", "too late")) });
        assert!(matches!(failed.await, Load::Performed(Err(_))));
        assert!(loads.in_progress().is_empty());
    }

    /// Polls once.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
