//! Blocks: small named notes that a model edits through tools, and reads in every turn.
//!
//! What a model should always have before it (who the user is, what the task is, how they like
//! their answers) does not wait for a search. Each block has a name, a limit in characters and, if
//! the program [declares](BlockRule) it, a description for the model and the part of the scope it
//! is [filed](crate::Reach) under; a model never says where a block lives.
//!
//! * **No edit is lost.** Every write names the version it changes. Where another writer was
//!   faster, an edit that means the same on the newer text (a replacement of a text that still
//!   stands exactly once, an insertion at either end) is made there; any other is a
//!   [conflict](BlockError::Changed).
//! * **Earlier versions stay**, a bounded number of them, within the block's own record: so
//!   forgetting a block forgets them too. A deleted block keeps them until it is forgotten.
//! * A block that was forgotten may be made again: that is a new note, not the old one coming back.
//!
//! There is no learning here: blocks say what was written into them, and turns are not captured.
//! How many blocks there are is checked before one is made, so two writers that make different ones
//! at once may be one over.

mod block;
mod edit;
mod error;
mod input;
mod kept;
mod notes;
mod provider;
mod rule;
mod tools;

pub use block::{Block, BlockVersion};
pub use edit::{BlockEdit, Place};
pub use error::BlockError;
pub use notes::Blocks;
pub use rule::BlockRule;
pub use tools::{BlockAnswer, BlockTools};
