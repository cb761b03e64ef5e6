//! Fragments: named pieces of context.
//!
//! A *context* fragment is rendered into the system prompt. A *message* fragment becomes a node of
//! the message graph. Both are built by plain functions (`role`, `hint`, `fragment`, `user`,
//! `assistant`, `last_assistant_message`). Fragments are immutable, and cloning shares their data.
//!
//! Fragments do not generate ids: a message fragment without an id gets one from the engine's
//! [`IdGenerator`](crate::IdGenerator).

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
use codec::AttachedCodec;
pub use codec::{BodyCodec, FragmentBody, FragmentCodec, StoredMessageCodec};
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

/// The destination of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FragmentKind {
    /// The system prompt.
    Context,
    /// The message graph.
    Message,
}

/// A message whose position is determined by a resolve or a save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LazyMessage {
    /// Replaces the newest assistant message; see [`last_assistant_message`].
    LastAssistant {
        /// The new text.
        text: Arc<str>,
    },
}

/// The content of a fragment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FragmentContent {
    /// Data to render.
    Data(FragmentData),
    /// A message.
    Message(Arc<Message>),
    /// A message whose position is determined later.
    Lazy(LazyMessage),
    /// A stored form without a registered codec, kept byte for byte.
    Unknown(Encoded),
}

/// An error of a fragment that does not have the expected content.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// A message fragment holds plain data instead of a message.
    #[error("message fragment {name:?} holds no message")]
    MissingCodec {
        /// The name of the fragment.
        name: String,
    },
    /// The fragment has no name.
    #[error("a fragment needs a name")]
    MissingName,
    /// The codec of a message fragment cannot encode its message.
    #[error("codec {codec:?} cannot encode message fragment {name:?}: {reason}")]
    NotEncoded {
        /// The name of the fragment.
        name: String,
        /// The name of the codec.
        codec: String,
        /// The reason.
        reason: String,
    },
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
    codec: Option<AttachedCodec>,
    metadata: Metadata,
}

impl Fragment {
    /// Creates a context fragment from `data`.
    pub fn new(name: impl Into<Arc<str>>, data: impl Into<FragmentData>) -> Self {
        Self::from_content(name, FragmentKind::Context, FragmentContent::Data(data.into()))
    }

    /// Creates a fragment from any content.
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

    /// Sets the id. A context fragment replaces a persisted one with the same id. A message
    /// fragment with the id of a stored message edits that message.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<FragmentId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Persists the fragment with the chat when the engine saves. The default of messages.
    #[must_use]
    pub fn persisted(mut self) -> Self {
        self.persist = true;
        self
    }

    /// Keeps the fragment out of the store. The default of context fragments. A message is shown,
    /// at the position where it was set, by every resolve until the next successful save, which
    /// drops it.
    #[must_use]
    pub fn transient(mut self) -> Self {
        self.persist = false;
        self
    }

