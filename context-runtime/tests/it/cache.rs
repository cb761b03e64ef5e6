//! The cache of chains: a new engine starts from what an earlier one read, and sees the writes of
//! others.

use std::sync::Arc;

use context_runtime::{ChainCache, ErrorKind, Store};

use crate::kit::{builder, engine, say, shown, store, with_messages};

fn cached(store: &Arc<dyn Store>) -> ChainCache {
    ChainCache::new(Arc::clone(store), 1 << 20)
}

#[tokio::test]
async fn what_others_write_is_seen_through_the_cache() {
    let store = store().await;
    let mut first = with_messages(&store, &["u1", "a1"]).await;
    let cache = cached(&store);
    let open = async || builder(&store).cache(&cache).open().await.unwrap();
    assert_eq!(shown(&mut open().await).await, ["u1: text u1", "a1: text a1"]);
    assert!(cache.bytes() > 0);
    first.set([say("u2", "more")]);
    let _saved = first.save().await.unwrap();
    assert_eq!(shown(&mut open().await).await, ["u1: text u1", "a1: text a1", "u2: more"]);
    first.redact(&"u1".into()).await.unwrap();
    assert_eq!(shown(&mut open().await).await, ["u1: [redacted]", "a1: text a1", "u2: more"]);
}

#[tokio::test]
async fn a_chat_that_was_deleted_and_begun_again_is_another_one() {
    let store = store().await;
    let cache = cached(&store);
    let mut old = builder(&store).cache(&cache).open().await.unwrap();
    old.set([say("u1", "old words")]);
    let _saved = old.save().await.unwrap();
    assert!(store.history().delete_chat(old.chat_ref(), None).await.unwrap());
    let mut new = engine(&store).await;
    new.set([say("u1", "new words")]);
    let _saved = new.save().await.unwrap();
    let mut next = builder(&store).cache(&cache).open().await.unwrap();
    assert_eq!(shown(&mut next).await, ["u1: new words"]);
}

#[tokio::test]
async fn it_stays_within_its_bytes_and_with_its_store() {
    let store = store().await;
    let cache = ChainCache::new(Arc::clone(&store), 100_000);
    for chat in 0..50 {
        let mut engine =
            builder(&store).chat(format!("c{chat}")).cache(&cache).open().await.unwrap();
        engine.set([say("u1", &"x".repeat(10_000))]);
        let _saved = engine.save().await.unwrap();
        shown(&mut engine).await;
    }
    assert!((10_000..=100_000).contains(&cache.bytes()), "{}", cache.bytes());
    cache.clear();
    assert_eq!(cache.bytes(), 0);
    let elsewhere = crate::kit::store().await;
    let error = builder(&elsewhere).cache(&cache).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
