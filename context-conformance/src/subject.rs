//! What is proved: a store and the ways to come to it.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Result, Store};

use crate::settings::Settings;

/// A store under test. The implementor supplies isolation, the kit does the rest.
///
/// A namespace is a store of its own: a file, a schema, a key prefix. The kit makes up the names,
/// odd ones included; map them to what the backend likes, for files with
/// [`file_name`](crate::file_name). Whatever is left behind, the subject cleans up.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    /// What reports call it.
    fn name(&self) -> &str;

    /// The number of random sequences and kills, unless the environment names one. A store that
    /// hands on what another keeps may ask for fewer, if that one is proved with all of them.
    fn settings(&self) -> Settings {
        Settings::default()
    }

    /// An empty store for this namespace, also if the namespace was opened before.
    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>>;

    /// The store of an opened namespace, as another process would find it after the first one
    /// ended: nothing in memory is shared, what was written is there. The kit has dropped all
    /// handles.
    ///
    /// `None` is only right for a store of
    /// [`Durability::Process`](context_core::store::Durability::Process).
    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>>;

    /// Another handle to the store of an opened namespace, with connections of its own, while the
    /// first is in use.
    ///
    /// `None` is only right for a store that is not
    /// [`shared`](context_core::store::StoreInfo::shared).
    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>>;

    /// Where the store of a namespace is, for another process to [open](Self::open_at): a path, a
    /// URL. The namespace may never have been opened; then nothing is there yet, and it is the same
    /// place if it is asked again.
    ///
    /// `None` is only right for a store of
    /// [`Durability::Process`](context_core::store::Durability::Process) that is not
    /// [`shared`](context_core::store::StoreInfo::shared).
    fn location(&self, namespace: &str) -> Option<String> {
        let _ = namespace;
        None
    }

    /// The store at a [location](Self::location), which may be that of another process; created if
    /// nothing is there. `None` if there are no locations.
    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        let _ = location;
        Ok(None)
    }
}
