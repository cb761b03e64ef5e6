//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.
//!
//! # The providers
//!
//! | | keeps | is told by |
//! |---|---|---|
//! | [`Episodic`] | what was said, as it was said | captured turns |
//! | [`Blocks`] | small named notes | the model, through tools |
//! | [`Facts`] | statements with their times and sources | programs, or a model that reads captured turns |
//! | `remote::RemoteMemory` (feature `remote`) | whatever a server does | HTTP |
//!
//! Each stands alone behind [`MemoryProvider`](context_core::MemoryProvider); [`Chain`] makes
//! several one, and [`Queued`] lets no turn wait for a capture. The first three keep their records
//! in any [store](context_core::Store) that keeps [memories](context_core::Store::memories); the
//! remote one needs no store.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Clock, Error, MemoryProvider, Store};
//! use context_memory::{Blocks, Chain, Episodic, Facts, Queued};
//!
//! fn memory(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<impl MemoryProvider, Error> {
//!     Ok(Chain::new()
//!         .with("notes", Blocks::new(store.clone(), clock.clone())?, 1)
//!         .with("facts", Facts::new(store.clone(), clock)?, 1)
//!         .with("episodes", Queued::new(Episodic::new(store)?), 2))
//! }
//! ```
//!
//! # To whom it belongs
//!
//! Every record is filed under a [`MemoryScope`](context_core::memory::MemoryScope), and comes back
//! only where everything that scope names is named equally. [`Reach`] says how much of a turn's
//! scope what is said in it is filed under: by default the project and the agent, so that it comes
//! back in later sessions, and not in other projects. There is no wider scope to fall back to: a
//! store that keeps no memories, and a scope that cannot be kept apart, are refused.
//!
//! # What this crate does not do
//!
//! It shows nothing to a model: the runtime renders what is recalled, as data with its source and
//! time. It deletes nothing by itself, neither by age nor by importance. It carries no embedding
//! model: an [`Embedder`](context_core::model::Embedder) speaks to one over HTTP, and without one
//! everything is found by words.

mod blocks;
mod chain;
mod cost;
mod episodic;
mod facts;
mod passages;
mod queue;
mod rank;
mod records;
#[cfg(feature = "remote")]
pub mod remote;
pub mod words;

pub use blocks::{
    Block, BlockAnswer, BlockEdit, BlockError, BlockRule, BlockTools, BlockVersion, Blocks, Place,
};
pub use chain::Chain;
pub use episodic::{EPISODE, Episodic, Reach, episodic};
pub use facts::{
    Extracted, ExtractedFact, Fact, FactExtractor, Facts, Holds, ModelExtractor, Stated, Statement,
};
pub use queue::Queued;
