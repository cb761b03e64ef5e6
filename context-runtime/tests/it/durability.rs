//! The durability that an engine asks for: of each commit, and of none that nobody asked it for.

use std::sync::Arc;

use context_runtime::store::{Durability, DurabilityRefusal};
use context_runtime::{Agents, ContextEngine, ErrorKind, Store};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

use crate::kit::{builder, say, store, stored};

/// Opens an engine on a store in memory, which refuses to survive a power failure.
async fn asking(store: &Arc<dyn Store>) -> ContextEngine {
    builder(store).durability(Durability::PowerLoss).open().await.unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: context_runtime::Result<T>) {
    let error = result.unwrap_err();
    let refusal = DurabilityRefusal::of(&error).unwrap();
    assert_eq!((refusal.asked, refusal.strongest), (Durability::PowerLoss, Durability::Process));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn every_commit_asks_for_what_was_set_and_a_refused_one_stays_pending() {
    let store = store().await;
    let mut engine = asking(&store).await;
    engine.set([say("u1", "one")]);
    refused(engine.save().await);
    refused(engine.save().await);
    assert!(stored(&store, "main").await.is_empty());
    engine.set_durability(None);
    let _saved = engine.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: one"]);

    engine.set_durability(Durability::PowerLoss);
    refused(engine.pin(&"u1".into()).await);
    refused(engine.rewind(&"u1".into()).await);
    assert_eq!(store.history().branches(engine.chat_ref()).await.unwrap().len(), 1);
    engine.set_durability(Durability::Process);
    assert!(engine.pin(&"u1".into()).await.unwrap());
    let _moved = engine.rewind(&"u1".into()).await.unwrap();
}

#[tokio::test]
async fn a_save_whose_reply_was_lost_asks_for_what_is_set_when_it_is_sent_again() {
    let inner = store().await;
    let plan = FaultPlan::default().with(Operation::Commit, 0, Fault::AfterApply);
    let store: Arc<dyn Store> = Arc::new(FaultStore::new(Arc::clone(&inner), plan));
    let mut engine = builder(&store).open().await.unwrap();
    engine.set([say("u1", "one")]);
    engine.save().await.unwrap_err();
    engine.set_durability(Durability::PowerLoss);
    // It is in the store, but not as durable as it is to be now.
    refused(engine.save().await);
    engine.set_durability(Durability::Process);
    let _saved = engine.save().await.unwrap();
    assert_eq!(stored(&inner, "main").await, ["u1: one"]);
}

#[tokio::test]
async fn turns_of_agents_ask_for_it_too() {
    let agents = |durability: Option<Durability>| async move {
        Agents::open("mem:").await.unwrap().model("gpt-4o").durability(durability).build().unwrap()
    };
    let mut chat = agents(None).await.chat("ada", "trip").await.unwrap();
    assert!(chat.turn("Where to?").begin().await.is_ok());
    let mut chat = agents(Some(Durability::PowerLoss)).await.chat("ada", "trip").await.unwrap();
    let error = chat.turn("Where to?").begin().await.err().unwrap();
    assert!(format!("{error:?}").contains("PowerLoss"), "{error:?}");
}
