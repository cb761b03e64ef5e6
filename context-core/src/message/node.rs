//! Nodes of the message graph: stored messages and boundaries.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::base::{CodecError, limits, sealed};

use super::Origin;
use super::shared_run::{PlaceInRun, SharedRun};
use crate::{Encoded, Message, MessageId, Role, Timestamp};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A message with this role.
    Message(Role),
    /// A boundary of a compaction; not a message.
    Boundary,
}

/// A node of the message graph: immutable and shared. Its body is parsed on first access.
///
/// A node does not know its parent. Its position is part of a [`Chain`](crate::Chain) or a
/// [`PlacedNode`](crate::message::PlacedNode).
///
/// ```
/// use context_core::{Message, Node, Role, Timestamp};
///
/// let node = Node::new("m1", Message::from("Two tickets."), Timestamp::from_micros(5));
/// let read = Node::from_encoded("m1".into(), node.kind, node.created_at, node.body().clone());
/// assert_eq!(read.role(), Some(Role::User)); // without parsing the body
/// assert_eq!(read.message()?.plain_text(), "Two tickets."); // parsed now, and cached
/// # Ok::<(), context_core::base::CodecError>(())
/// ```
#[derive(Clone)]
pub struct Node {
    /// The id, unique in its chat.
    pub id: MessageId,
    /// The kind.
    pub kind: NodeKind,
    /// The creation time.
    pub created_at: Timestamp,
    /// Number of amendments. 0 for the first version.
    pub revision: u32,
    /// The token count, if the message was counted.
    pub tokens: Option<u32>,
    form: Form,
}

/// The stored form of a node, and its message once it is parsed.
#[derive(Clone)]
enum Form {
    /// Of this node alone.
    Own { body: Encoded, message: OnceLock<Arc<Message>> },
    /// In a run that nodes of a chain share. The body is written or sliced on first use.
    Shared { place: PlaceInRun, body: OnceLock<Box<Encoded>> },
}

impl Node {
    /// Refuses a message with an invalid id or a body over the limit.
    pub fn check(&self, operation: &'static str) -> crate::Result<()> {
        limits::check_id(operation, "message", self.id.as_str())?;
        let body = self.body();
        limits::check_length(operation, "body kind", body.kind().len(), 255)?;
        let bytes = sealed::form_length(body);
        limits::check_length(operation, "body", bytes, limits::MAX_BODY_BYTES)
            .map_err(|error| error.with("message", &self.id))
    }

    /// Creates a node from a message.
    pub fn new(
        id: impl Into<MessageId>,
        message: impl Into<Arc<Message>>,
        created_at: Timestamp,
    ) -> Self {
        let message = message.into();
        let (kind, body) = (NodeKind::Message(message.role), message.encode());
        let form = Form::Own { body, message: message.into() };
        Self { id: id.into(), kind, created_at, revision: 0, tokens: None, form }
    }

    /// Creates a node from a stored body, without parsing it.
    pub fn from_encoded(
        id: MessageId,
        kind: NodeKind,
        created_at: Timestamp,
        body: Encoded,
    ) -> Self {
        let form = Form::Own { body, message: OnceLock::new() };
        Self { id, kind, created_at, revision: 0, tokens: None, form }
    }

    /// Makes nodes that were just read from `bytes` share them, so that the bytes are released once
    /// all messages are read. Nodes that somebody else holds keep their part of the bytes.
    pub(super) fn share(bytes: &Bytes, nodes: &mut [Arc<Node>]) {
        if u32::try_from(bytes.len()).is_err() {
            return;
        }
        let mut alone: Vec<_> = nodes.iter_mut().filter_map(Arc::get_mut).collect();
        let mut bodies = Vec::with_capacity(alone.len());
        alone.retain(|node| {
            let range = node.unread_message().and_then(|body| range_in(bytes, body.bytes()));
            bodies.extend(range.clone());
            range.is_some()
        });
        for (node, place) in alone.into_iter().zip(SharedRun::places(bytes.clone(), &bodies)) {
            node.form = Form::Shared { place, body: OnceLock::new() };
        }
    }

    /// Returns the body of a message that was not read, in the current version.
    fn unread_message(&self) -> Option<&Encoded> {
        let Form::Own { body, message } = &self.form else { return None };
        let is_current = body.kind() == Message::KIND && body.version() == Message::VERSION;
        (self.role().is_some() && is_current && message.get().is_none()).then_some(body)
    }

