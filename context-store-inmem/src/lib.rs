//! The reference store: everything is kept in memory and is lost when the process ends.
//!
//! The store is meant for tests, for short-lived programs, and for authors of other stores. It
//! holds one [`ChatState`](context_store_kit::ChatState) per chat behind a lock and implements the
//! store traits through [`StateStore`](context_store_kit::StateStore). It favors obvious code over
//! speed: every read walks the chain from its head, and every search reads every message. It
//! persists nothing, evicts nothing and needs no async runtime.
//!
//! ```
//! use context_core::Store;
//! use context_core::store::Durability;
//! use context_store_inmem::InMemoryStore;
//!
//! let store = InMemoryStore::default();
//! assert_eq!(store.info().durability, Durability::Process);
//! ```

mod blobs;
mod memories;
mod rounds;
mod store;
mod streams;
mod trajectories;

pub use store::InMemoryStore;
