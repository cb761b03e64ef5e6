//! Watches that are woken through a server: what a handle tells, what it hears, and what becomes of
//! its watches when the server does not deliver.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_core::store::StreamWatch;
use context_core::{ChatRef, Error, ErrorKind, Result};
use context_store_kit::watch::{Broadcast, Listener, SharedWatches, Topic};
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::time::{Instant, sleep, timeout};

/// A server that passes texts on.
#[derive(Clone)]
struct Server(Arc<State>);

struct State {
    texts: Mutex<Sender<String>>,
    /// Accepts the command to listen, and delivers nothing.
    is_deaf: AtomicBool,
    /// Fails to send.
    is_down: AtomicBool,
    listened: AtomicUsize,
    said: AtomicUsize,
}

impl Server {
    fn new() -> Self {
        Self(Arc::new(State {
            texts: Mutex::new(broadcast::channel(1000).0),
            is_deaf: AtomicBool::default(),
            is_down: AtomicBool::default(),
            listened: AtomicUsize::default(),
            said: AtomicUsize::default(),
        }))
    }

    /// Replaces the connections that listen. Returns what keeps the old ones open.
    fn replace(&self) -> Sender<String> {
        std::mem::replace(&mut *self.0.texts.lock().unwrap(), broadcast::channel(1000).0)
    }
}

#[async_trait]
impl Broadcast for Server {
    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        self.0.listened.fetch_add(1, Ordering::Relaxed);
        let texts = match self.0.is_deaf.load(Ordering::Relaxed) {
            true => None,
            false => Some(self.0.texts.lock().unwrap().subscribe()),
        };
        Ok(Some(Box::new(Heard(texts))))
    }

    async fn say(&self, texts: Vec<String>) -> Result<()> {
        if self.0.is_down.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "say", "the server is down"));
        }
        self.0.said.fetch_add(1, Ordering::Relaxed);
        for text in texts {
            let _listeners = self.0.texts.lock().unwrap().send(text);
        }
        Ok(())
    }
}

struct Heard(Option<Receiver<String>>);

#[async_trait]
impl Listener for Heard {
    async fn next(&mut self) -> Option<String> {
        match &mut self.0 {
            Some(texts) => texts.recv().await.ok(),
            None => std::future::pending().await,
        }
    }
}

fn chat() -> ChatRef {
    ChatRef::new("ada", "lisbon")
}

fn topic() -> Topic {
    Topic::stream(&chat(), &"s".into())
}

async fn watch(watches: &SharedWatches<Server>) -> Box<dyn StreamWatch> {
    watches.watch(&chat(), &"s".into()).await.unwrap().unwrap()
}

/// Waits for a change for so long that every pause is over.
async fn changed(watch: &mut Box<dyn StreamWatch>) -> Option<Result<()>> {
    timeout(Duration::from_secs(60), watch.changed()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn a_handle_wakes_itself_and_the_others_once() {
    let server = Server::new();
    let (here, there) = (SharedWatches::new(server.clone()), SharedWatches::new(server));
    let (mut ours, mut theirs) = (watch(&here).await, watch(&there).await);
    for _ in 0..2 {
        drop(here.change(topic()));
        assert!(changed(&mut ours).await.is_some_and(|woken| woken.is_ok()));
        assert!(changed(&mut theirs).await.is_some_and(|woken| woken.is_ok()));
        assert!(changed(&mut ours).await.is_none(), "its own message is no second change");
        assert!(changed(&mut theirs).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn many_changes_are_told_together() {
    let server = Server::new();
    let here = SharedWatches::new(server.clone());
    for n in 0..100 {
        drop(here.change(Topic::stream(&chat(), &n.to_string().into())));
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.0.said.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_delivers_nothing_is_found_out_once() {
    let server = Server::new();
    server.0.is_deaf.store(true, Ordering::Relaxed);
    let watches = SharedWatches::new(server.clone());
    let before = Instant::now();
    for _ in 0..5 {
        assert!(watches.watch(&chat(), &"s".into()).await.unwrap().is_none());
    }
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
    assert_eq!(server.0.listened.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_an_error_for_all_and_the_next_watch_opens_another() {
    let server = Server::new();
    let (here, there) = (SharedWatches::new(server.clone()), SharedWatches::new(server.clone()));
    let mut old = [watch(&here).await, watch(&here).await];
    drop(server.replace());
    for watch in &mut old {
        assert!(changed(watch).await.is_some_and(|woken| woken.is_err()));
    }
    let mut new = watch(&here).await;
    drop(there.change(topic()));
    assert!(changed(&mut new).await.is_some_and(|woken| woken.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_died_silently_is_noticed() {
    let server = Server::new();
    let watches = SharedWatches::new(server.clone());
    let mut watch = watch(&watches).await;
    let _still_open = server.replace();
    assert!(changed(&mut watch).await.is_some_and(|woken| woken.is_err()));
}

#[tokio::test(start_paused = true)]
async fn a_change_is_told_again_to_a_server_that_was_down() {
    let server = Server::new();
    let (here, there) = (SharedWatches::new(server.clone()), SharedWatches::new(server.clone()));
    let mut theirs = watch(&there).await;
    server.0.is_down.store(true, Ordering::Relaxed);
    drop(here.change(topic()));
    sleep(Duration::from_millis(100)).await;
    server.0.is_down.store(false, Ordering::Relaxed);
    assert!(changed(&mut theirs).await.is_some_and(|woken| woken.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn nobody_listens_while_nobody_watches() {
    let server = Server::new();
    let watches = SharedWatches::new(server.clone());
    drop(watch(&watches).await);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.0.texts.lock().unwrap().receiver_count(), 0);
    drop(watch(&watches).await);
    assert_eq!(server.0.listened.load(Ordering::Relaxed), 2, "it listens again");
}

#[tokio::test(start_paused = true)]
async fn a_closed_handle_ends_its_watches_and_begins_none() {
    let watches = SharedWatches::new(Server::new());
    let mut watch = watch(&watches).await;
    watches.close().await;
    assert!(changed(&mut watch).await.is_some_and(|woken| woken.is_err()));
    assert!(watches.watch(&chat(), &"s".into()).await.unwrap().is_none());
}
