//! What a policy is shown of a conversation.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::Structure;
use crate::Message;
use crate::model::TokenCounter;

/// A conversation as a policy sees it: the messages that would be sent, how many tokens each is,
/// how they belong together.
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
    /// How many tokens come before each message, and at the end all.
    sums: Vec<u64>,
    structure: OnceCell<Structure>,
}

impl<'a> HistoryView<'a> {
    /// Of these messages, counted by this. A counter that remembers makes it cheap.
    pub fn new(messages: &'a [Arc<Message>], counter: &'a dyn TokenCounter) -> Self {
        let counts = messages.iter().map(|message| counter.count_shared(message).tokens());
        Self::counted(messages, counts, counter)
    }

    /// Of these messages, each of which was counted already; what `counts` does not say is taken
    /// for nothing.
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

    /// The messages, oldest first.
    pub fn messages(&self) -> &'a [Arc<Message>] {
        self.messages
    }

    /// How many tokens one message is; 0 where there is none.
    pub fn tokens(&self, position: usize) -> u64 {
        self.tokens_of(position..position.saturating_add(1))
    }

    /// How many tokens these messages are.
    pub fn tokens_of(&self, range: Range<usize>) -> u64 {
        let sum = |position: usize| self.sums[position.min(self.messages.len())];
        sum(range.end).saturating_sub(sum(range.start))
    }

    /// How many tokens all are.
    pub fn total(&self) -> u64 {
        self.tokens_of(0..self.messages.len())
    }

    /// How they belong together; found out when it is first asked for.
    pub fn structure(&self) -> &Structure {
        self.structure.get_or_init(|| Structure::of(self.messages))
    }

    /// What counts the tokens.
    pub fn counter(&self) -> &'a dyn TokenCounter {
        self.counter
    }

    /// How many tokens a new message would be.
    pub fn count(&self, message: &Message) -> u64 {
        self.counter.count_message(message).tokens()
    }

    /// The same of one that a plan holds. A counter that remembers knows it again when the plan is
    /// made, and when it is carried out.
    pub fn count_shared(&self, message: &Arc<Message>) -> u64 {
        self.counter.count_shared(message).tokens()
    }

    /// How many tokens a text is.
    pub fn count_text(&self, text: &str) -> u64 {
        self.counter.count(text).tokens()
    }
}
