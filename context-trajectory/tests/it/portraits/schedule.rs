//! When the model is asked, and what is written.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use context_core::trajectory::{Changes, NewNode, NodeBody, NodeId, edge};
use context_trajectory::portraits::{PortraitOptions, Portraits};

use super::model::FakeModel;
use crate::fixture::{action, ada, file, open, process, round_store, small_round};

pub(super) const LONG: Duration = Duration::from_secs(3_600);

fn portraits(model: &Arc<FakeModel>) -> Portraits {
    Portraits::new(model.clone(), PortraitOptions::new())
}

#[tokio::test]
async fn each_node_without_description_is_asked_about_once() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, act, map] = small_round(&context).await;
    for path in ["/data/a.md", "/data/b.md"] {
        context.add(file(act, path)).await.unwrap();
    }
    let known = context.add(file(act, "/data/c.md").describe("Known.")).await.unwrap();
    let column = NewNode::new(NodeBody::column("prices"), [act]).edge(edge::PRODUCES);
    context.add(column).await.unwrap();
    let portraits = portraits(&model);
    assert_eq!(portraits.schedule(&context).await.unwrap(), 3);
    assert_eq!(portraits.schedule(&context).await.unwrap(), 0);
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, report.pending, report.failures.len()), (3, 0, 0));
    assert_eq!(portraits.schedule(&context).await.unwrap(), 0);
    assert_eq!(model.calls(), 3);
    let round = context.round();
    let node = round.node(map).unwrap();
    assert_eq!(&*node.description, "A portrait.");
    assert_eq!(node.versions[0].author.as_deref(), Some("portrait"));
    assert_eq!(&*round.node(known).unwrap().description, "Known.");
    assert_eq!(store.all(&ada()).await[0], round.to_record());
}

#[tokio::test]
async fn never_more_than_the_limit_at_once_and_whoever_records_does_not_wait() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [query, act, _] = small_round(&context).await;
    for number in 1..100 {
        context.add_later(file(act, &format!("/data/{number}.md"))).unwrap();
    }
    model.slow.store(true, Ordering::SeqCst);
    let portraits = Portraits::new(model.clone(), PortraitOptions::new().concurrency(8));
    assert_eq!(portraits.schedule(&context).await.unwrap(), 100);
    while model.calls() < 8 {
        tokio::task::yield_now().await;
    }
    // While portraits run, the next step is recorded.
    context.add(action(query).append()).await.unwrap();
    assert_eq!(portraits.report().pending, 100);
    model.gate.add_permits(100);
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, model.most.load(Ordering::SeqCst)), (100, 8));
    assert_eq!(store.all(&ada()).await[0], context.round().to_record());
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_its_limit_and_what_comes_later_is_written() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, act, slow] = small_round(&context).await;
    model.slow.store(true, Ordering::SeqCst);
    let portraits = Portraits::new(model.clone(), PortraitOptions::new().call_limit(LONG * 2));
    portraits.schedule(&context).await.unwrap();
    while model.calls() < 1 {
        tokio::task::yield_now().await;
    }
    model.slow.store(false, Ordering::SeqCst);
    let fast = context.add(file(act, "/data/fast.md")).await.unwrap();
    portraits.schedule(&context).await.unwrap();
    let report = portraits.await_all(Duration::from_secs(300)).await;
    assert_eq!((report.described, report.pending), (1, 1));
    assert_eq!(&*context.round().node(fast).unwrap().description, "A portrait.");
    assert_eq!(&*context.round().node(slow).unwrap().description, "");
    model.gate.add_permits(1);
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, report.pending), (2, 0));
    assert_eq!(&*context.round().node(slow).unwrap().description, "A portrait.");
}

#[tokio::test]
async fn a_description_that_came_meanwhile_and_a_node_that_went_are_left_alone() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, act, map] = small_round(&context).await;
    let gone = context.add(file(act, "/data/gone.md")).await.unwrap();
    model.slow.store(true, Ordering::SeqCst);
    let portraits = portraits(&model);
    portraits.schedule(&context).await.unwrap();
    while model.calls() < 2 {
        tokio::task::yield_now().await;
    }
    context.change(map, &Changes::new().describe("By hand.")).await.unwrap();
    context.remove(gone, Default::default()).await.unwrap();
    model.gate.add_permits(2);
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, report.failures.len()), (0, 0));
    let round = context.round();
    let node = round.node(map).unwrap();
    assert_eq!((&*node.description, node.versions.len()), ("By hand.", 1));
}

#[tokio::test]
async fn nodes_of_earlier_rounds_are_described_in_their_record_and_never_paid_for_again() {
    let (store, model) = (round_store(), FakeModel::new());
    {
        let first = open(&process(&store, "a").build().unwrap(), 0).await;
        small_round(&first).await;
    }
    // In another process and the next round, the old node has no description yet.
    {
        let context = open(&process(&store, "b").build().unwrap(), 1).await;
        small_round(&context).await;
        let portraits = portraits(&model);
        assert_eq!(portraits.schedule(&context).await.unwrap(), 2);
        assert_eq!(portraits.await_all(LONG).await.described, 2);
        assert_eq!(portraits.schedule(&context).await.unwrap(), 0);
    }
    for record in store.all(&ada()).await {
        assert_eq!(&*record.nodes[2].description, "A portrait.");
    }
    // A third process finds both.
    let context = open(&process(&store, "c").build().unwrap(), 2).await;
    assert_eq!(portraits(&model).schedule(&context).await.unwrap(), 0);
    assert_eq!(model.calls(), 2);
    let restored = context.trajectory().await.unwrap();
    assert_eq!(&*restored.node(NodeId::new(0, 2)).unwrap().description, "A portrait.");
}
