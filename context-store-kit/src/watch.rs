//! Watches of streams: the list that a handle of a store keeps of them, and how they are woken.
//!
//! A store wakes the watches of its own handle when it has written, and those of other handles as
//! its backend allows. A [`Topic`] names a stream, or all streams of a chat or of the store, in a
//! short text that reveals no id.

mod broadcast;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_core::base::StreamId;
use context_core::store::StreamWatch;
use context_core::{ChatRef, Error, ErrorKind, Result};
use tokio::sync::watch;

pub use broadcast::{Broadcast, ChangeNotice, Listener, SharedWatches};

/// The streams that a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// All streams of the store.
    Store,
    /// All streams of a chat, by its hash.
    Chat(u128),
    /// A stream, by the hash of its chat and its own.
    Stream(u128, u128),
}

/// The number of digits of a hash in the text of a topic.
const DIGITS: usize = 32;

impl Topic {
    /// Returns the topic of a stream.
    pub fn stream(chat: &ChatRef, id: &StreamId) -> Self {
        Self::Stream(chat_hash(chat), hash([id.as_str()]))
    }

    /// Returns the topic of all streams of a chat.
    pub fn chat(chat: &ChatRef) -> Self {
        Self::Chat(chat_hash(chat))
    }

    /// Parses the text of a topic, as `Display` writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let hash = |digits: &str| {
            let is_hash =
                digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_hash.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
        };
        match text.split_once('/') {
            None if text.is_empty() => Some(Self::Store),
            None => hash(text).map(Self::Chat),
            Some((chat, stream)) => Some(Self::Stream(hash(chat)?, hash(stream)?)),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => Ok(()),
            Self::Chat(chat) => write!(f, "{chat:0DIGITS$x}"),
            Self::Stream(chat, stream) => write!(f, "{chat:0DIGITS$x}/{stream:0DIGITS$x}"),
        }
    }
}

fn chat_hash(chat: &ChatRef) -> u128 {
    hash([chat.user.as_str(), chat.chat.as_str()])
}

fn hash<const N: usize>(names: [&str; N]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(first)
}

/// The watches of one handle of a store. Clones share them.
///
/// `M` is what the store remembers of a watched stream.
#[derive(Debug)]
pub struct Watches<M = ()>(Arc<Mutex<Watched<M>>>);

type Watched<M> = BTreeMap<(u128, u128), Entry<M>>;

#[derive(Debug)]
struct Entry<M> {
    chat: ChatRef,
    id: StreamId,
    sender: watch::Sender<()>,
    memory: M,
}

impl<M> Default for Watches<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M> Clone for Watches<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Default + Send + 'static> Watches<M> {
    /// Begins a watch. It ends when it is dropped.
    pub fn watch(&self, chat: &ChatRef, id: &StreamId) -> Box<dyn StreamWatch> {
        let key = (chat_hash(chat), hash([id.as_str()]));
        let mut watched = self.watched();
        let entry = watched.entry(key).or_insert_with(|| Entry {
            chat: chat.clone(),
            id: id.clone(),
            sender: watch::Sender::new(()),
            memory: M::default(),
        });
        let receiver = entry.sender.subscribe();
        drop(watched);
        Box::new(Watch { watches: self.clone(), key, receiver: Some(receiver) })
    }

    /// Whether nobody watches.
    pub fn is_empty(&self) -> bool {
        self.watched().is_empty()
    }

    /// Wakes the watches of a topic.
    pub fn wake(&self, topic: Topic) {
        self.wake_if(topic, |_| true);
    }

    /// Wakes the watches of a topic of which the store remembers something else than this.
    pub fn wake_unless(&self, topic: Topic, memory: &M)
    where
        M: Clone + PartialEq,
    {
        self.wake_if(topic, |known| {
            let is_new = known != memory;
            known.clone_from(memory);
            is_new
        });
    }

    fn wake_if(&self, topic: Topic, mut is_new: impl FnMut(&mut M) -> bool) {
        let mut watched = self.watched();
        let range = match topic {
            Topic::Store => (0, 0)..=(u128::MAX, u128::MAX),
            Topic::Chat(chat) => (chat, 0)..=(chat, u128::MAX),
            Topic::Stream(chat, stream) => (chat, stream)..=(chat, stream),
        };
        for (_, entry) in watched.range_mut(range) {
            if is_new(&mut entry.memory) {
                entry.sender.send_replace(());
            }
        }
    }

    /// Ends all watches with an error, because they may miss changes.
    pub fn fail(&self) {
        // A watch whose sender is gone reports an error.
        drop(std::mem::take(&mut *self.watched()));
    }

    /// Returns the watched streams.
    pub fn streams(&self) -> Vec<(ChatRef, StreamId)> {
        let watched = self.watched();
        watched.values().map(|entry| (entry.chat.clone(), entry.id.clone())).collect()
    }

    fn watched(&self) -> MutexGuard<'_, Watched<M>> {
        // The list of watches is valid even if a holder of the lock has panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch<M: Default + Send + 'static> {
    watches: Watches<M>,
    key: (u128, u128),
    /// Taken only when the watch is dropped.
    receiver: Option<watch::Receiver<()>>,
}

