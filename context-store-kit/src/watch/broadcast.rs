//! Watches of a store on a server: a handle wakes its own watches, and tells the other handles
//! through the server.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use context_core::base::StreamId;
use context_core::store::StreamWatch;
use context_core::{ChatRef, Result};
use tokio::runtime::Handle;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Topic, Watches};

/// The pause after changes were told. Further changes are told together after it.
const TELL_PAUSE: Duration = Duration::from_millis(2);
/// The number of times that changes are told to a server that fails, with doubling pauses.
const TELL_TRIES: u32 = 8;
/// The longest wait for a message to oneself on a new connection.
const ECHO_WAIT: Duration = Duration::from_secs(1);
/// The interval at which an idle connection is checked. One that nobody needs is closed then.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The topic of a message to oneself. No text of a [`Topic`] is equal to it.
const ECHO: &str = "echo";

/// The messages that the handles of a store send to each other through its server.
#[async_trait]
pub trait Broadcast: Send + Sync + 'static {
    /// Opens a connection that hears everything said from now on. Returns `None` if this server
    /// does not allow it.
    async fn listen(&self) -> Result<Option<Box<dyn Listener>>>;

    /// Sends texts, of ASCII and up to 100 bytes each, to all who listen.
    async fn say(&self, texts: Vec<String>) -> Result<()>;
}

/// A connection that hears a [`Broadcast`].
#[async_trait]
pub trait Listener: Send {
    /// Returns the next text, or `None` if one may have been missed.
    async fn next(&mut self) -> Option<String>;
}

/// The watches of a handle whose writers may be in other processes.
///
/// Nobody listens while nobody watches. A new connection proves first that it hears: some poolers
/// accept the command to listen and deliver nothing.
pub struct SharedWatches<B>(Arc<Shared<B>>);

struct Shared<B> {
    broadcast: B,
    /// The name of this handle in its messages.
    name: String,
    watches: Watches,
    listening: AsyncMutex<Listening>,
    untold: Mutex<Untold>,
}

enum Listening {
    No,
    Yes(JoinHandle<()>),
    /// The server does not allow it, or the handle was closed.
    Never,
}

/// Changes that the other handles have not been told of.
#[derive(Default)]
struct Untold {
    topics: BTreeSet<Topic>,
    task: Option<JoinHandle<()>>,
}

impl<B> fmt::Debug for SharedWatches<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWatches").field("watches", &self.0.watches).finish_non_exhaustive()
    }
}

impl<B> Drop for SharedWatches<B> {
    /// Closes the connection that listens, and ends all watches. What was not told yet is still
    /// told.
    fn drop(&mut self) {
        if let Ok(listening) = self.0.listening.try_lock()
            && let Listening::Yes(task) = &*listening
        {
            task.abort();
        }
        self.0.watches.fail();
    }
}

impl<B: Broadcast> SharedWatches<B> {
    /// Creates the watches of a handle.
    pub fn new(broadcast: B) -> Self {
        Self(Arc::new(Shared {
            broadcast,
            name: format!("{:016x}", RandomState::new().build_hasher().finish()),
            watches: Watches::default(),
            listening: AsyncMutex::new(Listening::No),
            untold: Mutex::default(),
        }))
    }

    /// Begins to watch a stream. Returns `None` if the server does not allow it.
    pub async fn watch(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<Option<Box<dyn StreamWatch>>> {
        let Ok(runtime) = Handle::try_current() else { return Ok(None) };
        let mut listening = self.0.listening.lock().await;
        let begins = match &*listening {
            Listening::Yes(task) => task.is_finished(),
            Listening::No => true,
            Listening::Never => return Ok(None),
        };
        if begins {
            let Some(listener) = self.0.listen().await? else {
                *listening = Listening::Never;
                return Ok(None);
            };
            let task = Shared::hear(Arc::downgrade(&self.0), self.0.watches.clone(), listener);
            *listening = Listening::Yes(runtime.spawn(task));
        }
        // The task that hears does not end, or fail its watches, without the lock.
        Ok(Some(self.0.watches.watch(chat, id)))
    }

    /// Returns a value that tells of a change when it is dropped: this handle at once, the others
    /// from a background task. It is made before the change, so that a call whose future is dropped
    /// tells of what it may have done.
    pub fn change(&self, topic: Topic) -> ChangeNotice<'_, B> {
        ChangeNotice { watches: self, topic }
    }