    /// Marks the content as untrusted: data from a third party, such as a web page, a file, or the
    /// output of a tool. Every renderer shows the mark and keeps such data from breaking out of its
    /// element or looking like structure of the prompt. The mark covers all nested content.
    ///
    /// The mark alone is no protection: it informs the model and confines the data to its element.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// Replaces the data. Message fragments and fragments of an unknown kind are returned
    /// unchanged.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<FragmentData>) -> Self {
        if matches!(self.content, FragmentContent::Data(_)) {
            self.content = FragmentContent::Data(data.into());
        }
        self
    }

    /// Sets the codec that stores the fragment, by kind. Without one it is stored as a free
    /// fragment.
    #[must_use]
    pub fn with_codec(mut self, kind: impl Into<Arc<str>>) -> Self {
        self.codec = Some(AttachedCodec::Named(kind.into()));
        self
    }

    /// Attaches the codec that stores the context fragment, which need not be registered. The
    /// stored form may differ from what is rendered. Fragments are equal if the kinds of their
    /// codecs are.
    ///
    /// To read the stored form, a program needs a codec of its kind in its
    /// [`CodecRegistry`](crate::CodecRegistry). Without one the fragment is kept byte for byte, and
    /// not rendered. An engine that the fragment was set on knows the codec.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use context_core::base::{CodecError, MisfitError};
    /// use context_core::fragment::FragmentCodec;
    /// use context_core::{CodecRegistry, Encoded, Fragment};
    ///
    /// /// Stores the name of a table and renders its columns.
    /// struct Table;
    ///
    /// impl FragmentCodec for Table {
    ///     fn kind(&self) -> &str {
    ///         "table"
    ///     }
    ///
    ///     fn version(&self) -> u16 {
    ///         1
    ///     }
    ///
    ///     fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError> {
    ///         Ok(Encoded::new("table", 1, fragment.name().to_owned()))
    ///     }
    ///
    ///     fn decode(&self, stored: &Encoded) -> Result<Fragment, CodecError> {
    ///         let name = String::from_utf8_lossy(stored.bytes()).into_owned();
    ///         let columns = if name == "trips" { "id, city, day" } else { "unknown" };
    ///         Ok(Fragment::new(name, columns).with_own_codec(Arc::new(Table)))
    ///     }
    /// }
    ///
    /// let trips = Fragment::new("trips", "id, city, day").with_own_codec(Arc::new(Table));
    /// let mut codecs = CodecRegistry::default();
    /// let stored = codecs.encode(&trips)?;
    /// assert_eq!(stored.bytes().as_ref(), b"trips");
    /// codecs.register(Table); // to read it
    /// assert_eq!(codecs.decode(&stored)?, trips.persisted());
    /// # Ok::<(), CodecError>(())
    /// ```
    #[must_use]
    pub fn with_own_codec(mut self, codec: Arc<dyn FragmentCodec>) -> Self {
        self.codec = Some(AttachedCodec::Own(codec));
        self
    }

    /// Attaches the codec between the stored and the shown form of the message. Context fragments
    /// ignore it.
    #[must_use]
    pub fn with_message_codec(mut self, codec: Arc<dyn StoredMessageCodec>) -> Self {
        self.codec = Some(AttachedCodec::Message(codec));
        self
    }

    /// Sets the metadata, which is never rendered.
    #[must_use]
    pub fn with_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// Returns the name: the tag or heading of a rendered fragment, or the role of a message.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the destination of the fragment.
    pub fn kind(&self) -> FragmentKind {
        self.kind
    }

    /// Returns the content.
    pub fn content(&self) -> &FragmentContent {
        &self.content
    }

    /// Returns the data to render, if the fragment holds data.
    pub fn data(&self) -> Option<&FragmentData> {
        match &self.content {
            FragmentContent::Data(data) => Some(data),
            _ => None,
        }
    }

    /// Returns the message. Fails for a message fragment that holds plain data. `None` for a
    /// context fragment, and for a lazy message, whose position is not determined yet.
    pub fn message(&self) -> Result<Option<&Arc<Message>>, FragmentError> {
        match &self.content {
            FragmentContent::Message(message) => Ok(Some(message)),
            FragmentContent::Data(_) if self.is_message() => {
                Err(FragmentError::MissingCodec { name: self.name.to_string() })
            }
            _ => Ok(None),
        }
    }

    /// Returns the message as it is stored: encoded by the
    /// [codec of the message](Self::with_message_codec) if there is one. `None` and errors as of
    /// [`message`](Self::message).
    pub fn stored_message(&self) -> Result<Option<Arc<Message>>, FragmentError> {
        let message = self.message()?;
        match (message, &self.codec) {
            (Some(message), Some(AttachedCodec::Message(codec))) => {
                let stored = codec::encode_message(&**codec, message).map_err(|reason| {
                    FragmentError::NotEncoded {
                        name: self.name.to_string(),
                        codec: codec.name().to_owned(),
                        reason: reason.to_string(),
                    }
                })?;
                Ok(Some(Arc::new(stored)))
            }
            (message, _) => Ok(message.map(Arc::clone)),
        }
    }

    /// Returns the id, if there is one.
    pub fn id(&self) -> Option<&FragmentId> {
        self.id.as_ref()
    }

    /// Returns the kind of the codec that stores the fragment, or the name of the message's codec,
    /// if one was set.
    pub fn codec(&self) -> Option<&str> {
        self.codec.as_ref().map(AttachedCodec::kind)
    }

    /// Returns the metadata, which is never rendered.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns whether the fragment becomes a node of the message graph.
    pub fn is_message(&self) -> bool {
        self.kind == FragmentKind::Message
    }

    /// Returns whether the fragment is persisted with the chat.
    pub fn is_persisted(&self) -> bool {
        self.persist
    }

    /// Returns whether the content is marked as untrusted.
    pub fn is_untrusted(&self) -> bool {
        self.untrusted
    }

    /// Returns whether the position of the message is determined by a resolve or a save.
    pub fn is_lazy(&self) -> bool {
        matches!(self.content, FragmentContent::Lazy(_))
    }

    /// Returns whether both fragments have the same name, kind and content. Persisting a fragment
    /// without an id skips duplicates by this rule.
    pub fn same_content(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.untrusted == other.untrusted
            && self.content == other.content
    }

    fn equals_except_data(&self, other: &Self) -> bool {
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
    /// Creates a message fragment with the role as its name.
    fn from(message: Message) -> Self {
        Self::from(Arc::new(message))
    }
}

impl From<Arc<Message>> for Fragment {
    /// Creates a message fragment from a shared message.
    fn from(message: Arc<Message>) -> Self {
        let name = message.role.as_str();
        Self::from_content(name, FragmentKind::Message, FragmentContent::Message(message))
    }
}