#[async_trait]
impl<M: Default + Send + 'static> StreamWatch for Watch<M> {
    async fn changed(&mut self) -> Result<()> {
        let changed = match &mut self.receiver {
            Some(receiver) => receiver.changed().await.is_ok(),
            None => false,
        };
        let broken = "the watch of a stream has ended, because it might miss changes";
        if changed {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Unavailable, "watch_stream", broken))
        }
    }
}

impl<M: Default + Send + 'static> Drop for Watch<M> {
    fn drop(&mut self) {
        let mut watched = self.watches.watched();
        drop(self.receiver.take());
        if let Some(entry) = watched.get(&self.key)
            && entry.sender.receiver_count() == 0
        {
            watched.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;

    fn lisbon() -> ChatRef {
        ChatRef::new("ada", "lisbon")
    }

    /// Polls a wait once. `None`: it goes on.
    fn polled(watch: &mut Box<dyn StreamWatch>) -> Option<Result<()>> {
        match pin!(watch.changed()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_watch_is_woken_by_its_stream_its_chat_and_the_store() {
        let watches = Watches::<()>::default();
        let id = StreamId::from("s");
        let mut watch = watches.watch(&lisbon(), &id);
        assert!(polled(&mut watch).is_none());
        for topic in [Topic::stream(&lisbon(), &id), Topic::chat(&lisbon()), Topic::Store] {
            watches.wake(topic);
            assert!(polled(&mut watch).is_some_and(|woken| woken.is_ok()), "{topic:?}");
            assert!(polled(&mut watch).is_none());
        }
        watches.wake(Topic::stream(&lisbon(), &"other".into()));
        watches.wake(Topic::stream(&ChatRef::new("ada", "porto"), &id));
        watches.wake(Topic::chat(&ChatRef::new("adal", "isbon")));
        assert!(polled(&mut watch).is_none());
    }

    #[test]
    fn nothing_is_left_of_a_watch_that_was_dropped() {
        let watches = Watches::<()>::default();
        let (first, second) = (watches.watch(&lisbon(), &"s".into()), watches.clone());
        let third = second.watch(&lisbon(), &"s".into());
        drop(first);
        assert_eq!(watches.streams(), [(lisbon(), "s".into())]);
        drop(third);
        assert!(watches.is_empty());
    }

    #[test]
    fn a_watch_that_may_miss_changes_is_an_error() {
        let watches = Watches::<()>::default();
        let mut old = watches.watch(&lisbon(), &"s".into());
        watches.fail();
        let mut new = watches.watch(&lisbon(), &"s".into());
        assert!(polled(&mut old).is_some_and(|woken| woken.is_err()));
        drop(old);
        watches.wake(Topic::Store);
        assert!(polled(&mut new).is_some_and(|woken| woken.is_ok()), "the new watch goes on");
    }

    #[test]
    fn a_state_that_is_known_wakes_nobody() {
        let watches = Watches::<Option<u64>>::default();
        let topic = Topic::stream(&lisbon(), &"s".into());
        let mut watch = watches.watch(&lisbon(), &"s".into());
        for (state, is_new) in [(Some(1), true), (Some(1), false), (Some(2), true), (None, true)] {
            watches.wake_unless(topic, &state);
            assert_eq!(polled(&mut watch).is_some(), is_new, "{state:?}");
        }
    }

    proptest! {
        #[test]
        fn a_topic_is_read_back(chat: u128, stream: u128) {
            for topic in [Topic::Store, Topic::Chat(chat), Topic::Stream(chat, stream)] {
                prop_assert_eq!(Topic::parse(&topic.to_string()), Some(topic));
            }
        }

        #[test]
        fn any_text_is_a_topic_or_refused(text in "[0-9a-f/+]{0,70}|.{0,70}") {
            if let Some(topic) = Topic::parse(&text) {
                prop_assert_eq!(topic.to_string(), text.to_lowercase());
            }
        }
    }
}
