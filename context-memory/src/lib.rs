//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.

mod blocks;
mod filing;
mod records;
mod room;
pub mod words;

pub use blocks::{
    Block, BlockAnswer, BlockEdit, BlockError, BlockRule, BlockTools, BlockVersion, Blocks, Place,
};
pub use filing::Filing;
