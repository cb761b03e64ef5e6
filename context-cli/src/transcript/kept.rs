//! What a file holds beside its messages: kept with the chat where it is little, else on a branch
//! of its own.
//!
//! The metadata of a chat is limited and read with every listing, so it takes no more than
//! [`MOST`]. Anything beyond goes into messages without text on the branch [`BRANCH`], which begins
//! with a root of its own: a branch takes any number of them, and no prompt has it.
//!
//! A file may say things twice, such as the answer of a tree beside the tree. Redacting a message
//! does not reach what is kept of its file.

use context_runtime::transfer::{Tree, TreeError};
use context_runtime::{Json, Message, Metadata, Role, Timestamp, store::Node};
use serde::{Deserialize, Serialize};

use super::data;

/// The branch for what is too much.
pub(crate) const BRANCH: &str = "source";
/// The most bytes that are kept with the chat.
const MOST: usize = 64 << 10;

/// Something that is no message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Where in the file: a line, or the position of a key.
    pub(super) at: usize,
    /// What.
    pub(super) value: Json,
}

/// Gives back what fits into the metadata; if not all of it does, nothing, and all of it goes to
/// the branch. `mark` is the metadata of a message for what was at this place.
pub(super) fn keep(
    kept: Vec<Kept>,
    tree: &mut Tree,
    name: impl Fn(&Kept) -> String,
    mark: impl Fn(&Kept) -> Metadata,
    id: impl Fn(&Kept) -> String,
    at: Timestamp,
) -> Result<Vec<Kept>, TreeError> {
    let bytes: usize = kept.iter().map(|kept| kept.value.as_str().len() + 32).sum();
    if bytes <= MOST {
        return Ok(kept);
    }
    let mut last = None;
    for kept in kept {
        let part = data(name(&kept), kept.value.clone());
        let message = Message::new(Role::System, [part]).with_metadata(mark(&kept));
        last = Some(tree.add(Node::new(id(&kept), message, at), last)?);
    }
    if let Some(head) = last {
        tree.branch(BRANCH, head)?;
    }
    Ok(Vec::new())
}
