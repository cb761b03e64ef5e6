//! Queues survive the process, and a run continues with its current step.

use context_core::base::JsonMap;
use context_core::trajectory::{NewQuery, Queue, QueueItem, QueueName, TrajectoryError};
use context_trajectory::{RecordError, RunError, work_off};

use crate::fixture::{ada, open, process, round_store};

fn configuration(text: &str) -> JsonMap {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn queues_are_loaded_popped_in_order_and_restored() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    context.load_queues(&configuration("{}")).await.unwrap();
    assert!(context.queues().is_empty());
    let steps = r#"{"PRE_WORKFLOW": [{"name": "load", "params": {"n": 1.50}}, {"name": "check"}]}"#;
    context.load_queues(&configuration(steps)).await.unwrap();
    assert_eq!(context.pop(QueueName::Pre).await.unwrap().unwrap().name, "load");
    let again = open(&process(&store, "b").build().unwrap(), 0).await;
    assert_eq!(again.pop(QueueName::Pre).await.unwrap().unwrap().name, "check");
    assert_eq!(again.pop(QueueName::Pre).await.unwrap(), None);
    let many = format!(r#"{{"POST_WORKFLOW": [{}]}}"#, vec![r#"{"name": "s"}"#; 101].join(","));
    let refused = again.load_queues(&configuration(&many)).await;
    assert!(matches!(refused, Err(RecordError::Refused(TrajectoryError::TooMuch { .. }))));
}

#[tokio::test]
async fn a_full_queue_refuses_and_forgets_nothing() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    for number in 0..Queue::CAPACITY {
        assert!(context.push(QueueName::Todo, QueueItem::new(format!("s{number}"))).await.unwrap());
    }
    let revision = context.round().revision();
    assert!(!context.push(QueueName::Todo, QueueItem::new("more")).await.unwrap());
    assert_eq!(context.round().revision(), revision);
    assert_eq!(context.pop(QueueName::Todo).await.unwrap().unwrap().name, "s0");
}

#[tokio::test]
async fn a_run_that_fails_goes_on_with_the_step_it_was_at() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    context.ask(NewQuery::new("Where to?")).await.unwrap();
    let steps = r#"{"PRE_WORKFLOW": [{"name": "plan"}], "POST_WORKFLOW": [{"name": "tidy"}]}"#;
    context.load_queues(&configuration(steps)).await.unwrap();
    let mut seen = Vec::new();
    let failed = work_off(&context, async |queue, item: &QueueItem| {
        seen.push(item.name.clone());
        match queue {
            QueueName::Pre => {
                for name in ["one", "two"] {
                    context.push(QueueName::Todo, QueueItem::new(name)).await.unwrap();
                }
                Ok(())
            }
            _ if item.name == "two" => Err("the power is out"),
            _ => Ok(()),
        }
    })
    .await;
    let shown = format!("{:?}", failed.as_ref().unwrap_err());
    assert_eq!(shown, "step \"two\" of the queue todo failed\n  caused by: \"the power is out\"");
    let Err(RunError::Step { queue: QueueName::Todo, name, source }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!((&*name, source), ("two", "the power is out"));
    let again = open(&process(&store, "b").build().unwrap(), 0).await;
    let done = work_off(&again, async |_, item: &QueueItem| {
        seen.push(item.name.clone());
        Ok::<(), RecordError>(())
    });
    assert_eq!(done.await.unwrap(), 2);
    assert_eq!(seen, ["plan", "one", "two", "two", "tidy"]);
    assert!(store.all(&ada()).await[0].head.queues.is_empty());
}
