//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.

mod blocks;
mod facts;
mod filing;
mod records;
mod room;
pub mod words;

pub use blocks::{
    Block, BlockAnswer, BlockEdit, BlockError, BlockRule, BlockTools, BlockVersion, Blocks, Place,
};
pub use facts::{
    Extracted, ExtractedFact, Fact, FactExtractor, Facts, Holds, ModelExtractor, Stated, Statement,
};
pub use filing::Filing;
