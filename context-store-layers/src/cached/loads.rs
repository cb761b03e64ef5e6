//! Of those who miss the same chain at once, one loads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use context_core::{Chain, Result};
use tokio::sync::OnceCell;

use super::kept::Key;

/// What a load came to; nothing if it failed, since an error is for the one who loaded.
type Loaded = OnceCell<Option<Chain>>;

/// The loads that are under way.
#[derive(Default)]
pub(super) struct Loads(Mutex<HashMap<Key, Weak<Loaded>>>);

/// How one came to a chain.
pub(super) enum Load {
    /// It was loaded for this caller.
    Own(Result<Chain>),
    /// Somebody else loaded it, or tried to, perhaps before this caller had asked: it may be out of
    /// date.
    Shared(Option<Chain>),
}

impl Loads {
    /// Loads, or waits for whoever does. If they give up, another one of those who wait goes on.
    pub(super) async fn join(&self, key: &Key, load: impl Future<Output = Result<Chain>>) -> Load {
        let place = self.enter(key);
        let mut own = None;
        let load = async {
            let result = load.await;
            let shared = result.as_ref().ok().cloned();
            own = Some(result);
            shared
        };
        let shared = place.loaded.get_or_init(|| load).await.clone();
        own.map_or(Load::Shared(shared), Load::Own)
    }

    fn enter(&self, key: &Key) -> Place<'_> {
        let mut under_way = self.under_way();
        let known = under_way.get(key).and_then(Weak::upgrade);
        let loaded = known.unwrap_or_else(|| {
            let loaded = Arc::default();
            under_way.insert(key.clone(), Arc::downgrade(&loaded));
            loaded
        });
        Place { loads: self, key: key.clone(), loaded }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Key, Weak<Loaded>>> {
        // Nothing can panic while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's part in a load. The last one to leave clears it away.
struct Place<'a> {
    loads: &'a Loads,
    key: Key,
    loaded: Arc<Loaded>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut under_way = self.loads.under_way();
        // Others come in under the same lock, so nobody does between this look and the removal.
        if Arc::strong_count(&self.loaded) == 1 {
            under_way.remove(&self.key);
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
        assert!(matches!(own, Load::Own(Ok(_))));
        assert!(matches!(shared, Load::Shared(Some(_))));
        assert!(loads.under_way().is_empty());
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
        assert!(matches!(failed.await, Load::Own(Err(_))));
        assert!(loads.under_way().is_empty());
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