    /// Replaces the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the token count.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u32) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Returns the role, if the node is a message.
    pub fn role(&self) -> Option<Role> {
        match self.kind {
            NodeKind::Message(role) => Some(role),
            NodeKind::Boundary => None,
        }
    }

    /// Returns the stored form.
    pub fn body(&self) -> &Encoded {
        match &self.form {
            Form::Own { body, .. } => body,
            Form::Shared { place, body } => body.get_or_init(|| Box::new(place.body())),
        }
    }

    /// Returns the length of the stored form in bytes, without writing it.
    pub fn body_length(&self) -> usize {
        match &self.form {
            Form::Own { body, .. } => body.bytes().len(),
            Form::Shared { place, .. } => place.length(),
        }
    }

    /// Returns the message, which is parsed once and then shared. Fails if the body has another
    /// kind, a newer version, or is malformed; the bytes are kept in any case.
    pub fn message(&self) -> Result<&Arc<Message>, CodecError> {
        match &self.form {
            Form::Own { body, message } => match message.get() {
                Some(message) => Ok(message),
                None => {
                    let read = Arc::new(Message::decode(body)?);
                    Ok(message.get_or_init(|| read))
                }
            },
            Form::Shared { place, .. } => place.message(),
        }
    }

    fn message_if_read(&self) -> Option<&Arc<Message>> {
        match &self.form {
            Form::Own { message, .. } => message.get(),
            Form::Shared { place, .. } => place.get(),
        }
    }

    /// Returns what `of_message` says of the message. If it was not read, `of_bytes` may know
    /// without parsing. `None` if the message cannot be read.
    fn ask<T>(
        &self,
        of_bytes: impl FnOnce(&[u8]) -> Option<T>,
        of_message: impl FnOnce(&Message) -> T,
    ) -> Option<T> {
        if self.message_if_read().is_none() {
            let known = match &self.form {
                Form::Own { body, .. } => of_bytes(body.bytes()),
                Form::Shared { place, .. } => place.stored().and_then(|bytes| of_bytes(&bytes)),
            };
            if known.is_some() {
                return known;
            }
        }
        self.message().ok().map(|message| of_message(message))
    }

    /// Returns whether the node is a message without parts, which is filled later.
    pub fn is_placeholder(&self) -> bool {
        let Some(role) = self.role() else { return false };
        // For bodies that this crate wrote, the first bytes suffice. This saves parsing every node
        // of a chain.
        let of_bytes = |body: &[u8]| {
            body.strip_prefix(Message::body_start(role)).map(|parts| parts.starts_with(b"]"))
        };
        self.ask(of_bytes, Message::is_placeholder).unwrap_or(false)
    }

    /// Returns whether the node is a boundary, or a message in a form that this program can read. A
    /// malformed body is detected only when it is parsed.
    pub fn is_readable(&self) -> bool {
        match &self.form {
            Form::Own { body, .. } => {
                self.role().is_none()
                    || (body.kind() == Message::KIND && body.version() <= Message::VERSION)
            }
            Form::Shared { .. } => true,
        }
    }

    /// Returns whether a model may be shown the node: a readable message that is not a placeholder.
    pub fn is_shown(&self) -> bool {
        self.role().is_some() && self.is_readable() && !self.is_placeholder()
    }

    /// Returns the origin of the message. A boundary, and a body that cannot be read, have that of
    /// an author.
    pub fn origin(&self) -> Origin {
        let Some(role) = self.role() else { return Origin::Author };
        // Messages without a mark of an origin, which most are, are not parsed.
        let of_bytes = |body: &[u8]| {
            let has_none = Message::body_has_no_metadata(role, body) || !Origin::may_be_in(body);
            has_none.then_some(Origin::Author)
        };
        self.ask(of_bytes, Message::origin).unwrap_or(Origin::Author)
    }

    /// Returns whether a [codec](crate::fragment::StoredMessageCodec) encoded the message, so that
    /// its shown form may differ.
    pub fn is_encoded(&self) -> bool {
        let Some(role) = self.role() else { return false };
        // Almost no message is encoded, so few are parsed.
        let of_bytes = |body: &[u8]| {
            let may_be = !Message::body_has_no_metadata(role, body)
                && std::str::from_utf8(body).is_ok_and(|body| body.contains(Message::STORED_CODEC));
            (!may_be).then_some(false)
        };
        self.ask(of_bytes, |message| message.stored_codec().is_some()).unwrap_or(false)
    }

