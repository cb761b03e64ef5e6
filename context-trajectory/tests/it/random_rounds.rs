//! Random histories of a round: one with restarts and faults equals one without.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_core::trajectory::{
    Changes, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval, QueueItem, QueueName,
};
use context_trajectory::{OpenRound, RecordError};
use proptest::prelude::*;

use crate::fixture::{
    FaultyRoundStore, action, ada, file, open, process, round_store, small_round,
};

#[derive(Clone, Debug)]
enum Step {
    Act(u8, bool),
    Conclude,
    Find(u8),
    Change(u8, u8),
    Remove(u8),
    Refer(u8),
    Push,
    Pop,
    Restart,
    FailBefore(u8),
    FailAfter,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<u8>(), any::<bool>()).prop_map(|(node, append)| Step::Act(node, append)),
        2 => Just(Step::Conclude),
        2 => any::<u8>().prop_map(Step::Find),
        2 => (any::<u8>(), 0..3_u8).prop_map(|(node, text)| Step::Change(node, text)),
        1 => any::<u8>().prop_map(Step::Remove),
        1 => any::<u8>().prop_map(Step::Refer),
        1 => Just(Step::Push),
        1 => Just(Step::Pop),
        2 => Just(Step::Restart),
        1 => (1..4_u8).prop_map(Step::FailBefore),
        1 => Just(Step::FailAfter),
    ]
}

/// Applies a step to a round. A fault of the store is repaired by writing again.
async fn play(context: &OpenRound, step: &Step) {
    let round = context.round();
    let ids: Vec<NodeId> = round.nodes().map(|node| node.id).collect();
    let pick = |at: &u8| ids[usize::from(*at) % ids.len()];
    let endpoints: Vec<NodeId> = round.endpoints().collect();
    drop(round);
    let done: Result<(), RecordError> = match step {
        // The only node was removed, so the round can begin again.
        _ if ids.is_empty() => context.ask(NewQuery::new("Again?")).await.map(drop),
        Step::Act(at, false) if !endpoints.is_empty() => {
            let after = endpoints[usize::from(*at) % endpoints.len()];
            context.add(action(after).edge("triggers")).await.map(drop)
        }
        Step::Act(at, _) => context.add(action(pick(at)).append().edge("triggers")).await.map(drop),
        Step::Conclude => {
            let node = NewNode::new(NodeBody::state("so"), endpoints).edge("has_conclusion");
            context.add(node).await.map(drop)
        }
        Step::Find(at) => context.add(file(pick(at), "/data/found")).await.map(drop),
        Step::Change(at, text) => {
            context.change(pick(at), &Changes::new().describe(format!("{text}"))).await
        }
        Step::Remove(at) => context.remove(pick(at), NodeRemoval::Leaf).await,
        Step::Refer(at) => context.refer(pick(at), NodeId::new(0, 2)).await,
        Step::Push => context.push(QueueName::Todo, QueueItem::new("step")).await.map(drop),
        Step::Pop => context.pop(QueueName::Todo).await.map(drop),
        Step::Restart | Step::FailBefore(_) | Step::FailAfter => Ok(()),
    };
    match done {
        Ok(()) | Err(RecordError::Refused(_)) => {}
        Err(RecordError::Store(_)) => while context.flush().await.is_err() {},
        Err(other) => panic!("{other}"),
    }
}

async fn begun(store: &Arc<FaultyRoundStore>) -> OpenRound {
    let trajectories = process(store, "first").build().unwrap();
    small_round(&open(&trajectories, 0).await).await;
    let context = open(&trajectories, 1).await;
    context.ask(NewQuery::new("And then?")).await.unwrap();
    context
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64,
        ..ProptestConfig::default() })]

    #[test]
    fn restarts_and_faults_leave_no_trace(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (calm, rough) = (round_store(), round_store());
            let quiet = begun(&calm).await;
            let mut context = begun(&rough).await;
            for (number, step) in steps.iter().enumerate() {
                match step {
                    Step::Restart => {
                        while context.flush().await.is_err() {}
                        let next = process(&rough, &format!("p{number}")).build().unwrap();
                        context = open(&next, 1).await;
                    }
                    Step::FailBefore(times) => rough.fail_before.store(i64::from(*times),
                        Ordering::SeqCst),
                    Step::FailAfter => rough.fail_after.store(1, Ordering::SeqCst),
                    _ => {
                        play(&quiet, step).await;
                        play(&context, step).await;
                    }
                }
                prop_assert_eq!(quiet.round().to_record(), context.round().to_record());
            }
            while context.flush().await.is_err() {}
            prop_assert_eq!(calm.all(&ada()).await, rough.all(&ada()).await);
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48,
        ..ProptestConfig::default() })]

    #[test]
    fn a_channel_that_was_away_for_any_part_of_a_life_is_caught_up(
        before in prop::collection::vec(step(), 0..30),
        without in prop::collection::vec(step(), 1..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (always, away) = (round_store(), round_store());
            small_round(&open(&process(&always, "z").build().unwrap(), 0).await).await;
            let together = process(&always, "a").channel(away.clone()).build().unwrap();
            let context = open(&together, 1).await;
            context.ask(NewQuery::new("And then?")).await.unwrap();
            for step in &before {
                play(&context, step).await;
            }
            let context = open(&process(&always, "b").build().unwrap(), 1).await;
            for step in &without {
                play(&context, step).await;
            }
            // The order of the channels does not matter.
            let again = process(&away, "c").channel(always.clone()).build().unwrap();
            let again = open(&again, 1).await;
            prop_assert_eq!(again.round().to_record(), context.round().to_record());
            prop_assert_eq!(&away.all(&ada()).await[0], &always.all(&ada()).await[1]);
            Ok(())
        })?;
    }
}
