//! One busy chat: many engines save to one branch, and each save is grafted behind the others.
//!
//! Engines used to read again and try again when they lost a race, up to a hundred times. With
//! sixteen of them, three saves in a hundred were refused on SQLite, and in memory some engines
//! hardly ever got in. Now the store appends a graft to whatever the head is by then.

use std::sync::Arc;

use context_runtime::{ChatRef, ContextEngine, MessageId, SaveOutcome, Store, assistant, user};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::kit::{builder, engine, say, shown, store, stored, with_messages};
use crate::servers::Servers;

const ENGINES: usize = 16;
const EACH: usize = 8;

/// Lets engines take turns, all from the same moment on: resolve, then save a question and an
/// answer.
async fn take_turns(store: &Arc<dyn Store>) {
    let open = async |store: &Arc<dyn Store>| {
        let builder = ContextEngine::builder(Arc::clone(store));
        builder.user("ada").chat("busy").open().await.unwrap()
    };
    let _created = open(store).await;
    let barrier = Arc::new(Barrier::new(ENGINES));
    let mut tasks = JoinSet::new();
    for task in 0..ENGINES {
        let (store, barrier) = (Arc::clone(store), Arc::clone(&barrier));
        tasks.spawn(async move {
            let mut engine = open(&store).await;
            let mut heads = Vec::new();
            barrier.wait().await;
            for turn in 0..EACH {
                engine.set([user(format!("question {turn} of {task}"))]);
                let before = engine.resolve().await.unwrap().messages;
                engine.set([assistant(format!("answer {turn} of {task}"))]);
                let saved = engine.save().await.unwrap();
                let after = engine.resolve().await.unwrap().messages;
                // What was seen before is still there, and the own messages follow, without a hole.
                let seen = before.len() - 1;
                assert_eq!(before.prefix(seen), after.prefix(seen));
                let head = saved.head.unwrap();
                let own = after.position(&head).unwrap();
                assert_eq!(after[own - 1].id, before.head().unwrap().clone());
                match saved.outcome {
                    SaveOutcome::Saved => assert_eq!(own, seen + 1),
                    SaveOutcome::Grafted { onto } => {
                        assert!(own > seen + 1);
                        assert_eq!(Some(&after[own - 2].id), onto.as_ref());
                    }
                    other => panic!("{other:?}"),
                }
                heads.push(head);
            }
            heads
        });
    }
    let heads: Vec<Vec<MessageId>> = tasks.join_all().await;
    let mut last = open(store).await;
    let chain = last.resolve().await.unwrap().messages;
    assert_eq!(chain.len(), ENGINES * EACH * 2);
    for own in heads {
        let places: Vec<_> = own.iter().map(|id| chain.position(id).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
    assert!(store.history().delete_chat(&ChatRef::new("ada", "busy"), None).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_engines_are_never_refused() {
    take_turns(&store().await).await;
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("chats.db").display());
    take_turns(&context_runtime::open(&file).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
async fn sixteen_engines_are_never_refused_on_a_server() {
    let servers = Servers::open("busy_chat").await;
    for (_, store) in &servers.stores {
        take_turns(store).await;
    }
    servers.clear().await;
}

#[tokio::test]
async fn what_follows_a_graft_knows_the_messages_of_others_and_its_own() {
    let store = store().await;
    let mut first = with_messages(&store, &["u1"]).await;
    let mut late = engine(&store).await;
    let _read = late.resolve().await.unwrap();
    let _saved = first.set([say("e2", "from e")]).save().await.unwrap();
    // Two saves without a look in between: the second one follows the first.
    let saved = late.set([say("f2", "from f")]).save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Grafted { onto: Some("e2".into()) });
    let saved = late.set([say("f3", "again")]).save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Saved);
    let again = late.set([say("f2", "from f")]).save().await.unwrap();
    assert_eq!(again.outcome, SaveOutcome::Unchanged);
    assert_eq!(
        stored(&store, "main").await,
        ["u1: text u1", "e2: from e", "f2: from f", "f3: again"]
    );
    assert_eq!(shown(&mut late).await, stored(&store, "main").await);
}

#[tokio::test]
async fn a_branch_that_was_made_anew_is_read_again_before_messages_are_grafted_onto_it() {
    let store = store().await;
    let mut first = with_messages(&store, &["u1", "a1"]).await;
    let _side = first.rewind(&"u1".into()).await.unwrap();
    let mut late = builder(&store).branch("main-v2").open().await.unwrap();
    let _saved = first.set([say("e2", "of the old branch")]).save().await.unwrap();
    assert_eq!(shown(&mut late).await.len(), 2);
    let _moved = first.switch_branch("main").await.unwrap();
    assert_eq!(first.delete_branch(&"main-v2".into()).await.unwrap(), 1);
    let _side = first.rewind(&"u1".into()).await.unwrap();
    let _saved = first.set([say("n2", "of the new branch")]).save().await.unwrap();
    let saved = late.set([say("f2", "from f")]).save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Grafted { onto: Some("n2".into()) });
    let expected = ["u1: text u1", "n2: of the new branch", "f2: from f"];
    assert_eq!(stored(&store, "main-v2").await, expected);
    assert_eq!(shown(&mut late).await, expected);
}