    /// Returns whether the node starts a turn: a message with the user's role that is not
    /// [synthetic](Message::is_synthetic).
    pub fn is_turn(&self) -> bool {
        self.role() == Some(Role::User) && !self.origin().is_synthetic()
    }

    /// Returns the weight for [`Window::Tokens`](crate::store::Window::Tokens): the saved token
    /// count, or else a quarter of the body's bytes.
    pub fn weight(&self) -> u64 {
        self.tokens.map_or_else(|| (self.body_length() as u64).div_ceil(4), u64::from)
    }

    /// Returns whether both nodes have the same kind and body, whatever their ids and times.
    pub fn same_content(&self, other: &Self) -> bool {
        self.kind == other.kind && self.body() == other.body()
    }

    /// Returns the node after an amendment: id and creation time stay, and the revision increases
    /// by one.
    #[must_use]
    pub fn amended(&self, by: &Node) -> Node {
        Node {
            created_at: self.created_at,
            revision: self.revision.saturating_add(1),
            ..by.clone()
        }
    }
}

/// Returns the range of a slice in the bytes from which it was cut.
fn range_in(bytes: &[u8], part: &[u8]) -> Option<Range<u32>> {
    let start = (part.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
    let end = start.checked_add(part.len()).filter(|end| *end <= bytes.len())?;
    Some(u32::try_from(start).ok()?..u32::try_from(end).ok()?)
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
        write!(f, "{:?} {:?} r{} ({:?})", self.id, self.kind, self.revision, self.body())
    }
}

/// A node with its position in the graph.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlacedNode {
    /// The node.
    pub node: Arc<Node>,
    /// The id of the parent. `None` for a root.
    pub parent: Option<MessageId>,
    /// Number of ancestors. 0 for a root.
    pub depth: u64,
}

impl PlacedNode {
    /// Creates a placed node.
    pub fn new(node: impl Into<Arc<Node>>, parent: Option<MessageId>, depth: u64) -> Self {
        Self { node: node.into(), parent, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;
    use crate::message::WrittenIn;

    #[test]
    fn placeholders_are_known_without_parsing_what_this_crate_wrote() {
        for role in [Role::System, Role::User, Role::Assistant, Role::Tool] {
            for (parts, expected) in
                [(vec![], true), (vec![Part::text("")], false), (vec![Part::text("x")], false)]
            {
                let written = Node::new("m", Message::new(role, parts), Timestamp::default());
                let body = written.body().clone();
                let read = Node::from_encoded("m".into(), written.kind, Timestamp::default(), body);
                assert_eq!(read.is_placeholder(), expected);
                assert!(read.message_if_read().is_none());
            }
        }
        let foreign = Encoded::new("message", 1, &br#"{ "parts": [], "role": "user" }"#[..]);
        let kind = NodeKind::Message(Role::User);
        assert!(
            Node::from_encoded("m".into(), kind, Timestamp::default(), foreign).is_placeholder()
        );
    }

    #[test]
    fn an_origin_is_found_in_forms_of_other_programs_and_not_parsed_where_there_is_none() {
        let kind = NodeKind::Message(Role::User);
        let read = |body: Encoded| Node::from_encoded("m".into(), kind, Timestamp::default(), body);
        let plain = read(Message::from("Hello.").encode());
        assert!(plain.is_turn() && plain.message_if_read().is_none());
        let marked = Message::from("Hello.").with_written_in(&WrittenIn::turn("m1"));
        let marked = read(marked.encode());
        assert!(marked.is_turn() && marked.message_if_read().is_none());
        assert!(!read(Message::from("Go on.").with_origin(Origin::Synthetic).encode()).is_turn());
        // The metadata need not come last, and white space may follow.
        for body in [
            r#"{"metadata":{"synthetic":true},"role":"user","parts":[]}"#,
            r#"{"role":"user","parts":[],"metadata":{"s\u0079nthetic":true}}"#,
            r#"{ "role": "user", "parts": [], "metadata": {"synthetic": true} }"#,
        ] {
            let foreign = read(Encoded::new("message", 1, body.as_bytes()));
            assert_eq!(foreign.origin(), Origin::Synthetic);
        }
    }
}
