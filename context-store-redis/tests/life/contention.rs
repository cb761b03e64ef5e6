//! Many concurrent writers through several handles.

use std::sync::Arc;

use context_core::store::{ChatPatch, Commit, CommitOutcome};
use context_core::{MessageId, Metadata, Store};

use crate::fixture::{RedisFixture, T, extend, ids, says, stay};

const WRITERS: usize = 16;
const EACH: usize = 12;

pub(crate) async fn sixteen_writers_on_one_branch_lose_nothing() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let stores = [Arc::new(fixture.again().await), Arc::new(fixture.again().await)];
    let writers = (0..WRITERS).map(|writer| {
        let (store, chat) = (Arc::clone(&stores[writer % 2]), chat.clone());
        tokio::spawn(async move {
            let mut head: Option<MessageId> = None;
            for i in 0..EACH {
                let node = says(format!("w{writer}-{i}"), "x");
                // Every other commit takes the general path.
                let key = (i % 2 == 0).then(|| format!("k{writer}-{i}").as_str().into());
                loop {
                    let expected = head.as_ref().map_or("", MessageId::as_str);
                    let commit = Commit {
                        key: key.clone(),
                        ..extend(&chat, "main", expected, vec![node.clone()])
                    };
                    match store.history().commit(commit).await.unwrap() {
                        CommitOutcome::Applied(committed) => break head = committed.head,
                        CommitOutcome::Conflict { actual } => head = actual,
                        other => panic!("{other:?}"),
                    }
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let chain = fixture.whole(&chat, "main").await.unwrap();
    assert_eq!(chain.len(), WRITERS * EACH);
    let order = ids(&chain);
    for writer in 0..WRITERS {
        let own: Vec<_> =
            order.iter().filter(|id| id.starts_with(&format!("w{writer}-"))).cloned().collect();
        assert_eq!(own, (0..EACH).map(|i| format!("w{writer}-{i}")).collect::<Vec<_>>());
    }
    assert!(fixture.problems().await.is_empty(), "{:?}", fixture.problems().await);
}

pub(crate) async fn changes_beside_appends_are_not_starved() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let store = Arc::new(fixture.again().await);
    let writer = {
        let (store, chat) = (Arc::clone(&store), chat.clone());
        tokio::spawn(async move {
            for i in 0..300 {
                let expected = if i == 0 { String::new() } else { format!("m{}", i - 1) };
                let commit = extend(&chat, "main", &expected, vec![says(format!("m{i}"), "x")]);
                assert!(matches!(
                    store.history().commit(commit).await.unwrap(),
                    CommitOutcome::Applied(_)
                ));
            }
        })
    };
    let counters = (0..4).map(|_| {
        let (store, chat) = (Arc::clone(&store), chat.clone());
        tokio::spawn(async move {
            for _ in 0..20 {
                let patch =
                    ChatPatch { add: Metadata::default().with("n", 1), ..ChatPatch::default() };
                let commit = Commit { patch: Some(patch), ..stay(&chat) };
                let outcome = store.history().commit(commit).await.unwrap();
                assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
            }
        })
    });
    for counter in counters.collect::<Vec<_>>() {
        counter.await.unwrap();
    }
    writer.await.unwrap();
    let metadata = fixture.history().chat(&chat).await.unwrap().unwrap().metadata;
    assert_eq!(metadata.get("n").map(|n| n.as_str().to_owned()).as_deref(), Some("80"));
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 300);
    assert!(fixture.problems().await.is_empty());
    assert_eq!(fixture.history().chat(&chat).await.unwrap().unwrap().updated_at, T);
}
