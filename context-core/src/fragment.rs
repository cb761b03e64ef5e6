//! Fragments: named pieces of context.
//!
//! A *context* fragment is rendered into the system prompt; a *message* fragment becomes a node of
//! the message graph. Both are built by plain functions ([`role`], [`hint`], [`fragment`],
//! [`user`], [`assistant`], [`last_assistant_message`]), cloned for the price of a reference count,
//! and never changed in place.
//!
//! A fragment invents nothing: a message fragment without an id gets one from the engine's
//! [`IdGenerator`](crate::IdGenerator), not here.

pub(crate) mod build;
pub(crate) mod codec;
pub(crate) mod data;
mod json;
pub mod kinds;
mod lazy;
mod number;
pub(crate) mod render;

use std::sync::Arc;

pub use build::last_assistant_message;
pub use codec::{BodyCodec, FragmentBody, FragmentCodec};
pub use data::{FragmentList, FragmentMap};
pub use json::{FRAGMENTS_SCHEMA, MAX_JSON_DEPTH};
pub use lazy::{
    DEFAULT_LOAD_TIMEOUT, LazyData, Loader, MAX_STREAM_ITEMS, OnFailure, Reuse, lazy, lazy_future,
    lazy_stream,
};
pub use number::Number;
pub use render::{Arrangement, Form, Piece, Pieces, RenderError};

use crate::base::FragmentId;
use crate::{Encoded, FragmentData, Message, Metadata};

/// Where a fragment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FragmentKind {
    /// Into the system prompt.
    Context,
    /// Into the message graph.
    Message,
}

/// A message whose place is only known when it is resolved or saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LazyMessage {
    /// Replaces the newest assistant message, see [`last_assistant_message`].
    LastAssistant {
        /// The new text.
        text: Arc<str>,
    },
}

/// What a fragment holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FragmentContent {
    /// Data to render.
    Data(FragmentData),
    /// A message.
    Message(Arc<Message>),
    /// A message whose place is decided later.
    Lazy(LazyMessage),
    /// A stored form no codec is registered for, kept byte for byte.
    Unknown(Encoded),
}

/// Why a fragment is not what it was taken for.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// A message fragment holds plain data, so nothing says what message it is.
    #[error("message fragment {name:?} holds no message")]
    MissingCodec {
        /// The fragment's name.
        name: String,
    },
    /// A fragment without a name.
    #[error("a fragment needs a name")]
    MissingName,
}

crate::readable_debug!(FragmentError);

/// A named piece of context.
///
/// ```
/// use context_core::{fragment, hint, role};
///
/// let rules = fragment("rules", [hint("Answer in French."), hint("Cite sources.")]).persisted();
/// assert_eq!(rules.name(), "rules");
/// assert!(rules.is_persisted() && !rules.is_message());
/// # let _ = role("x");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    name: Arc<str>,
    kind: FragmentKind,
    content: FragmentContent,
    persist: bool,
    untrusted: bool,
    id: Option<FragmentId>,
    codec: Option<Arc<str>>,
    metadata: Metadata,
}

impl Fragment {
    /// A context fragment of `data`.
    pub fn new(name: impl Into<Arc<str>>, data: impl Into<FragmentData>) -> Self {
        Self::from_content(name, FragmentKind::Context, FragmentContent::Data(data.into()))
    }

    /// A fragment of any content.
    pub fn from_content(
        name: impl Into<Arc<str>>,
        kind: FragmentKind,
        content: FragmentContent,
    ) -> Self {
        let persist = kind == FragmentKind::Message;
        Self {
            name: name.into(),
            kind,
            content,
            persist,
            untrusted: false,
            id: None,
            codec: None,
            metadata: Metadata::default(),
        }
    }

    /// Gives the fragment an id. A context fragment replaces a persisted one of the same id; a
    /// message with the id of a stored message is an edit of it.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<FragmentId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Keeps the fragment with the chat when the engine saves. Messages are kept anyway.
    #[must_use]
    pub fn persisted(mut self) -> Self {
        self.persist = true;
        self
    }

