//! The origin of a message, and of a text in it.

use std::borrow::Cow;

use serde_json::Value;

use super::{Message, Text};
use crate::{Json, Metadata, Part};

/// The metadata key of the mark that a compaction must not touch the message.
const PINNED: &str = "pinned";

/// The origin of a message: the participant that its role names, or a program.
///
/// The metadata of the message hold it, under a key for each origin. The value is `true` or a
/// record, such as the number of messages that a gap stands for.
///
/// ```
/// use context_core::Message;
/// use context_core::message::Origin;
///
/// let gap = Message::from("[2 messages were left out]").with_origin_record(Origin::Gap, 2_i64);
/// assert_eq!(gap.origin(), Origin::Gap);
/// assert!(gap.is_synthetic() && !gap.is_request());
/// assert_eq!(Message::from("Hello.").origin(), Origin::Author);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The participant that the role names.
    #[default]
    Author,
    /// The same participant, in another chat, such as the beginning of a fork. Memories have
    /// captured such a message already.
    CarriedOver,
    /// A program, such as a reminder between two steps of the model. With the user's role, such a
    /// message is not a turn of the conversation.
    Synthetic,
    /// A program: the message is a summary that stands for earlier ones.
    Checkpoint,
    /// A program: the message states that others were left out at its position.
    Gap,
    /// A program: the message holds recalled memories. It is never part of a history. A
    /// [text](Text::is_recalled) within a message of another origin may have this origin too.
    Recall,
}

impl Origin {
    /// The key of all messages that a program wrote.
    const SYNTHETIC: &'static str = "synthetic";

    /// Returns whether a program wrote the message.
    pub fn is_synthetic(self) -> bool {
        !matches!(self, Self::Author | Self::CarriedOver)
    }

    /// Returns the metadata key that holds the record of the origin. An author needs none.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::Author => None,
            Self::CarriedOver => Some("carried_over"),
            Self::Synthetic => Some(Self::SYNTHETIC),
            Self::Checkpoint => Some("checkpoint"),
            Self::Gap => Some("gap"),
            Self::Recall => Some("recall"),
        }
    }

    /// Returns whether a stored form may hold an origin. `false` if it has none of the keys.
    pub(crate) fn may_be_in(body: &[u8]) -> bool {
        const ALL: [Origin; 5] = [
            Origin::Synthetic,
            Origin::CarriedOver,
            Origin::Checkpoint,
            Origin::Gap,
            Origin::Recall,
        ];
        // Another program may have written the letters of a key as escapes.
        std::str::from_utf8(body).is_ok_and(|body| {
            let has = |origin: Origin| origin.key().is_some_and(|key| body.contains(key));
            body.contains("\\u") || ALL.into_iter().any(has)
        })
    }

    /// Returns the origin that metadata hold.
    pub fn of(metadata: &Metadata) -> Self {
        if metadata.is_empty() {
            return Self::Author;
        }
        let has = |origin: Self| origin.key().is_some_and(|key| metadata.get(key).is_some());
        let is = |origin: &Self| match origin {
            // A program's own metadata may have this key too.
            Self::Recall => has(Self::Recall) && has(Self::Synthetic),
            origin => has(*origin),
        };
        [Self::Checkpoint, Self::Gap, Self::Recall, Self::Synthetic, Self::CarriedOver]
            .into_iter()
            .find(is)
            .unwrap_or_default()
    }

    /// Returns metadata with the origin alone.
    pub fn to_metadata(self) -> Metadata {
        let mut metadata = Metadata::default();
        self.insert(&mut metadata, Value::Bool(true).into());
        metadata
    }

    fn insert(self, metadata: &mut Metadata, record: Json) {
        if self.is_synthetic() && self != Self::Synthetic {
            metadata.insert(Self::SYNTHETIC, Value::Bool(true));
        }
        if let Some(key) = self.key() {
            metadata.insert(key, record);
        }
    }
}

impl Text {
    /// Returns whether a program put recalled memories here, for the model only.
    ///
    /// ```
    /// use context_core::message::{Origin, Text};
    /// use context_core::{Message, Part, Role};
    ///
    /// let recalled = Text { text: "Ada likes trains.".into(), metadata: Origin::Recall.to_metadata() };
    /// assert!(recalled.is_recalled());
    /// let shown = Message::new(Role::User, [Part::text("A trip, please."), Part::Text(recalled)]);
    /// assert_eq!(*shown.without_recall(), Message::from("A trip, please."));
    /// ```
    pub fn is_recalled(&self) -> bool {
        Origin::of(&self.metadata) == Origin::Recall
    }
}

impl Message {
    /// Returns the message without the [recalled](Text::is_recalled) texts that a program put
    /// beside its author's parts. Borrowed if there are none.
    pub fn without_recall(&self) -> Cow<'_, Self> {
        let is_recalled = |part: &Part| matches!(part, Part::Text(text) if text.is_recalled());
        if !self.parts.iter().any(is_recalled) {
            return Cow::Borrowed(self);
        }
        let mut message = self.clone();
        message.parts.retain(|part| !is_recalled(part));
        Cow::Owned(message)
    }

    /// Returns the origin of the message.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.metadata)
    }

    /// Returns whether a program wrote the message. See [`Origin`].
    pub fn is_synthetic(&self) -> bool {
        self.origin().is_synthetic()
    }

    /// Returns whether the message is a checkpoint, which stands for earlier messages.
    pub fn is_checkpoint(&self) -> bool {
        self.origin() == Origin::Checkpoint
    }

    /// Returns whether the message states that others were left out at its position.
    pub fn is_gap(&self) -> bool {
        self.origin() == Origin::Gap
    }

    /// Sets the origin, without a record. [`Origin::Author`] changes nothing.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        self.with_origin_record(origin, Value::Bool(true))
    }

    /// Sets the origin and its record. [`Origin::Author`] changes nothing.
    #[must_use]
    pub fn with_origin_record(mut self, origin: Origin, record: impl Into<Json>) -> Self {
        origin.insert(&mut self.metadata, record.into());
        self
    }

    /// Pins the message: no compaction removes or changes it, nor the step that it belongs to. The
    /// metadata hold the mark, under `pinned`.
    ///
    /// ```
    /// use context_core::Message;
    ///
    /// let rule = Message::from("Never book flights before nine.").pinned();
    /// assert!(rule.is_pinned() && !rule.unpinned().is_pinned());
    /// ```
    #[must_use]
    pub fn pinned(mut self) -> Self {
        self.metadata.insert(PINNED, Value::Bool(true));
        self
    }

    /// Removes the pin.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.metadata.remove(PINNED);
        self
    }

    /// Returns whether the message is pinned. Messages that a compaction wrote, such as a
    /// checkpoint, never are.
    pub fn is_pinned(&self) -> bool {
        self.metadata.get(PINNED).is_some_and(|mark| mark.as_str() == "true")
            && !matches!(self.origin(), Origin::Checkpoint | Origin::Gap | Origin::Recall)
    }

    /// Returns the record of the origin: `true`, or the value that the author of the message set.
    pub fn origin_record(&self) -> Option<&Json> {
        self.metadata.get(self.origin().key()?)
    }
}
