//! The view of a conversation that policies get.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::Structure;
use crate::Message;
use crate::model::TokenCounter;

/// The messages that would be sent, with their token counts and their structure.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, Role};
/// use context_core::history::HistoryView;
/// use context_core::model::{TokenCount, TokenCounter};
///
/// #[derive(Debug)]
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn name(&self) -> &str {
///         "bytes"
///     }
///
///     fn count(&self, text: &str) -> TokenCount {
///         TokenCount::exact(text.len() as u64)
///     }
/// }
///
/// let history = [Message::from("A train?"), Message::text(Role::Assistant, "At 10:05.")].map(Arc::new);
/// let view = HistoryView::new(&history, &Bytes);
/// assert_eq!((view.tokens(0), view.total()), (8, 17));
/// assert_eq!(view.structure().requests, [0]);
/// ```
#[derive(Debug)]
pub struct HistoryView<'a> {
    messages: &'a [Arc<Message>],
    counter: &'a dyn TokenCounter,
    /// Tokens before each message, followed by the total.
    sums: Vec<u64>,
    structure: OnceCell<Structure>,
}

impl<'a> HistoryView<'a> {
    /// Creates a view and counts the messages. A caching counter makes this cheap.
    pub fn new(messages: &'a [Arc<Message>], counter: &'a dyn TokenCounter) -> Self {
        let counts = messages.iter().map(|message| counter.count_shared(message).tokens());
        Self::counted(messages, counts, counter)
    }

    /// Creates a view of messages that were counted before. Missing counts are taken as 0.
    pub fn counted(
        messages: &'a [Arc<Message>],
        counts: impl IntoIterator<Item = u64>,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        let mut sums = Vec::with_capacity(messages.len() + 1);
        let mut sum = 0_u64;
        sums.push(0);
        let mut counts = counts.into_iter();
        for _ in messages {
            sum = sum.saturating_add(counts.next().unwrap_or(0));
            sums.push(sum);
        }
        Self { messages, counter, sums, structure: OnceCell::new() }
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &'a [Arc<Message>] {
        self.messages
    }

    /// Returns the tokens of one message. 0 if the position is out of range.
    pub fn tokens(&self, position: usize) -> u64 {
        self.tokens_of(position..position.saturating_add(1))
    }

    /// Returns the tokens of a range of messages.
    pub fn tokens_of(&self, range: Range<usize>) -> u64 {
        let sum = |position: usize| self.sums[position.min(self.messages.len())];
        sum(range.end).saturating_sub(sum(range.start))
    }

    /// Returns the tokens of all messages.
    pub fn total(&self) -> u64 {
        self.tokens_of(0..self.messages.len())
    }

    /// Returns the structure, which is determined at the first call.
    pub fn structure(&self) -> &Structure {
        self.structure.get_or_init(|| Structure::of(self.messages))
    }

    /// Returns the token counter.
    pub fn counter(&self) -> &'a dyn TokenCounter {
        self.counter
    }

    /// Returns the tokens of a new message.
    pub fn count(&self, message: &Message) -> u64 {
        self.counter.count_message(message).tokens()
    }

    /// Returns the tokens of a shared message. A caching counter recognizes the message again when
    /// the plan is made and when it is applied.
    pub fn count_shared(&self, message: &Arc<Message>) -> u64 {
        self.counter.count_shared(message).tokens()
    }

    /// Returns the tokens of a text.
    pub fn count_text(&self, text: &str) -> u64 {
        self.counter.count(text).tokens()
    }
}
