//! `RecordedMessage`: a message with its usage, times and link.

use std::sync::Arc;

use context_core::model::Usage;
use context_core::trajectory::{Measures, MessageLink};
use context_core::{Answer, ChatId, Message, MessageId, Timestamp};

/// A message to [record](crate::OpenRound::record), with what the message itself does not say:
/// which message of a chat it is, and for an answer, the model, the usage, the times and the cost.
///
/// A `&Message` and an `&Answer` convert into it, so both can be recorded as they are.
///
/// ```
/// use context_core::model::Usage;
/// use context_core::{Answer, Message, Role, Timestamp};
/// use context_trajectory::RecordedMessage;
///
/// let mut answer = Answer::new(Message::text(Role::Assistant, "On Madeira."));
/// answer.model = Some("claude-sonnet-4-5".into());
/// answer.usage = Some(Usage::new(120, 8));
/// let asked = Timestamp::from_micros(1_700_000_000_000_000);
/// let recorded = RecordedMessage::of_answer(&answer)
///     .link("trip", "m2")
///     .provider("anthropic")
///     .started_at(asked)
///     .cost(0.0005);
/// assert_eq!(recorded.measures.input_tokens, Some(120));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct RecordedMessage<'a> {
    /// The message.
    pub message: &'a Message,
    /// The message of a chat that its node represents.
    pub link: Option<MessageLink>,
    /// Times, tokens, cost and model. Those of a tool result describe the call.
    pub measures: Measures,
    /// The author of the nodes.
    pub author: Option<Arc<str>>,
}

impl<'a> RecordedMessage<'a> {
    /// Creates a message without anything else.
    pub fn new(message: &'a Message) -> Self {
        Self { message, link: None, measures: Measures::default(), author: None }
    }

    /// Creates the message of an answer, with its model, its usage, and the code of its error.
    pub fn of_answer(answer: &'a Answer) -> Self {
        let mut recorded = Self::new(&answer.message);
        if let Some(usage) = &answer.usage {
            recorded = recorded.usage(usage);
        }
        recorded.measures.model = answer.model.as_deref().map(Arc::from);
        recorded.measures.error = answer.error.as_ref().map(|error| error.code.as_str().into());
        recorded
    }

    /// Links the nodes to a message of a chat of the same user. An action is linked to the message
    /// with the call, and a tool result to none.
    pub fn link(mut self, chat: impl Into<ChatId>, message: impl Into<MessageId>) -> Self {
        self.link = Some(MessageLink::new(chat, message));
        self
    }

    /// Sets the provider of the model, such as `anthropic`.
    pub fn provider(mut self, provider: impl Into<Arc<str>>) -> Self {
        self.measures.provider = Some(provider.into());
        self
    }

    /// Sets the model.
    pub fn model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.measures.model = Some(model.into());
        self
    }

    /// Sets the token counts.
    pub fn usage(mut self, usage: &Usage) -> Self {
        let counted = Measures::of_usage(usage);
        self.measures.input_tokens = counted.input_tokens;
        self.measures.output_tokens = counted.output_tokens;
        self.measures.cache_read_tokens = counted.cache_read_tokens;
        self.measures.cache_write_tokens = counted.cache_write_tokens;
        self.measures.reasoning_tokens = counted.reasoning_tokens;
        self
    }

    /// Sets the cost in US dollars.
    pub fn cost(mut self, usd: f64) -> Self {
        self.measures.cost_usd = Some(usd);
        self
    }

    /// Sets the time at which the request was sent, or the tool was called.
    pub fn started_at(mut self, at: Timestamp) -> Self {
        self.measures.started_at = Some(at);
        self
    }

    /// Sets the time at which the answer or the result was complete.
    pub fn ended_at(mut self, at: Timestamp) -> Self {
        self.measures.ended_at = Some(at);
        self
    }

    /// Sets the author of the nodes.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }
}

impl<'a> From<&'a Message> for RecordedMessage<'a> {
    fn from(message: &'a Message) -> Self {
        Self::new(message)
    }
}

impl<'a> From<&'a Arc<Message>> for RecordedMessage<'a> {
    fn from(message: &'a Arc<Message>) -> Self {
        Self::new(message)
    }
}

impl<'a> From<&'a Answer> for RecordedMessage<'a> {
    fn from(answer: &'a Answer) -> Self {
        Self::of_answer(answer)
    }
}
