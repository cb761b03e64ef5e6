//! The stores under comparison, and calls to all of them.

use std::fmt::Debug;
use std::sync::Arc;

use context_core::{Error, ErrorKind, Store};

use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, shown};
use crate::store_fixture::StoreFixture;
use crate::verdict::{Check, Stop};

/// The result of a call to one store.
pub(super) enum CallResult<T> {
    Answer(T),
    Refused(ErrorKind),
    /// The store lacks the ability, so it is not compared.
    Unable,
}

impl<T> From<context_core::Result<T>> for CallResult<T> {
    fn from(result: context_core::Result<T>) -> Self {
        result.map_or_else(|error| Self::Refused(error.kind()), Self::Answer)
    }
}

/// A store and the name of its subject.
pub(super) struct OpenStore {
    name: String,
    pub(super) store: Arc<dyn Store>,
}

/// The stores, in the given order.
pub(super) struct StoreSet(pub(super) Vec<OpenStore>);

impl StoreSet {
    pub(super) async fn open(subjects: &[Arc<dyn StoreFixture>]) -> Result<Self, Error> {
        let mut stores = Vec::new();
        for subject in subjects {
            let store = subject.open("same").await?;
            stores.push(OpenStore { name: subject.name().to_owned(), store });
        }
        Ok(Self(stores))
    }

    /// Makes a call to every store. All stores with the ability must give the same result as the
    /// first of them.
    pub(super) async fn compare<T: PartialEq + Debug>(
        &self,
        user: &str,
        chat: &str,
        did: &str,
        ask: impl AsyncFn(ChatFixture) -> Check<CallResult<T>>,
    ) -> Check<Option<T>> {
        let mut first: Option<(&str, Result<T, ErrorKind>)> = None;
        for store in &self.0 {
            let fixture = ChatFixture::new(Arc::clone(&store.store), user, chat);
            let saw = match ask(fixture).await {
                Ok(CallResult::Answer(answer)) => Ok(answer),
                Ok(CallResult::Refused(kind)) => Err(kind),
                Ok(CallResult::Unable) => continue,
                Err(Stop::Fail(text) | Stop::Skip(text)) => {
                    return fail(format!("{did}: {}: {text}", store.name));
                }
            };
            match &first {
                None => first = Some((&store.name, saw)),
                Some((name, expected)) if *expected != saw => {
                    let (expected, saw) = (shown(expected), shown(&saw));
                    return fail(format!(
                        "{did}:\n  {name} saw {expected}\n  {} saw {saw}",
                        store.name
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(first.and_then(|(_, saw)| saw.ok()))
    }
}
