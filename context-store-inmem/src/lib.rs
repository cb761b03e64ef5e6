//! The reference store: everything in memory, gone with the process.
//!
//! It is for tests, for short-lived programs, and for authors of other stores: a lock around one
//! [`ChatState`](context_store_kit::ChatState) per chat, through
//! [`StateStore`](context_store_kit::StateStore). So it is short and obvious rather than fast: a
//! chain is walked from its end on every read, a search reads every message. It persists nothing,
//! evicts nothing and needs no async runtime.
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
