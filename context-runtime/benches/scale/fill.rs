//! Chats of equal length, written in commits of whole chats.

use std::sync::Arc;
use std::time::Instant;

use context_runtime::store::{Commit, CommitOutcome, Durability, NewChat, Node, Target};
use context_runtime::{ChatRef, Message, Role, Store, Timestamp};
use futures_util::{StreamExt, stream};

use crate::data;

/// The number of different texts.
const TEXTS: usize = 4_096;
/// The name of the server's program.
pub(crate) const SERVER: Option<&str> = Some("postgres");

/// A store, and how far it is filled.
pub(crate) struct Filling {
    pub(crate) store: Arc<dyn Store>,
    texts: Arc<[String]>,
    /// The messages of a chat.
    length: usize,
    /// The chats of a user.
    of_user: usize,
    /// The chats that there are.
    pub(crate) chats: usize,
}

/// The messages of a step of the filling, and the time it took.
pub(crate) struct Filled {
    pub(crate) messages: usize,
    pub(crate) seconds: f64,
}

impl Filling {
    /// Returns an empty store that is going to have this many messages of this many users.
    pub(crate) fn new(store: Arc<dyn Store>, length: usize, users: usize, last: usize) -> Self {
        let of_user = last.div_ceil(length).div_ceil(users).max(1);
        let texts = (0..TEXTS).map(data::text).collect();
        Self { store, texts, length, of_user, chats: 0 }
    }

    /// Returns the name of a chat.
    pub(crate) fn chat(&self, number: usize) -> ChatRef {
        ChatRef::new(format!("user-{}", number / self.of_user), format!("chat-{number}"))
    }

    /// Returns a text of the filling.
    pub(crate) fn text(&self, number: usize) -> &str {
        &self.texts[number % TEXTS]
    }

    /// Returns how many messages there are, without those of measured turns.
    pub(crate) fn messages(&self) -> usize {
        self.chats * self.length
    }

    /// Adds chats until there are this many messages.
    pub(crate) async fn fill_up_to(&mut self, messages: usize, tasks: usize) -> Filled {
        let (begun, from, to) = (Instant::now(), self.chats, messages.div_ceil(self.length));
        let this = &*self;
        stream::iter(from..to)
            .map(|number| tokio::spawn(write(Arc::clone(&this.store), this.commit(number))))
            .buffer_unordered(tasks)
            .for_each(|written| async { written.unwrap() })
            .await;
        self.chats = self.chats.max(to);
        let messages = (self.chats - from) * self.length;
        Filled { messages, seconds: begun.elapsed().as_secs_f64() }
    }

    /// Returns the commit of all messages of a chat. It does not wait for the server's log: what is
    /// measured comes later.
    fn commit(&self, chat: usize) -> Commit {
        let node = |i: usize| {
            let role = if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
            let number = chat * self.length + i;
            let at = Timestamp::from_micros(number as i64);
            Arc::new(Node::new(data::id(number), Message::text(role, self.text(number)), at))
        };
        let target = Target::Extend { branch: "main".into(), expected: None };
        let at = Timestamp::from_micros((chat * self.length) as i64);
        let commit = Commit::new(self.chat(chat), target, at);
        let nodes = (0..self.length).map(node).collect();
        Commit { nodes, durability: Some(Durability::Process), ..commit }
    }
}

async fn write(store: Arc<dyn Store>, commit: Commit) {
    let chat = NewChat::new(commit.chat.clone(), Timestamp::from_micros(1));
    let _created = store.history().create_chat(chat).await.unwrap();
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)));
}