    /// Marks what it holds as data that somebody else wrote: a web page, a file, the answer of a
    /// tool. Every renderer shows the mark, and none lets such data end its place or look like
    /// structure of the prompt. It holds for everything inside.
    ///
    /// A mark is no protection by itself: it tells the model, and keeps the data where it belongs.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// The same fragment with other data; a message fragment and one of an unknown kind stay as
    /// they are.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<FragmentData>) -> Self {
        if matches!(self.content, FragmentContent::Data(_)) {
            self.content = FragmentContent::Data(data.into());
        }
        self
    }

    /// Names the codec that stores this fragment, by its kind. Without one it is stored as a free
    /// fragment.
    #[must_use]
    pub fn with_codec(mut self, kind: impl Into<Arc<str>>) -> Self {
        self.codec = Some(kind.into());
        self
    }

    /// Adds metadata, which is never rendered.
    #[must_use]
    pub fn with_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// The name: the tag or heading the fragment is rendered under, or a message's role.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the fragment goes.
    pub fn kind(&self) -> FragmentKind {
        self.kind
    }

    /// What the fragment holds.
    pub fn content(&self) -> &FragmentContent {
        &self.content
    }

    /// The data to render, if it holds data.
    pub fn data(&self) -> Option<&FragmentData> {
        match &self.content {
            FragmentContent::Data(data) => Some(data),
            _ => None,
        }
    }

    /// The message it holds. An error for a message fragment that holds plain data; nothing for a
    /// context fragment and for a lazy message, whose place is not decided yet.
    pub fn message(&self) -> Result<Option<&Arc<Message>>, FragmentError> {
        match &self.content {
            FragmentContent::Message(message) => Ok(Some(message)),
            FragmentContent::Data(_) if self.is_message() => {
                Err(FragmentError::MissingCodec { name: self.name.to_string() })
            }
            _ => Ok(None),
        }
    }

    /// The id, if it has one.
    pub fn id(&self) -> Option<&FragmentId> {
        self.id.as_ref()
    }

    /// The kind of the codec that stores it, if one was named.
    pub fn codec(&self) -> Option<&str> {
        self.codec.as_deref()
    }

    /// Metadata, never rendered.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether it becomes a node of the message graph.
    pub fn is_message(&self) -> bool {
        self.kind == FragmentKind::Message
    }

    /// Whether it is kept with the chat.
    pub fn is_persisted(&self) -> bool {
        self.persist
    }

    /// Whether what it holds is data that somebody else wrote.
    pub fn is_untrusted(&self) -> bool {
        self.untrusted
    }

    /// Whether its place is only decided when it is resolved or saved.
    pub fn is_lazy(&self) -> bool {
        matches!(self.content, FragmentContent::Lazy(_))
    }

    /// Whether both say the same under the same name: what makes a persisted fragment without an id
    /// be kept once.
    pub fn same_content(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.untrusted == other.untrusted
            && self.content == other.content
    }

    fn same_but_for_data(&self, other: &Self) -> bool {
        self.name == other.name
            && self.id == other.id
            && self.kind == other.kind
            && self.persist == other.persist
            && self.untrusted == other.untrusted
            && self.codec == other.codec
            && self.metadata == other.metadata
    }
}

impl Drop for Fragment {
    fn drop(&mut self) {
        if let FragmentContent::Data(data) = &mut self.content {
            data.dismantle();
        }
    }
}

impl From<Message> for Fragment {
    /// A message fragment, named after the role.
    fn from(message: Message) -> Self {
        Self::from(Arc::new(message))
    }
}

impl From<Arc<Message>> for Fragment {
    /// The same of a message that others hold as well.
    fn from(message: Arc<Message>) -> Self {
        let name = message.role.as_str();
        Self::from_content(name, FragmentKind::Message, FragmentContent::Message(message))
    }
}