    /// Tells what is still untold, and ends all watches.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.0.listening.lock().await, Listening::Never);
        if let Listening::Yes(task) = before {
            task.abort();
        }
        self.0.watches.fail();
        let topics = std::mem::take(&mut self.0.untold().topics);
        if !topics.is_empty() {
            // Nobody is left who could repeat it.
            let _told = self.0.tell(&topics).await;
        }
    }

    fn tell(&self, topic: Topic) {
        self.0.watches.wake(topic);
        let Ok(runtime) = Handle::try_current() else { return };
        let mut untold = self.0.untold();
        untold.topics.insert(topic);
        // A task that is finished and still here was dropped together with its runtime.
        if untold.task.as_ref().is_none_or(JoinHandle::is_finished) {
            untold.task = Some(runtime.spawn(Shared::tell_all(Arc::clone(&self.0))));
        }
    }
}

/// A change of streams. Made by [`SharedWatches::change`].
#[must_use]
pub struct ChangeNotice<'a, B: Broadcast> {
    watches: &'a SharedWatches<B>,
    topic: Topic,
}

impl<B: Broadcast> Drop for ChangeNotice<'_, B> {
    fn drop(&mut self) {
        self.watches.tell(self.topic);
    }
}

impl<B: Broadcast> Shared<B> {
    fn untold(&self) -> MutexGuard<'_, Untold> {
        // The set of topics is valid even if a holder of the lock has panicked.
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell(&self, topics: &BTreeSet<Topic>) -> Result<()> {
        let texts = topics.iter().map(|topic| format!("{}:{topic}", self.name)).collect();
        self.broadcast.say(texts).await
    }

    /// Tells changes until all are told.
    async fn tell_all(shared: Arc<Self>) {
        let mut failures = 0;
        loop {
            let mut topics = {
                let mut untold = shared.untold();
                if untold.topics.is_empty() {
                    untold.task = None;
                    return;
                }
                std::mem::take(&mut untold.topics)
            };
            match shared.tell(&topics).await {
                Ok(()) => failures = 0,
                Err(_) if failures < TELL_TRIES => {
                    failures += 1;
                    shared.untold().topics.append(&mut topics);
                }
                // Readers find out by themselves after a while.
                Err(_) => failures = 0,
            }
            sleep(TELL_PAUSE * 2u32.pow(failures)).await;
        }
    }

    /// Opens a connection that listens, if it hears what this handle says.
    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        let Some(mut listener) = self.broadcast.listen().await? else { return Ok(None) };
        self.broadcast.say(vec![self.echo()]).await?;
        let echo = async {
            while let Some(text) = listener.next().await {
                if text == self.echo() {
                    return true;
                }
            }
            false
        };
        let hears = timeout(ECHO_WAIT, echo).await.unwrap_or(false);
        Ok(hears.then_some(listener))
    }

    fn echo(&self) -> String {
        format!("{}:{ECHO}", self.name)
    }

    /// Wakes watches until the connection breaks, or until nobody watches.
    async fn hear(shared: Weak<Self>, watches: Watches, mut listener: Box<dyn Listener>) {
        let mut is_checked = false;
        loop {
            let mut next = pin!(listener.next());
            let text = loop {
                match timeout(CHECK_INTERVAL, &mut next).await {
                    Ok(text) => break text,
                    Err(_) => {
                        let Some(shared) = shared.upgrade() else { break None };
                        if shared.ends().await {
                            return;
                        }
                        // A connection that did not hear the last message to itself is broken.
                        if is_checked {
                            break None;
                        }
                        is_checked = shared.broadcast.say(vec![shared.echo()]).await.is_ok();
                    }
                }
            };
            let Some(text) = text else { break };
            is_checked = false;
            let Some((name, topic)) = text.split_once(':') else { continue };
            let is_own = shared.upgrade().is_some_and(|shared| shared.name == name);
            if let Some(topic) = Topic::parse(topic).filter(|_| !is_own) {
                watches.wake(topic);
            }
        }
        // Whoever begins a watch after this opens a new connection. Without the lock, a watch could
        // begin between here and the end of the task, and nobody would wake it.
        let Some(shared) = shared.upgrade() else { return watches.fail() };
        let mut listening = shared.listening.lock().await;
        if matches!(*listening, Listening::Yes(_)) {
            *listening = Listening::No;
        }
        watches.fail();
    }

    /// Ends the listening if nobody watches.
    async fn ends(&self) -> bool {
        let mut listening = self.listening.lock().await;
        let ends = self.watches.is_empty();
        if ends && matches!(*listening, Listening::Yes(_)) {
            *listening = Listening::No;
        }
        ends
    }
}
