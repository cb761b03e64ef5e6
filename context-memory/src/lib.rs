//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.

mod blocks;
mod chain;
mod cost;
mod episodic;
mod facts;
mod id;
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
