//! Cached counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use context_core::model::{TokenCount, TokenCounter};
use context_core::{Message, ModelRequest, Role};
use context_tokens::CachedCounter;

/// Counts bytes, and records how often it is called.
#[derive(Debug, Default)]
struct Bytes(AtomicUsize);

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        self.0.fetch_add(1, Ordering::Relaxed);
        TokenCount::exact(text.len() as u64)
    }
}

fn history(n: usize) -> Vec<Arc<Message>> {
    (0..n).map(|i| Arc::new(Message::text(Role::User, format!("message {i}")))).collect()
}

#[test]
fn only_new_messages_are_counted() {
    let bytes = Arc::new(Bytes::default());
    let counter = CachedCounter::new(bytes.clone());
    let mut messages = history(1_000);
    let first = counter.count_messages(&messages);
    assert_eq!(bytes.0.load(Ordering::Relaxed), 1_000);
    messages.push(Arc::new(Message::from("one more")));
    let second = counter.count_messages(&messages);
    assert_eq!(bytes.0.load(Ordering::Relaxed), 1_001);
    assert_eq!(second, first + TokenCount::exact(8));
    assert_eq!(counter.count_request(&ModelRequest::new(messages.clone())).messages, second);
}

#[test]
fn an_equal_message_is_known_by_its_hash() {
    let bytes = Arc::new(Bytes::default());
    let counter = CachedCounter::new(bytes.clone());
    for _ in 0..3 {
        // Other addresses, the same messages.
        counter.count_messages(&history(50));
    }
    counter.count_message(&Message::text(Role::User, "message 7"));
    assert_eq!(bytes.0.load(Ordering::Relaxed), 50);
}

#[test]
fn a_hash_that_the_caller_knows_is_as_good() {
    let bytes = Arc::new(Bytes::default());
    let counter = CachedCounter::new(bytes.clone());
    let [one, again] = [(); 2].map(|()| Arc::new(Message::from("the same")));
    let count = counter.count_hashed(&one, &one.hash());
    assert_eq!(count, TokenCount::exact(8));
    assert_eq!(
        [counter.count_shared(&one), counter.count_shared(&again), counter.count_message(&one)],
        [count; 3]
    );
    assert_eq!(bytes.0.load(Ordering::Relaxed), 1);
    assert_eq!(Bytes::default().count_hashed(&one, &again.hash()), count);
}

#[test]
fn an_address_that_is_used_again_is_another_message() {
    let counter = CachedCounter::new(Arc::new(Bytes::default()));
    for length in 0..500 {
        let message = Arc::new(Message::from("x".repeat(length)));
        assert_eq!(counter.count_shared(&message), TokenCount::exact(length as u64));
    }
}

#[test]
fn memory_is_bounded_and_counts_stay_right() {
    let bytes = Arc::new(Bytes::default());
    let counter = CachedCounter::with_capacity(bytes.clone(), 10);
    let messages = history(100);
    let total = counter.count_messages(&messages);
    assert_eq!(counter.count_messages(&messages), total);
    // Most entries were dropped in between, by address and by hash.
    assert!(bytes.0.load(Ordering::Relaxed) > 150);
    let newest = &messages[90..];
    counter.count_messages(newest);
    let asked = bytes.0.load(Ordering::Relaxed);
    counter.count_messages(newest);
    assert_eq!(bytes.0.load(Ordering::Relaxed), asked);
}

#[test]
fn messages_are_not_kept_alive() {
    let counter = CachedCounter::new(Arc::new(Bytes::default()));
    let message = Arc::new(Message::from("gone soon"));
    let weak = Arc::downgrade(&message);
    counter.count_shared(&message);
    drop(message);
    assert!(weak.upgrade().is_none());
}

#[test]
fn threads_share_it() {
    let counter = CachedCounter::with_capacity(Arc::new(Bytes::default()), 64);
    let messages = history(300);
    let total = Bytes::default().count_messages(&messages);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(counter.count_messages(&messages), total);
                }
            });
        }
    });
}
