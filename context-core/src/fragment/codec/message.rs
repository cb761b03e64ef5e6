//! Codecs between the stored and the shown form of a message.

use crate::Message;
use crate::base::{CodecError, MisfitError};

/// Translates one kind of message between the form that is stored and the form that is shown, to a
/// model and by a resolve.
///
/// Both forms are messages of the same role, so a program without the codec reads the stored form
/// like any other message. The stored form names its codec in its metadata.
///
/// Contract with implementors: be pure. The same message yields the same result. Decode whatever
/// was encoded. Leave parts and metadata that the codec does not know as they are: a
/// reminder may be folded into the stored form.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::base::MisfitError;
/// use context_core::fragment::StoredMessageCodec;
/// use context_core::{CodecRegistry, Message, Part, user};
///
/// /// Stores the name of a price list and shows its prices.
/// struct Prices;
///
/// fn replaced(message: &Message, from: &str, to: &str) -> Message {
///     let mut changed = message.clone();
///     for part in &mut changed.parts {
///         if let Part::Text(text) = part {
///             text.text = text.text.replace(from, to).into();
///         }
///     }
///     changed
/// }
///
/// impl StoredMessageCodec for Prices {
///     fn name(&self) -> &str {
///         "prices"
///     }
///
///     fn encode(&self, shown: &Message) -> Result<Message, MisfitError> {
///         Ok(replaced(shown, "Lisbon 90, Porto 70", "{prices}"))
///     }
///
///     fn decode(&self, stored: &Message) -> Result<Message, MisfitError> {
///         Ok(replaced(stored, "{prices}", "Lisbon 90, Porto 70"))
///     }
/// }
///
/// let asked = user("Which is cheaper? Lisbon 90, Porto 70").with_message_codec(Arc::new(Prices));
/// let stored = asked.stored_message()?.ok_or("a message")?;
/// assert_eq!(stored.plain_text(), "Which is cheaper? {prices}");
///
/// let mut codecs = CodecRegistry::default();
/// codecs.register_message(Prices);
/// let shown = codecs.decode_message(&stored)?.ok_or("an encoded message")?;
/// assert_eq!(shown.plain_text(), "Which is cheaper? Lisbon 90, Porto 70");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait StoredMessageCodec: Send + Sync + 'static {
    /// Returns the name, unique in a registry.
    fn name(&self) -> &str;

    /// Encodes a message into the form that is stored.
    fn encode(&self, shown: &Message) -> Result<Message, MisfitError>;

    /// Decodes a stored message into the form that is shown.
    fn decode(&self, stored: &Message) -> Result<Message, MisfitError>;
}

/// Encodes a message and marks it with the name of the codec.
pub(in crate::fragment) fn encode(
    codec: &dyn StoredMessageCodec,
    shown: &Message,
) -> Result<Message, MisfitError> {
    let mut stored = same_role(codec.encode(shown)?, shown)?;
    stored.metadata.insert(Message::STORED_CODEC, codec.name());
    Ok(stored)
}

/// Decodes a marked message and removes the mark.
pub(super) fn decode(
    codec: &dyn StoredMessageCodec,
    stored: &Message,
) -> Result<Message, CodecError> {
    let mut bare = stored.clone();
    bare.metadata.remove(Message::STORED_CODEC);
    let shown = codec.decode(&bare).and_then(|shown| same_role(shown, stored));
    let mut shown = shown.map_err(|source| CodecError::Unsuitable {
        name: stored.role.to_string(),
        kind: codec.name().to_owned(),
        source,
    })?;
    shown.metadata.remove(Message::STORED_CODEC);
    Ok(shown)
}

fn same_role(changed: Message, message: &Message) -> Result<Message, MisfitError> {
    if changed.role == message.role && changed.is_placeholder() == message.is_placeholder() {
        return Ok(changed);
    }
    Err(MisfitError::Other("the codec changed the role, or whether there are parts".into()))
}
