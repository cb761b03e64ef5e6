//! The place of recalled memories in a request.

use std::sync::Arc;

use context_core::message::{Origin, Text};
use context_core::{Message, Messages, Part};

/// The place of recalled memories in the requests of a turn. The stored history never has them: a
/// runtime puts them into the prepared request only, and into all requests of the turn in the same
/// place.
///
/// The next turn has other memories, so a provider's prompt cache ends where they stand. The table
/// has the share of the input tokens that the simulated providers read from their caches: eight
/// turns of four calls with tools, 500 tokens of memories that change with each turn.
///
/// | place | roles alternate | not in the cache of the next turn | Anthropic | Gemini | Chat Completions | Responses |
/// |---|---|---|---|---|---|---|
/// | nothing recalled | yes | | 94 % | 94 % | 93 % | 93 % |
/// | `InRequest` | yes | the turn from its question on | 89 % | 89 % | 88 % | 88 % |
/// | `AfterRequest` | no | the turn behind its question | 87 % | 89 % | 88 % | 88 % |
/// | `BeforeRequest` | no | the turn from its question on | 89 % | 89 % | 88 % | 88 % |
/// | `System` | yes | the whole history | 76 % | 76 % | 75 % | 72 % |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecallPlace {
    /// Within the newest request of the user, as its last part. User and assistant alternate as in
    /// the history, which the chat templates of some local models demand.
    #[default]
    InRequest,
    /// In a message of the user behind the newest request. The model reads the question first, and
    /// two messages of the user follow each other.
    AfterRequest,
    /// In a message of the user in front of the newest request. The question is the last text that
    /// the model reads, and two messages of the user follow each other.
    BeforeRequest,
    /// At the end of the system prompt. Every new recall changes what precedes the whole history,
    /// which [`Prefix::intact`](context_core::runtime::Prefix::intact) does not report. For models
    /// that follow only a system prompt, and for short chats.
    System,
}

impl RecallPlace {
    /// Returns how many leading messages precede the recall, by the position of the request. They
    /// are the same with and without it.
    pub(super) fn stable(self, request: usize) -> usize {
        match self {
            Self::AfterRequest => request + 1,
            Self::InRequest | Self::BeforeRequest => request,
            Self::System => 0,
        }
    }

    /// Whether the recall is a message of its own.
    pub(super) fn is_message(self) -> bool {
        matches!(self, Self::AfterRequest | Self::BeforeRequest)
    }

    /// Adds a recall to a request whose newest user request has this position. Returns the position
    /// of the recall if it is a message of its own.
    pub(super) fn add(
        self,
        recall: &Arc<Message>,
        request: usize,
        messages: &mut Messages,
        system: &mut Vec<Text>,
    ) -> Option<usize> {
        if self.is_message() {
            let at = self.stable(request);
            messages.insert(at, Arc::clone(recall));
            return Some(at);
        }
        let text = recall.plain_text().into_owned();
        let text = Text { text: text.into(), metadata: Origin::Recall.to_metadata() };
        if self == Self::System {
            system.push(text);
        } else if let Some(asked) = messages.get(request) {
            let mut with_recall = Message::clone(asked);
            with_recall.parts.push(Part::Text(text));
            messages.replace(request, Arc::new(with_recall));
        }
        None
    }
}
