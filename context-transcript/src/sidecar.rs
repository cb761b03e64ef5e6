//! The content of a file other than its messages: stored in the chat's metadata if it is small,
//! else on a separate branch.
//!
//! The metadata of a chat is limited and read with every listing, so it holds at most
//! [`MAX_METADATA`] bytes. Larger content goes into messages without text on the branch
//! [`SOURCE_BRANCH`], which has its own root: a branch can hold any number of messages, and no
//! prompt includes it.
//!
//! A file may contain data twice, such as the answer next to the tree. Redacting a message does not
//! affect the kept content of its file.

use context_core::{Json, Message, Metadata, Node, Role, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::data;
use crate::{Tree, TreeError};

/// The branch for content of a file other than its messages, if there is more of it than metadata
/// may hold.
pub const SOURCE_BRANCH: &str = "source";
/// The most bytes that are kept in the metadata.
const MAX_METADATA: usize = 64 << 10;

/// Content that is not a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SidecarEntry {
    /// The position in the file: a line number, or the position of a key.
    pub(crate) at: usize,
    /// The value.
    pub(crate) value: Json,
}

/// Returns the content if all of it fits into the metadata. Otherwise adds a branch of messages to
/// the tree and returns an empty list. `name`, `metadata` and `id` are those of the message that
/// holds an entry.
pub(crate) fn store(
    entries: Vec<SidecarEntry>,
    tree: &mut Tree,
    name: impl Fn(&SidecarEntry) -> String,
    metadata: impl Fn(&SidecarEntry) -> Metadata,
    id: impl Fn(&SidecarEntry) -> String,
    at: Timestamp,
) -> Result<Vec<SidecarEntry>, TreeError> {
    let bytes: usize = entries.iter().map(|entry| entry.value.as_str().len() + 32).sum();
    if bytes <= MAX_METADATA {
        return Ok(entries);
    }
    let mut last = None;
    for entry in entries {
        let part = data(name(&entry), entry.value.clone());
        let message = Message::new(Role::System, [part]).with_metadata(metadata(&entry));
        last = Some(tree.add(Node::new(id(&entry), message, at), last)?);
    }
    if let Some(head) = last {
        tree.branch(SOURCE_BRANCH, head)?;
    }
    Ok(Vec::new())
}
