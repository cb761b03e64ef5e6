//! The store under test, and the ways to open it.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::{Result, Store};

use crate::settings::CaseSettings;

/// A store under test. The implementor supplies isolated namespaces; the suite does the rest.
///
/// A namespace is a store of its own: a file, a schema, a key prefix. The suite chooses the names,
/// including unusual ones. Map them to valid names of the backend, for files with
/// [`file_name`](crate::file_name). The subject cleans up whatever is left behind.
#[async_trait]
pub trait StoreFixture: Send + Sync + 'static {
    /// Returns the name of the store in reports.
    fn name(&self) -> &str;

    /// Returns the number of random sequences and kills, unless the environment sets one. A store
    /// that delegates to another store may ask for fewer, if that other store is tested with all of
    /// them.
    fn settings(&self) -> CaseSettings {
        CaseSettings::default()
    }

    /// Opens an empty store for this namespace, even if the namespace was opened before.
    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>>;

    /// Opens the store of an opened namespace as another process would find it after the first one
    /// ended: it shares no memory with the first, and everything written is there. The suite has
    /// dropped all handles.
    ///
    /// `None` is only correct for a store of
    /// [`Durability::Process`](context_core::store::Durability::Process).
    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>>;

    /// Opens another handle to the store of an opened namespace, with its own connections, while
    /// the first handle is in use.
    ///
    /// `None` is only correct for a store that is not
    /// [`shared`](context_core::store::StoreInfo::shared).
    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>>;

    /// Returns the location of the store of a namespace, such as a path or a URL, for another
    /// process to [open](Self::open_at). If the namespace was never opened, the location holds
    /// nothing yet. Repeated calls return the same location.
    ///
    /// `None` is only correct for a store of
    /// [`Durability::Process`](context_core::store::Durability::Process) that is not
    /// [`shared`](context_core::store::StoreInfo::shared).
    fn location(&self, namespace: &str) -> Option<String> {
        let _ = namespace;
        None
    }

    /// Opens the store at a [location](Self::location), which may come from another process, and
    /// creates the store if the location is empty. Returns `None` if the store has no locations.
    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        let _ = location;
        Ok(None)
    }
}
