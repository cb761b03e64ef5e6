//! Engines that read a branch together with the chat: what their first look shows, and what it
//! costs.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::{ChainCache, ErrorKind, SaveOutcome, Store};
use context_simulator::faults::{FaultPlan, FaultStore, Operation};

use crate::compactions::compact;
use crate::kit::{builder, engine, say, shown, store, stored, with_messages};

fn counted(store: &Arc<dyn Store>) -> (FaultStore, Arc<dyn Store>) {
    let counting = FaultStore::new(Arc::clone(store), FaultPlan::default());
    (counting.clone(), Arc::new(counting))
}

#[tokio::test]
async fn a_turn_reads_the_branch_once_and_writes_once() {
    let store = store().await;
    let _written = with_messages(&store, &["u1", "a1"]).await;
    let (counting, store) = counted(&store);
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    turn.set([say("u2", "more")]);
    assert_eq!(shown(&mut turn).await, ["u1: text u1", "a1: text a1", "u2: more"]);
    let saved = turn.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Saved);
    assert_eq!((counting.calls(Operation::Chain), counting.calls(Operation::Commit)), (1, 1));
    // From then on it looks for what is new.
    assert_eq!(shown(&mut turn).await.len(), 3);
    assert_eq!(counting.calls(Operation::Chain), 2);
}

#[tokio::test]
async fn the_first_look_is_of_the_opening_and_the_next_of_now() {
    let store = store().await;
    let mut other = with_messages(&store, &["u1"]).await;
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    other.set([say("a1", "meanwhile")]);
    let _saved = other.save().await.unwrap();
    assert_eq!(shown(&mut turn).await, ["u1: text u1"]);
    assert_eq!(shown(&mut turn).await, ["u1: text u1", "a1: meanwhile"]);
}

#[tokio::test]
async fn a_save_comes_after_what_others_wrote_since_the_opening() {
    let store = store().await;
    let mut other = with_messages(&store, &["u1"]).await;
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    other.set([say("a1", "meanwhile")]);
    let _saved = other.save().await.unwrap();
    turn.set([say("u2", "more")]);
    let saved = turn.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Grafted { onto: Some("a1".into()) });
    let all = ["u1: text u1", "a1: meanwhile", "u2: more"];
    assert_eq!(shown(&mut turn).await, all);
    assert_eq!(stored(&store, "main").await, all);
}

/// A save is a look, too: what others wrote since is not hidden from the resolve after it.
#[tokio::test]
async fn a_save_uses_up_what_was_read_ahead() {
    let store = store().await;
    let mut other = with_messages(&store, &["u1"]).await;
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    turn.set([say("u2", "first")]);
    let _saved = turn.save().await.unwrap();
    other.set([say("a2", "then")]);
    let _saved = other.save().await.unwrap();
    assert_eq!(shown(&mut turn).await, ["u1: text u1", "u2: first", "a2: then"]);
}

/// The owner of the lease before may have written until it ended.
#[tokio::test]
async fn under_a_lease_the_first_look_is_of_now() {
    let store = store().await;
    let mut other = with_messages(&store, &["u1"]).await;
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    other.set([say("a1", "meanwhile")]);
    let _saved = other.save().await.unwrap();
    let _taken = turn.lease("worker", Duration::from_secs(60)).await.unwrap();
    assert_eq!(shown(&mut turn).await, ["u1: text u1", "a1: meanwhile"]);
}

#[tokio::test]
async fn a_compacted_chat_is_shown_as_ever() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2", "a2", "u3"]).await;
    compact(&mut chat, &[(Some(0), None), (None, Some("so far")), (Some(4), None)]).await;
    chat.set([say("a3", "an answer")]);
    let _saved = chat.save().await.unwrap();
    let mut plain = engine(&store).await;
    let expected = shown(&mut plain).await;
    let mut turn = builder(&store).read_ahead().open().await.unwrap();
    assert_eq!(shown(&mut turn).await, expected);
    // The whole branch is read when it is asked for.
    assert_eq!(turn.turn_count().await.unwrap(), 3);
}

#[tokio::test]
async fn with_a_cache_only_news_are_read() {
    let store = store().await;
    let mut other = with_messages(&store, &["u1", "a1"]).await;
    let cache = ChainCache::new(Arc::clone(&store), 1 << 20);
    let open = async || builder(&store).cache(&cache).read_ahead().open().await.unwrap();
    assert_eq!(shown(&mut open().await).await.len(), 2);
    other.set([say("u2", "more")]);
    let _saved = other.save().await.unwrap();
    assert_eq!(shown(&mut open().await).await, ["u1: text u1", "a1: text a1", "u2: more"]);
    other.redact(&"u1".into()).await.unwrap();
    assert_eq!(shown(&mut open().await).await[0], "u1: [redacted]");
    // A fork shares its beginning with the branch whose messages are in the cache.
    other.rewind(&"a1".into()).await.unwrap();
    other.set([say("u3", "instead")]);
    let _saved = other.save().await.unwrap();
    assert_eq!(shown(&mut open().await).await, ["u1: [redacted]", "a1: text a1", "u3: instead"]);
}

#[tokio::test]
async fn new_chats_are_created_and_absent_branches_refused() {
    let store = store().await;
    let existing = builder(&store).read_ahead().existing().open().await;
    assert_eq!(existing.unwrap_err().kind(), ErrorKind::NotFound);
    let mut new = builder(&store).read_ahead().open().await.unwrap();
    new.set([say("u1", "hello")]);
    assert_eq!(shown(&mut new).await, ["u1: hello"]);
    let _saved = new.save().await.unwrap();
    let absent = builder(&store).branch("ghost").read_ahead().open().await.unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound);
}
