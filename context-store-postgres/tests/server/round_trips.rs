//! An append is one round trip, and so is a load of any part of a chain.

use context_core::store::{ChainEnd, Commit, CommitOutcome, Durability, Window};
use context_core::{MessageId, Store};
use context_store_postgres::PostgresStore;

use crate::fixture::{StoreFixture, append, chat, extend, ids, nothing_is_wrong, says};
use crate::proxy::Proxy;

pub(crate) async fn the_usual_calls_are_one_each() {
    let fixture = StoreFixture::new();
    let (proxy, config) = Proxy::in_front_of(&fixture).await;
    let store = PostgresStore::open(config).await.unwrap();
    let chat = chat(&store, "ada").await;
    // The first calls also prepare the two statements. One of them looks for runs to merge.
    append(&store, &chat, "", &["m0", "m1"]).await;
    let mut head = "m1".to_owned();
    for i in 2..70 {
        let before = proxy.round_trips();
        let next = format!("m{i}");
        append(&store, &chat, &head, &[&next]).await;
        assert_eq!(proxy.round_trips() - before, 1, "appending {next}");
        head = next;
    }
    let history = store.history();
    // A choice of durability costs none, once its statements are prepared.
    let strongest = store.info().strongest;
    for durability in [Durability::Process, strongest] {
        for i in 0..40 {
            let next = format!("{durability:?}-{i}");
            let append = extend(&chat, &head, vec![says(&next, "some words")]);
            let before = proxy.round_trips();
            let commit = Commit { durability: Some(durability), ..append };
            let outcome = history.commit(commit).await.unwrap();
            assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
            assert!(i < 20 || proxy.round_trips() - before == 1, "appending {next}");
            head = next;
        }
    }
    let mut costs = Vec::new();
    for (i, durability) in
        [None, None, Some(Durability::Process), Some(strongest)].into_iter().enumerate()
    {
        let next = format!("keyed-{i}");
        let keyed = extend(&chat, &head, vec![says(&next, "some words")]);
        let before = proxy.round_trips();
        let commit = Commit { key: Some(next.as_str().into()), durability, ..keyed };
        let outcome = history.commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
        costs.push(proxy.round_trips() - before);
        head = next;
    }
    // The first one also prepares its statements.
    assert!(costs[2..].iter().all(|cost| *cost == costs[1]), "{costs:?}");
    let generation = history
        .chain(&chat, &ChainEnd::Branch("main".into()), &Window::Whole)
        .await
        .unwrap()
        .generation();
    let ends = [ChainEnd::Branch("main".into()), ChainEnd::Message(MessageId::from("m42"))];
    let windows = [
        Window::Whole,
        Window::Last(3),
        Window::Boundary,
        Window::Tokens(100),
        Window::After { message: "m30".into(), generation },
        Window::After { message: head.as_str().into(), generation },
    ];
    for end in &ends {
        for window in &windows {
            let first = history.chain(&chat, end, window).await.unwrap();
            let before = proxy.round_trips();
            assert_eq!(history.chain(&chat, end, window).await.unwrap(), first);
            // A look finds that a branch has news, and then they are read.
            let has_news = matches!((end, window), (ChainEnd::Branch(_),
                Window::After { message, .. }) if message.as_str() == "m30");
            let expected = if has_news { 2 } else { 1 };
            assert_eq!(proxy.round_trips() - before, expected, "{end:?} {window:?}");
        }
    }
    assert_eq!(ids(&store, &chat).await.len(), 154);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}
