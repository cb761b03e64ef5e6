//! The content of a file other than its messages: stored in the chat's metadata if it is small,
//! else on a separate branch.
//!
//! The metadata of a chat is limited and read with every listing, so it holds at most [`MOST`]
//! bytes. Larger content goes into messages without text on the branch [`BRANCH`], which has its
//! own root: a branch can hold any number of messages, and no prompt includes it.
//!
//! A file may contain data twice, such as the answer next to the tree. Redacting a message does not
//! affect the kept content of its file.

use context_runtime::transfer::{Tree, TreeError};
use context_runtime::{Json, Message, Metadata, Role, Timestamp, store::Node};
use serde::{Deserialize, Serialize};

use super::data;

/// The branch for larger content.
pub(crate) const BRANCH: &str = "source";
/// The most bytes that are kept in the metadata.
const MOST: usize = 64 << 10;

/// Content that is not a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The position in the file: a line number, or the position of a key.
    pub(super) at: usize,
    /// The value.
    pub(super) value: Json,
}

/// Returns the content if all of it fits into the metadata. Otherwise writes it to the branch and
/// returns an empty list. `mark` returns the metadata of a message for the content at a position.
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
