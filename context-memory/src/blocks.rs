//! Blocks: small named notes that a model edits through tools and that are recalled in every turn.
//!
//! A block holds what a model should always see without a search: who the user is, what the task
//! is, how the user likes answers. Each block has a name and a limit in characters. If the
//! application [declares](BlockRule) the block, it also has a description for the model and the
//! part of the scope it is [filed](crate::ScopeLevel) under. A model never chooses where a block is
//! filed.
//!
//! * **No lost updates.** Every write names the version it changes. If another writer was faster,
//!   an edit with the same meaning on the newer text is applied to that text: a replacement of a
//!   text that still occurs exactly once, or an insertion at either end. Any other edit is a
//!   [conflict](BlockError::Changed).
//! * **Earlier versions are kept**, up to a limit, within the block's own record, so forgetting a
//!   block forgets them too. A deleted block keeps its versions until it is forgotten.
//! * A forgotten block may be created again. The new block does not restore the old one.
//!
//! Blocks do not learn: they contain what was written into them, and turns are not captured. The
//! number of blocks is checked before one is created, so two concurrent writers can exceed the
//! limit by one.

mod block;
mod block_record;
mod edit;
mod error;
mod input;
mod provider;
mod rule;
mod store;
mod tools;

pub use block::{Block, BlockVersion};
pub use edit::{BlockEdit, InsertPosition};
pub use error::BlockError;
pub use rule::BlockRule;
pub use store::Blocks;
pub use tools::{BlockAnswer, BlockTools};
