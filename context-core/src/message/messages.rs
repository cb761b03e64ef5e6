//! Conversations: messages in order, shared and cheap to extend.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Bound, Deref, Range, RangeBounds};
use std::sync::{Arc, OnceLock};

use super::runs::{RUN, Run, Runs, SharedBlock};
use crate::Message;

/// Some neighbouring messages of a conversation.
pub(crate) type MessageRun = Arc<Vec<Arc<Message>>>;

impl Run for MessageRun {
    type Image = ();

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

/// The messages of a conversation, oldest first.
///
/// A clone increments a reference count, and a change copies a few hundred pointers at most,
/// however long the conversation is. So a loop keeps one conversation, adds what is new, and hands
/// out clones.
///
/// Code that needs all messages as a slice dereferences the conversation. The slice is gathered on
/// first use, which takes time for each message, and kept until the conversation changes. The
/// methods below gather nothing.
///
/// ```
/// use context_core::{Message, Messages, Role};
///
/// let mut talk = Messages::from(["Two tickets to Lisbon."].map(Message::from));
/// let asked = talk.clone(); // shares the messages
/// talk.push(Message::text(Role::Assistant, "Window or aisle?").into());
/// assert_eq!((asked.len(), talk.len()), (1, 2));
/// assert_eq!(talk.last().map(|message| message.role), Some(Role::Assistant));
/// ```
#[derive(Clone, Default)]
pub struct Messages {
    runs: Runs<MessageRun>,
    slice: OnceLock<Arc<[Arc<Message>]>>,
}

impl Messages {
    /// Creates an empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn of(runs: Runs<MessageRun>) -> Self {
        Self { runs, slice: OnceLock::new() }
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the message at a position.
    pub fn get(&self, position: usize) -> Option<&Arc<Message>> {
        let (start, run) = self.runs.at(position)?;
        run.get(position - start)
    }

    /// Returns the oldest message.
    pub fn first(&self) -> Option<&Arc<Message>> {
        self.get(0)
    }

    /// Returns the newest message.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.runs.last()?.last()
    }

    /// Returns an iterator over the messages, oldest first.
    pub fn iter(&self) -> MessageIter<'_> {
        self.range(..)
    }

    /// Returns an iterator over the messages at these positions. Positions past the end have none.
    pub fn range(&self, positions: impl RangeBounds<usize>) -> MessageIter<'_> {
        let start = match positions.start_bound() {
            Bound::Included(at) => *at,
            Bound::Excluded(at) => at.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match positions.end_bound() {
            Bound::Included(at) => at.saturating_add(1),
            Bound::Excluded(at) => *at,
            Bound::Unbounded => self.len(),
        };
        let end = end.min(self.len());
        MessageIter { messages: self, left: start.min(end)..end, front: &[], back: &[] }
    }

    /// Returns the blocks of runs that conversations share with those they were made from.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &SharedBlock<MessageRun>> {
        self.runs.blocks()
    }

    /// Appends a message.
    pub fn push(&mut self, message: Arc<Message>) {
        self.slice = OnceLock::new();
        match self.runs.last() {
            Some(last) if last.len() < RUN => {
                self.runs.change_last(|run| match Arc::get_mut(run) {
                    Some(run) => run.push(message),
                    None => {
                        let mut longer = Vec::with_capacity(RUN);
                        longer.extend(run.iter().cloned());
                        longer.push(message);
                        *run = Arc::new(longer);
                    }
                });
            }
            _ => self.runs.push(Arc::new(vec![message])),
        }
    }

    /// Removes the newest message and returns it.
    pub fn pop(&mut self) -> Option<Arc<Message>> {
        let last = self.last().cloned()?;
        *self = self.prefix(self.len() - 1);
        Some(last)
    }

    /// Replaces the message at a position. A position past the end is ignored.
    pub fn replace(&mut self, position: usize, message: Arc<Message>) {
        if position >= self.len() {
            return;
        }
        self.slice = OnceLock::new();
        self.runs.change(position, |within, run| {
            let mut run = run.to_vec();
            run[within] = message;
            Arc::new(run)
        });
    }

    /// Inserts a message before the one at a position, or at the end. Messages behind it are copied
    /// into new runs.
    pub fn insert(&mut self, position: usize, message: Arc<Message>) {
        let mut longer = self.prefix(position);
        longer.push(message);
        longer.extend(self.range(position..).cloned());
        *self = longer;
    }

    /// Returns the first `len` messages.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        Self::of(self.runs.prefix(len, |run, len| Arc::new(run[..len].to_vec())))
    }
}

impl Deref for Messages {
    type Target = [Arc<Message>];

    /// Returns all messages as a slice, which is gathered on first use.
    fn deref(&self) -> &[Arc<Message>] {
        self.slice.get_or_init(|| self.iter().cloned().collect())
    }
}

impl From<Vec<Arc<Message>>> for Messages {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        messages.into_iter().collect()
    }
}

impl From<Messages> for Vec<Arc<Message>> {
    fn from(messages: Messages) -> Self {
        messages.iter().cloned().collect()
    }
}

impl From<&[Arc<Message>]> for Messages {
    fn from(messages: &[Arc<Message>]) -> Self {
        messages.iter().cloned().collect()
    }
}

impl<M: Into<Arc<Message>>, const N: usize> From<[M; N]> for Messages {
    fn from(messages: [M; N]) -> Self {
        messages.into_iter().map(Into::into).collect()
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut messages = messages.into_iter();
        let run = || Some(messages.by_ref().take(RUN).collect::<Vec<_>>());
        let runs = std::iter::from_fn(run).take_while(|run| !run.is_empty());
        Self::of(runs.map(Arc::new).collect())
    }
}

