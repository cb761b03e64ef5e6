//! Messages as Python sees them.
//!
//! A message is `{"id", "created_at", "role", "parts", "metadata"}`, with parts in the JSON form of
//! the library. On the way in, `id` and `metadata` may be left out, and other keys are ignored.

use std::sync::Arc;

use context_runtime::store::Node;
use context_runtime::{Fragment, Message, MessageId, Metadata, Part, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A message that Python passed.
#[derive(Deserialize)]
pub(crate) struct GivenMessage {
    #[serde(default)]
    pub(crate) id: Option<String>,
    role: Role,
    parts: Vec<Part>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

impl GivenMessage {
    /// The message alone.
    pub(crate) fn into_message(self) -> Message {
        Message::new(self.role, self.parts).with_metadata(self.metadata.unwrap_or_default())
    }

    /// The message as a pending one of a chat.
    pub(crate) fn into_fragment(self) -> Fragment {
        let id = self.id.clone();
        let fragment = Fragment::from(Arc::new(self.into_message()));
        match id {
            Some(id) => fragment.with_id(MessageId::from(id)),
            None => fragment,
        }
    }
}

/// A stored message.
#[derive(Serialize)]
pub(crate) struct StoredMessage<'a> {
    id: &'a MessageId,
    created_at: Timestamp,
    role: Role,
    parts: &'a [Part],
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

/// Returns the form of a node. `None` for a boundary, and for a body that cannot be read.
pub(crate) fn stored(node: &Node) -> Option<StoredMessage<'_>> {
    let message = node.message().ok()?;
    Some(StoredMessage {
        id: &node.id,
        created_at: node.created_at,
        role: message.role,
        parts: &message.parts,
        metadata: &message.metadata,
    })
}
