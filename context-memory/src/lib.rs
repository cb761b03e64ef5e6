//! Memory providers: they recall what is relevant to a turn, each memory only within its own scope.
//!
//! # Providers
//!
//! | provider | stores | fed by |
//! |---|---|---|
//! | [`Episodic`] | messages, verbatim | captured turns |
//! | [`Blocks`] | small named notes | the model, through tools |
//! | [`Facts`] | statements with times and sources | the application, or a model that reads captured turns |
//! | `remote::RemoteMemory` (feature `remote`) | depends on the server | HTTP |
//!
//! Each provider works on its own behind [`MemoryProvider`](context_core::MemoryProvider).
//! [`ProviderChain`] combines several, and [`Queued`] captures in the background, so that no turn waits for
//! it. The first three keep their records in any [store](context_core::Store) that supports
//! [memories](context_core::Store::memories). The remote one needs no store.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Clock, Error, MemoryProvider, Store};
//! use context_memory::{Blocks, ProviderChain, Episodic, Facts, Queued};
//!
//! fn memory(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<impl MemoryProvider, Error> {
//!     Ok(ProviderChain::new()
//!         .with("notes", Blocks::new(store.clone(), clock.clone())?, 1)
//!         .with("facts", Facts::new(store.clone(), clock)?, 1)
//!         .with("episodes", Queued::new(Episodic::new(store)?), 2))
//! }
//! ```
//!
//! # Scopes
//!
//! Every record is filed under a [`MemoryScope`](context_core::memory::MemoryScope), and is
//! recalled only where everything that its scope names is named equally. [`ScopeLevel`] selects how
//! much of a turn's scope new memories are filed under. The default is the project and the agent,
//! so memories come back in later sessions, but not in other projects. There is no fallback to a
//! wider scope: a store without memories, and a scope that cannot be kept apart, are errors.
//!
//! # Trust
//!
//! Every memory has a class of trust by its origin, as far as it is known:
//! [`Trust`](context_core::memory::Trust). [`LeastTrust`] limits recall to a class.
//! [`MemoryProvider::review`](context_core::MemoryProvider::review) takes memories out of recall
//! without deleting them, and tells in which turns a memory was used.
//!
//! # Out of scope
//!
//! This crate does not render memories; the runtime shows them to the model as data with source and
//! time. It never deletes memories by age or importance. It contains no embedding model: an
//! [`Embedder`](context_core::model::Embedder) calls one over HTTP, and without an embedder
//! memories are found by words only.

mod blocks;
mod cost;
mod episodic;
mod facts;
mod least_trust;
mod passages;
mod provider_chain;
mod queue;
mod rank;
mod records;
#[cfg(feature = "remote")]
pub mod remote;
mod review;
pub mod words;

pub use blocks::{
    Block, BlockAnswer, BlockEdit, BlockError, BlockRule, BlockTools, BlockVersion, Blocks,
    InsertPosition,
};
pub use episodic::{EPISODE, Episodic, ScopeLevel, episodic};
pub use facts::{
    Cardinality, Extracted, ExtractedFact, Fact, FactExtractor, Facts, ModelExtractor, Statement,
    StatementOutcome,
};
pub use least_trust::LeastTrust;
pub use provider_chain::ProviderChain;
pub use queue::Queued;
pub use review::{MEMORY_USE, QUARANTINE};
