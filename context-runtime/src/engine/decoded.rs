//! The shown forms of stored messages that a codec encoded.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Chain, CodecRegistry, Diagnostic, Message, MessageId, Node};

/// The metadata key of positions of reminders, which do not fit another text.
const REMINDERS: &str = "reminders";

/// Decoded messages, each with the stored node it was decoded from, so that a message is decoded
/// once.
#[derive(Default)]
pub(super) struct DecodedMessages(HashMap<MessageId, Decoded>);

struct Decoded {
    stored: Arc<Node>,
    /// The shown form, or the reason that there is none.
    shown: Result<Arc<Node>, Diagnostic>,
}

impl DecodedMessages {
    /// Returns the chain with the shown form of each encoded message.
    pub(super) fn decode_chain(&mut self, mut stored: Chain, codecs: &CodecRegistry) -> Chain {
        let encoded = stored.iter().enumerate().filter(|(_, node)| node.is_encoded());
        let encoded: Vec<_> = encoded.map(|(at, node)| (at, Arc::clone(node))).collect();
        self.0.retain(|id, _| encoded.iter().any(|(_, node)| node.id == *id));
        for (position, node) in encoded {
            stored.replace(position, self.decode(&node, codecs));
        }
        stored
    }

    /// Returns the shown form of a message.
    pub(super) fn decode(&mut self, stored: &Arc<Node>, codecs: &CodecRegistry) -> Arc<Node> {
        if !stored.is_encoded() {
            return Arc::clone(stored);
        }
        let known = self.0.get(&stored.id).filter(|known| known.stored == *stored);
        let shown = match known {
            Some(known) => known.shown.clone(),
            None => {
                let shown = decoded(stored, codecs);
                let decoded = Decoded { stored: Arc::clone(stored), shown: shown.clone() };
                self.0.insert(stored.id.clone(), decoded);
                shown
            }
        };
        shown.unwrap_or_else(|_| Arc::clone(stored))
    }

    /// Returns diagnostics for the messages that are shown as they are stored.
    pub(super) fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.0.values().filter_map(|decoded| decoded.shown.clone().err())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn decoded(stored: &Arc<Node>, codecs: &CodecRegistry) -> Result<Arc<Node>, Diagnostic> {
    let message = stored.message().and_then(|message| codecs.decode_message(message));
    match message {
        Ok(None) => Ok(Arc::clone(stored)),
        Ok(Some(message)) => {
            let mut shown = Node::new(stored.id.clone(), without_marks(message), stored.created_at);
            shown.revision = stored.revision;
            Ok(Arc::new(shown))
        }
        Err(error) => Err(Diagnostic::new(
            DiagnosticCode::MessageNotDecoded,
            Severity::Warning,
            format!("message {}", stored.id),
            format!("{error}; shown as it is stored"),
        )),
    }
}

/// Removes the positions of reminders, which were those in the stored text.
fn without_marks(mut message: Message) -> Message {
    message.metadata.remove(REMINDERS);
    message
}
