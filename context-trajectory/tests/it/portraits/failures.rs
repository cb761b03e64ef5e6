//! Outcomes of failed portraits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use context_core::model::{LanguageModel, ModelErrorCode, StopReason};
use context_core::{Answer, CancelSignal, ModelError, ModelRequest};
use context_trajectory::RecordError;
use context_trajectory::portraits::{PortraitError, PortraitOptions, Portraits};

use super::model::{FakeModel, says};
use super::schedule::LONG;
use crate::fixture::{ada, open, process, round_store, small_round};

fn error(code: ModelErrorCode) -> ModelError {
    ModelError::new("painter", code, "refused by the script")
}

#[tokio::test(start_paused = true)]
async fn a_failing_model_leaves_no_description_and_is_asked_again_by_a_later_schedule() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, _, map] = small_round(&context).await;
    let portraits = Portraits::new(model.clone(), PortraitOptions::new());
    model.then(Err(error(ModelErrorCode::Authentication)));
    portraits.schedule(&context).await.unwrap();
    let report = portraits.await_all(LONG).await;
    let [failure] = &report.failures[..] else { panic!("one failure") };
    assert_eq!((&failure.agent, failure.node), (&ada(), map));
    assert!(matches!(&*failure.error,
            PortraitError::Model(error) if error.code == ModelErrorCode::Authentication));
    assert_eq!((&*context.round().node(map).unwrap().description, model.calls()), ("", 1));
    // An empty answer and a refusal are not descriptions either.
    let mut refusal = says("I cannot help with that.");
    refusal.stop = Some(StopReason::Refusal);
    for answer in [says(" \n"), refusal] {
        model.then(Ok(answer));
        assert_eq!(portraits.schedule(&context).await.unwrap(), 1);
        let failures = portraits.await_all(LONG).await.failures;
        assert!(matches!(&*failures[0].error, PortraitError::NoDescription));
    }
    assert_eq!(portraits.schedule(&context).await.unwrap(), 1);
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, report.failures.len(), model.calls()), (1, 0, 4));
    assert_eq!(&*context.round().node(map).unwrap().description, "A portrait.");
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_the_rest_is_not_waited_for() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    small_round(&context).await;
    let portraits = Portraits::new(model.clone(), PortraitOptions::new());
    let busy = || error(ModelErrorCode::Overloaded);
    model.then(Err(busy()));
    model.then(Err(busy()));
    let began = tokio::time::Instant::now();
    portraits.schedule(&context).await.unwrap();
    assert_eq!(portraits.await_all(LONG).await.described, 1);
    assert_eq!((model.calls(), began.elapsed().as_secs()), (3, 3), "after one second, and two");

    let other = open(&process(&store, "b").build().unwrap(), 1).await;
    small_round(&other).await;
    (0..3).for_each(|_| model.then(Err(busy())));
    portraits.schedule(&other).await.unwrap();
    assert_eq!(portraits.await_all(LONG).await.failures.len(), 1);
    assert_eq!(model.calls(), 6);
    let mut later = error(ModelErrorCode::RateLimit);
    later.retry_after = Some(LONG);
    model.then(Err(later));
    portraits.schedule(&other).await.unwrap();
    assert_eq!(portraits.await_all(LONG).await.failures.len(), 1);
    assert_eq!(model.calls(), 7, "an hour is too long");
    // A model that never answers times out, each time.
    model.slow.store(true, Ordering::SeqCst);
    portraits.schedule(&other).await.unwrap();
    let failures = portraits.await_all(LONG).await.failures;
    assert!(matches!(&*failures[0].error,
            PortraitError::Model(error) if error.code == ModelErrorCode::Timeout));
    assert_eq!(model.calls(), 10);
}

#[tokio::test]
async fn a_description_that_could_not_be_written_is_not_paid_for_twice() {
    let (store, model) = (round_store(), FakeModel::new());
    let (one, two) = (process(&store, "a").build().unwrap(), process(&store, "b").build().unwrap());
    let context = open(&one, 0).await;
    let [query, _, map] = small_round(&context).await;
    let portraits = Portraits::new(model.clone(), PortraitOptions::new());
    // Another process now records the round.
    let other = open(&two, 0).await;
    other.add(crate::fixture::action(query).append()).await.unwrap();
    model.then(Ok(says("Dearly paid.")));
    portraits.schedule(&context).await.unwrap();
    let failures = portraits.await_all(LONG).await.failures;
    assert!(matches!(&*failures[0].error, PortraitError::Record(_)));
    let again = open(&one, 0).await;
    assert_eq!(portraits.schedule(&again).await.unwrap(), 1);
    assert_eq!(portraits.await_all(LONG).await.failures.len(), 0);
    assert_eq!(&*again.round().node(map).unwrap().description, "Dearly paid.");
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn what_is_cancelled_stops_and_says_so() {
    let (store, model) = (round_store(), FakeModel::new());
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, act, _] = small_round(&context).await;
    context.add(crate::fixture::file(act, "/data/b.md")).await.unwrap();
    model.slow.store(true, Ordering::SeqCst);
    let portraits = Portraits::new(model.clone(), PortraitOptions::new().concurrency(1));
    portraits.schedule(&context).await.unwrap();
    while model.calls() < 1 {
        tokio::task::yield_now().await;
    }
    portraits.cancel();
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.described, report.pending, report.failures.len()), (0, 0, 2));
    assert!(
        report.failures.iter().all(|failure| matches!(&*failure.error, PortraitError::Cancelled))
    );
    assert_eq!(model.calls(), 1, "the second one never began");
}

/// A model with a bug.
#[derive(Debug)]
struct Broken;

#[async_trait]
impl LanguageModel for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    async fn complete(&self, _: &ModelRequest, _: &CancelSignal) -> Result<Answer, ModelError> {
        panic!("a fault of the model")
    }
}

#[tokio::test]
async fn a_model_that_panics_is_a_failure_and_nobody_waits_for_it() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [_, act, _] = small_round(&context).await;
    context.add(crate::fixture::file(act, "/data/b.md")).await.unwrap();
    let portraits = Portraits::new(Arc::new(Broken), PortraitOptions::new().concurrency(1));
    portraits.schedule(&context).await.unwrap();
    let report = portraits.await_all(LONG).await;
    assert_eq!((report.pending, report.failures.len()), (0, 2), "the second one had its turn too");
    assert!(report.failures.iter().all(|failure| matches!(&*failure.error, PortraitError::Ended)));
}

#[tokio::test]
async fn an_earlier_round_that_cannot_be_read_holds_up_no_portrait_of_the_present() {
    let (store, model) = (round_store(), FakeModel::new());
    small_round(&open(&process(&store, "a").build().unwrap(), 0).await).await;
    let context = open(&process(&store, "b").build().unwrap(), 1).await;
    let [_, _, map] = small_round(&context).await;
    *store.damaged.lock().unwrap() = Some(0);
    let portraits = Portraits::new(model.clone(), PortraitOptions::new());
    let error = portraits.schedule(&context).await.unwrap_err();
    assert!(matches!(error, RecordError::DamagedRound { .. }), "{error}");
    assert_eq!(portraits.await_all(LONG).await.described, 1);
    assert_eq!(&*context.round().node(map).unwrap().description, "A portrait.");
    // Once readable again, the round is processed.
    *store.damaged.lock().unwrap() = None;
    assert_eq!(portraits.schedule(&context).await.unwrap(), 1);
    assert_eq!(portraits.await_all(LONG).await.described, 2);
}
