//! The view of a conversation that policies get.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::{Anchors, Structure};
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
    /// The budget of the user's words, in tokens.
    words: u64,
    anchors: OnceCell<Anchors>,
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
        let (structure, anchors) = (OnceCell::new(), OnceCell::new());
        Self { messages, counter, sums, structure, words: 0, anchors }
    }

    /// Sets how many tokens of the user's own requests every plan for this view keeps unchanged:
    /// the first request, then the newest ones. The default is 0; the first and the newest request
    /// are kept anyway, but may be shortened.
    #[must_use]
    pub fn user_words(mut self, tokens: u64) -> Self {
        (self.words, self.anchors) = (tokens, OnceCell::new());
        self
    }

    /// Returns the budget of the [user's words](Self::user_words), in tokens.
    pub fn user_words_budget(&self) -> u64 {
        self.words
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

    /// Returns the messages that every plan for this view keeps, determined at the first call.
    pub fn anchors(&self) -> &Anchors {
        self.anchors.get_or_init(|| Anchors::within(self, self.words))
    }

    /// Returns the runs of messages that a cut leaves out, grouped: runs with nothing but the
    /// user's own words between them are one gap, and need one note. `is_left_out` is asked about
    /// each position.
    pub fn gaps(&self, is_left_out: impl Fn(usize) -> bool) -> Vec<Vec<Range<usize>>> {
        let (mut gaps, mut is_open) = (Vec::<Vec<Range<usize>>>::new(), false);
        for (at, message) in self.messages.iter().enumerate() {
            if !is_left_out(at) {
                is_open &= message.is_request() && self.anchors().is_verbatim(at);
                continue;
            }
            let run = at..at + 1;
            match gaps.last_mut().filter(|_| is_open) {
                None => gaps.push(Vec::from([run])),
                Some(gap) => match gap.last_mut() {
                    Some(last) if last.end == at => last.end = at + 1,
                    _ => gap.push(run),
                },
            }
            is_open = true;
        }
        gaps
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
