//! Runs the conformance suite against the reference store. The second handle is a clone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use context_store_inmem::InMemoryStore;

#[derive(Default)]
struct InMemory {
    open: Mutex<HashMap<String, InMemoryStore>>,
}

#[async_trait]
impl StoreFixture for InMemory {
    fn name(&self) -> &str {
        "inmem"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let store = InMemoryStore::default();
        self.open.lock().expect("no holder panics").insert(namespace.to_owned(), store.clone());
        Ok(Arc::new(store))
    }

    async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let store = self.open.lock().expect("no holder panics").get(namespace).cloned();
        Ok(store.map(|store| Arc::new(store) as Arc<dyn Store>))
    }
}

context_conformance::conformance_main!(InMemory::default());
