//! Nodes of the message graph: a message, where it came from and what it costs.

use crate::base::limits;
use crate::base::sealed;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::base::CodecError;
use crate::{Encoded, Message, MessageId, Role, Timestamp};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A message of this role.
    Message(Role),
    /// Where a compaction cut; not a message.
    Boundary,
}

/// A node of the message graph: immutable, shared, its body parsed when somebody asks.
///
/// A node does not know its parent; its place is what a [`Chain`](crate::Chain) or a
/// [`Placed`](crate::message::Placed) says.
///
/// ```
/// use context_core::{Message, Node, Role, Timestamp};
///
/// let node = Node::new("m1", Message::from("Two tickets."), Timestamp::from_micros(5));
/// let read = Node::from_encoded("m1".into(), node.kind, node.created_at, node.body().clone());
/// assert_eq!(read.role(), Some(Role::User)); // without looking into the body
/// assert_eq!(read.message()?.plain_text(), "Two tickets."); // parsed now, and kept
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
#[derive(Clone)]
pub struct Node {
    /// Unique in its chat.
    pub id: MessageId,
    /// What it is.
    pub kind: NodeKind,
    /// When it was said.
    pub created_at: Timestamp,
    /// How often it was amended; 0 is as it was first saved.
    pub revision: u32,
    /// How many tokens it was counted at, if it was.
    pub tokens: Option<u32>,
    body: Encoded,
    message: OnceLock<Arc<Message>>,
}

impl Node {
    /// Refuses a message with a bad id or too large a body.
    pub fn check(&self, operation: &'static str) -> crate::Result<()> {
        limits::check_id(operation, "message", self.id.as_str())?;
        let body = self.body();
        limits::check_length(operation, "body kind", body.kind().len(), 255)?;
        let bytes = sealed::form_length(body);
        limits::check_length(operation, "body", bytes, limits::MAX_BODY_BYTES)
            .map_err(|error| error.with("message", &self.id))
    }

    /// A node for a message.
    pub fn new(
        id: impl Into<MessageId>,
        message: impl Into<Arc<Message>>,
        created_at: Timestamp,
    ) -> Self {
        let message = message.into();
        let mut node = Self::from_encoded(
            id.into(),
            NodeKind::Message(message.role),
            created_at,
            message.encode(),
        );
        node.message = message.into();
        node
    }

    /// A node of a stored body, which is not looked into.
    pub fn from_encoded(
        id: MessageId,
        kind: NodeKind,
        created_at: Timestamp,
        body: Encoded,
    ) -> Self {
        Self { id, kind, created_at, revision: 0, tokens: None, body, message: OnceLock::new() }
    }

    /// The same node under another id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = id.into();
        self
    }

    /// The same node, counted.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u32) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// The role, if it is a message.
    pub fn role(&self) -> Option<Role> {
        match self.kind {
            NodeKind::Message(role) => Some(role),
            NodeKind::Boundary => None,
        }
    }

    /// The stored form.
    pub fn body(&self) -> &Encoded {
        &self.body
    }

    /// The message; parsed once, then shared. An error if the body is of another kind, newer than
    /// this program, or broken: the bytes are still there.
    pub fn message(&self) -> Result<&Arc<Message>, CodecError> {
        if let Some(message) = self.message.get() {
            return Ok(message);
        }
        let message = Arc::new(Message::decode(&self.body)?);
        Ok(self.message.get_or_init(|| message))
    }

    /// Whether it is a message without parts, still to be filled.
    pub fn is_placeholder(&self) -> bool {
        let Some(role) = self.role() else { return false };
        // A body as this crate writes it tells without being parsed, and a chain is asked for every
        // node.
        match self.body.bytes().strip_prefix(Message::body_start(role)) {
            Some(parts) => parts.starts_with(b"]"),
            None => self.message().is_ok_and(|message| message.is_placeholder()),
        }
    }

    /// Whether it is a boundary, or stored in a form that this program reads. A body that is broken
    /// is found when it is read.
    pub fn is_readable(&self) -> bool {
        self.role().is_none()
            || (self.body.kind() == Message::KIND && self.body.version() <= Message::VERSION)
    }

    /// Whether a model is shown it, if nothing else hides it: a message that can be read and is no
    /// placeholder.
    pub fn is_shown(&self) -> bool {
        self.role().is_some() && self.is_readable() && !self.is_placeholder()
    }

    /// Whether it is a turn of the user: a message of the user's role that is not
    /// [synthetic](Message::is_synthetic).
    pub fn is_turn(&self) -> bool {
        if self.role() != Some(Role::User) {
            return false;
        }
        // A body as this crate writes it ends with its metadata, if it has any, and a chain is
        // asked for every node.
        !self.body.bytes().ends_with(b"}}")
            || !self.message().is_ok_and(|message| message.is_synthetic())
    }

    /// What [`Window::Tokens`](crate::store::Window::Tokens) counts: the count that was saved, else a
    /// quarter of the body's bytes.
    pub fn weight(&self) -> u64 {
        self.tokens.map_or_else(|| (self.body.bytes().len() as u64).div_ceil(4), u64::from)
    }

    /// Whether both say the same, wherever and whenever.
    pub fn same_content(&self, other: &Self) -> bool {
        self.kind == other.kind && self.body == other.body
    }

    /// What this node becomes when it is amended: id, time and place stay, the revision is one
    /// higher.
    #[must_use]
    pub fn amended(&self, by: &Node) -> Node {
        Node {
            created_at: self.created_at,
            revision: self.revision.saturating_add(1),
            ..by.clone()
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            && self.created_at == other.created_at
            && self.revision == other.revision
            && self.tokens == other.tokens
            && self.same_content(other)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} r{} ({:?})", self.id, self.kind, self.revision, self.body)
    }
}

/// A node and its place in the graph.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Placed {
    /// The node.
    pub node: Arc<Node>,
    /// What it follows; nothing for a root.
    pub parent: Option<MessageId>,
    /// How many nodes lie between it and its root: 0 for a root.
    pub depth: u64,
}

impl Placed {
    /// A node at its place.
    pub fn new(node: impl Into<Arc<Node>>, parent: Option<MessageId>, depth: u64) -> Self {
        Self { node: node.into(), parent, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;

    #[test]
    fn placeholders_are_known_without_parsing_what_this_crate_wrote() {
        for role in [Role::System, Role::User, Role::Assistant, Role::Tool] {
            for (parts, expected) in
                [(vec![], true), (vec![Part::text("")], false), (vec![Part::text("x")], false)]
            {
                let written = Node::new("m", Message::new(role, parts), Timestamp::default());
                let body = written.body.clone();
                let read = Node::from_encoded("m".into(), written.kind, Timestamp::default(), body);
                assert_eq!(read.is_placeholder(), expected);
                assert!(read.message.get().is_none());
            }
        }
        let foreign = Encoded::new("message", 1, &br#"{ "parts": [], "role": "user" }"#[..]);
        let kind = NodeKind::Message(Role::User);
        assert!(
            Node::from_encoded("m".into(), kind, Timestamp::default(), foreign).is_placeholder()
        );
    }
}