impl Extend<Arc<Message>> for Messages {
    fn extend<I: IntoIterator<Item = Arc<Message>>>(&mut self, messages: I) {
        let mut messages = messages.into_iter();
        let room = self.runs.last().map_or(0, |last| RUN.saturating_sub(last.len()));
        messages.by_ref().take(room).for_each(|message| self.push(message));
        let more: Self = messages.collect();
        if !more.is_empty() {
            self.slice = OnceLock::new();
            more.runs.iter().for_each(|run| self.runs.push(Arc::clone(run)));
        }
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: AsRef<[Arc<Message>]> + ?Sized> PartialEq<T> for Messages {
    fn eq(&self, other: &T) -> bool {
        self.iter().eq(other.as_ref())
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Arc<Message>;
    type IntoIter = MessageIter<'a>;

    fn into_iter(self) -> MessageIter<'a> {
        self.iter()
    }
}

impl IntoIterator for Messages {
    type Item = Arc<Message>;
    type IntoIter = std::vec::IntoIter<Arc<Message>>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

/// The messages of a conversation, in order.
#[derive(Clone)]
pub struct MessageIter<'a> {
    messages: &'a Messages,
    /// The positions that are left.
    left: Range<usize>,
    /// Messages from the first position on. Empty if they have to be looked up.
    front: &'a [Arc<Message>],
    /// Messages up to the last position.
    back: &'a [Arc<Message>],
}

impl<'a> Iterator for MessageIter<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        if self.front.is_empty() {
            let (start, run) = self.messages.runs.at(self.left.start)?;
            self.front = &run[self.left.start - start..];
        }
        let (first, rest) = self.front.split_first()?;
        self.front = rest;
        self.left.start += 1;
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.left.start = self.left.start.saturating_add(n).min(self.left.end);
        self.front = self.front.get(n..).unwrap_or_default();
        self.next()
    }
}

impl DoubleEndedIterator for MessageIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        if self.back.is_empty() {
            let (start, run) = self.messages.runs.at(self.left.end - 1)?;
            self.back = &run[..self.left.end - start];
        }
        let (last, rest) = self.back.split_last()?;
        self.back = rest;
        self.left.end -= 1;
        Some(last)
    }
}

impl ExactSizeIterator for MessageIter<'_> {}

impl FusedIterator for MessageIter<'_> {}

impl fmt::Debug for MessageIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(n: usize) -> Arc<Message> {
        Arc::new(Message::from(format!("text {n}")))
    }

    /// A change of a conversation, at a position.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Push,
        Extend(usize),
        Replace(usize),
        Insert(usize),
        Cut(usize),
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            4 => Just(Change::Push),
            2 => (0usize..5_000).prop_map(Change::Extend),
            1 => (0usize..5_000).prop_map(Change::Replace),
            1 => (0usize..5_000).prop_map(Change::Insert),
            1 => (0usize..9_000).prop_map(Change::Cut),
        ];
        proptest::collection::vec(change, 0..20)
    }

    proptest! {
        #[test]
        fn behaves_like_a_list(changes in changes(), skipped in 0usize..6_000) {
            let (mut messages, mut list) = (Messages::new(), Vec::new());
            let (mut next, mut kept) = (0, Vec::new());
            for change in changes {
                kept.push((messages.clone(), list.clone()));
                let new: Vec<_> = (next..next + 1).map(message).collect();
                next += 1;
                let [one] = [Arc::clone(&new[0])];
                match change {
                    Change::Push => {
                        messages.push(Arc::clone(&one));
                        list.push(one);
                    }
                    Change::Extend(by) => {
                        let more: Vec<_> = (0..by).map(|_| Arc::clone(&one)).collect();
                        messages.extend(more.iter().cloned());
                        list.extend(more);
                    }
                    Change::Replace(at) => {
                        messages.replace(at, Arc::clone(&one));
                        if let Some(place) = list.get_mut(at) {
                            *place = one;
                        }
                    }
                    Change::Insert(at) => {
                        messages.insert(at, Arc::clone(&one));
                        list.insert(at.min(list.len()), one);
                    }
                    Change::Cut(len) => {
                        messages = messages.prefix(len);
                        list.truncate(len);
                    }
                }
            }
            kept.push((messages, list));
            for (messages, list) in kept {
                prop_assert_eq!(messages.len(), list.len());
                let same = |(a, b): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b);
                prop_assert!(messages.iter().zip(&list).all(same));
                prop_assert!(messages.iter().rev().zip(list.iter().rev()).all(same));
                prop_assert!(messages.range(skipped..).eq(list.iter().skip(skipped)));
                prop_assert!(messages.iter().skip(skipped).eq(list.iter().skip(skipped)));
                prop_assert_eq!(messages.get(skipped), list.get(skipped));
                prop_assert_eq!(messages.last(), list.last());
                prop_assert_eq!(&*messages, list.as_slice());
            }
        }

        #[test]
        fn an_iterator_ends_where_its_ends_meet(len in 0usize..200, front in 0usize..200) {
            let messages: Messages = (0..len).map(message).collect();
            let mut left = messages.iter();
            let mut seen = left.by_ref().take(front).count();
            seen += left.by_ref().rev().count();
            prop_assert_eq!((seen, left.len(), left.next()), (len, 0, None));
        }
    }

    #[test]
    fn a_longer_conversation_shares_the_runs_of_the_one_it_was_made_from() {
        let short: Messages = (0..1_000).map(message).collect();
        let mut long = short.clone();
        long.push(message(1_000));
        let shared =
            short.runs.iter().zip(long.runs.iter()).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert_eq!((shared, short.runs.iter().count()), (15, 16));
    }
}
