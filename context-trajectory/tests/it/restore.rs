//! Restoring from one channel or two.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_core::store::TrajectoryStore;
use context_core::trajectory::{AgentRef, Changes, NewQuery, NodeRemoval, RoundState};
use context_trajectory::{FileChannel, OpenOptions, RecordError, Trajectories};

use crate::fixture::{
    FaultyRoundStore, action, ada, file, open, process, round_store, small_round,
};

fn both(first: &Arc<FaultyRoundStore>, second: &Arc<FaultyRoundStore>, name: &str) -> Trajectories {
    process(first, name).channel(second.clone() as Arc<dyn TrajectoryStore>).build().unwrap()
}

#[tokio::test]
async fn a_round_that_was_cut_off_goes_on() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let [query, act, map] = small_round(&context).await;
    context.change(act, &Changes::new().set("success", true)).await.unwrap();
    context.remove(map, NodeRemoval::Leaf).await.unwrap();
    let before = context.round().to_record();
    let again = open(&process(&store, "b").build().unwrap(), 0).await;
    assert_eq!(again.round().to_record(), before);
    assert_eq!(again.round().endpoints().collect::<Vec<_>>(), [act]);
    assert_eq!(again.round().node(act).unwrap().versions.len(), 1);
    let next = again.add(file(query, "/data/other.md")).await.unwrap();
    assert_eq!(next.ordinal, 3, "no number is used again");
    assert_eq!(&*again.round().node(next).unwrap().label, "file00001");
    again.close(RoundState::Closed).await.unwrap();
    assert_eq!(store.all(&ada()).await[0].head.state, RoundState::Closed);
}

#[tokio::test]
async fn numbers_go_on_and_order_of_restoring_does_not_matter() {
    let store = round_store();
    let one = process(&store, "a").build().unwrap();
    small_round(&open(&one, 0).await).await;
    let two = process(&store, "b").build().unwrap();
    let present = open(&two, 1).await;
    let query = present.ask(NewQuery::new("And then?")).await.unwrap();
    assert_eq!(&*present.round().node(query).unwrap().label, "query00001");
    let early = present.trajectory().await.unwrap();
    let again = present.trajectory().await.unwrap();
    assert_eq!(early.bridges(), again.bridges());
    let third = open(&process(&store, "c").build().unwrap(), 1).await;
    assert_eq!(third.trajectory().await.unwrap().bridges(), early.bridges());
    assert_eq!(early.bridges().len(), 1);
    // A sub-agent sees only its own rounds.
    let sub =
        two.open(&AgentRef::new("ada", "trip", 1).round(1), OpenOptions::new()).await.unwrap();
    sub.ask(NewQuery::new("Sub?")).await.unwrap();
    assert_eq!(sub.trajectory().await.unwrap().len(), 1);
}

#[tokio::test]
async fn rounds_that_were_recorded_without_each_other_do_not_melt() {
    let store = round_store();
    let (one, two) = (process(&store, "a").build().unwrap(), process(&store, "b").build().unwrap());
    let (zero, first) = (open(&one, 0).await, open(&two, 1).await);
    small_round(&zero).await;
    small_round(&first).await;
    let third = open(&process(&store, "c").build().unwrap(), 3).await;
    small_round(&third).await;
    let trajectory = third.trajectory().await.unwrap();
    assert_eq!((trajectory.len(), trajectory.order().count()), (9, 9));
    assert_eq!(
        trajectory.bridges().iter().map(|bridge| bridge.missing).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[tokio::test]
async fn opening_reads_the_present_and_the_past_is_read_once() {
    let store = round_store();
    let one = process(&store, "a").build().unwrap();
    for round in 0..1_000 {
        open(&one, round).await.ask(NewQuery::new("Where to?")).await.unwrap();
    }
    let two = process(&store, "b").build().unwrap();
    store.loaded_rounds.store(0, Ordering::SeqCst);
    let (present, beside) = (open(&two, 1_000).await, open(&two, 999).await);
    assert_eq!(store.loaded_rounds.load(Ordering::SeqCst), 1, "round 999, which is asked for");
    present.ask(NewQuery::new("And then?")).await.unwrap();
    assert_eq!(&*present.round().query().unwrap().label, "query01000");
    assert_eq!(present.trajectory().await.unwrap().len(), 1_001);
    let read = store.loaded_rounds.load(Ordering::SeqCst);
    assert_eq!(present.trajectory().await.unwrap().len(), 1_001);
    assert_eq!(beside.trajectory().await.unwrap().len(), 1_000);
    assert_eq!((read, store.loaded_rounds.load(Ordering::SeqCst)), (1_001, 1_001));
}

/// A program that goes on with a long conversation needs its last rounds, not all of them.
#[tokio::test]
async fn the_end_of_a_trajectory_is_read_without_the_rounds_before_it() {
    let (first, second) = (round_store(), round_store());
    let one = process(&first, "a").build().unwrap();
    // Rounds 4 to 6 do not exist.
    for round in (0..4).chain(7..12) {
        small_round(&open(&one, round).await).await;
    }
    // The newest round is in the other channel alone.
    small_round(&open(&process(&second, "b").build().unwrap(), 12).await).await;
    let trajectories = both(&first, &second, "c");
    let whole = trajectories.trajectory(&ada()).await.unwrap();
    let numbers: Vec<u32> = whole.rounds().map(|round| round.round().round).collect();
    assert_eq!((numbers.len(), whole.continues_from()), (10, None));
    for count in 0..=11 {
        let before = numbers.len().saturating_sub(count);
        for store in [&first, &second] {
            store.loaded_rounds.store(0, Ordering::SeqCst);
        }
        let end = trajectories.trajectory_end(&ada(), count).await.unwrap();
        let loaded = [&first, &second].map(|store| store.loaded_rounds.load(Ordering::SeqCst));
        assert_eq!(loaded.iter().sum::<u64>(), count.min(10) as u64);
        let read: Vec<u32> = end.rounds().map(|round| round.round().round).collect();
        assert_eq!(read, numbers[before..]);
        let earlier = before.checked_sub(1).map(|at| numbers[at]);
        assert_eq!(end.continues_from(), earlier, "{count}");
        // Only the bridges to the first query are missing.
        let root = end.root().map(|query| query.id);
        let bridges = whole.bridges().iter().filter(|bridge| root.is_some_and(|id| bridge.to > id));
        assert_eq!(end.bridges(), bridges.copied().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_damaged_past_is_named_and_the_present_goes_on() {
    let store = round_store();
    let one = process(&store, "a").build().unwrap();
    for round in 0..3 {
        small_round(&open(&one, round).await).await;
    }
    *store.damaged.lock().unwrap() = Some(1);
    let present = open(&process(&store, "b").build().unwrap(), 3).await;
    small_round(&present).await;
    let error = present.trajectory().await.unwrap_err();
    let RecordError::DamagedRound { round, .. } = &error else { panic!("{error}") };
    assert_eq!(**round, ada().round(1));
    // A failure is not cached.
    *store.damaged.lock().unwrap() = None;
    assert_eq!(present.trajectory().await.unwrap().len(), 12);
}

#[tokio::test]
async fn both_channels_have_everything_and_either_is_enough() {
    let (first, second) = (round_store(), round_store());
    let context = open(&both(&first, &second, "a"), 0).await;
    small_round(&context).await;
    assert_eq!(first.all(&ada()).await, second.all(&ada()).await);
    for gone in [&first, &second] {
        let kept = if Arc::ptr_eq(gone, &first) { &second } else { &first };
        let empty = round_store();
        let restored = open(&both(&empty, kept, "b"), 0).await;
        assert_eq!(restored.round().to_record(), context.round().to_record());
        assert_eq!(empty.all(&ada()).await, kept.all(&ada()).await, "caught up");
    }
}

#[tokio::test]
async fn a_channel_that_was_away_is_caught_up_when_the_round_is_opened() {
    let (first, second) = (round_store(), round_store());
    let context = open(&both(&first, &second, "a"), 0).await;
    let [query, act, map] = small_round(&context).await;
    second.fail_before.store(1_000, Ordering::SeqCst);
    assert!(
        context
            .change(act, &Changes::new().set("success", true).describe("Looked."))
            .await
            .is_err()
    );
    assert!(context.change(act, &Changes::new().set("success", false)).await.is_err());
    assert!(context.remove(map, NodeRemoval::Leaf).await.is_err());
    let _ = context.add(action(query).append()).await.unwrap_err();
    assert_eq!(context.unsaved(), 4);
    assert_eq!(first.all(&ada()).await[0], context.round().to_record(), "the other one has it");
    second.fail_before.store(0, Ordering::SeqCst);
    let again = open(&both(&second, &first, "b"), 0).await;
    assert_eq!(again.round().to_record(), context.round().to_record());
    assert_eq!(first.all(&ada()).await, second.all(&ada()).await);
    again.add(action(query).append()).await.unwrap();
    assert_eq!(first.all(&ada()).await, second.all(&ada()).await);
}

#[tokio::test]
async fn channels_that_went_different_ways_are_told_apart_and_left_alone() {
    let (first, second) = (round_store(), round_store());
    small_round(&open(&process(&first, "a").build().unwrap(), 0).await).await;
    open(&process(&second, "b").build().unwrap(), 0)
        .await
        .ask(NewQuery::new("Else?"))
        .await
        .unwrap();
    let opened = both(&first, &second, "c").open(&ada().round(0), OpenOptions::new()).await;
    assert!(matches!(opened, Err(RecordError::Diverged { .. })));
    assert_eq!(second.all(&ada()).await[0].nodes.len(), 1);
}

#[tokio::test]
async fn looking_at_rounds_takes_of_each_the_newest() {
    let (first, second) = (round_store(), round_store());
    for (round, store) in [&first, &second, &first].into_iter().enumerate() {
        small_round(&open(&process(store, "a").build().unwrap(), round as u32).await).await;
    }
    let trajectories = both(&first, &second, "b");
    assert_eq!(trajectories.trajectory(&ada()).await.unwrap().len(), 9);
    let query = context_core::store::RoundQuery::of_user("ada").limit(2);
    let page = trajectories.rounds(&query).await.unwrap();
    let numbers = |page: &context_core::store::Page<context_core::trajectory::RoundHead>| {
        page.items.iter().map(|head| head.round.round).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&page), [2, 1]);
    let rest = trajectories.rounds(&query.clone().after(page.next)).await.unwrap();
    assert_eq!((numbers(&rest), rest.next), (vec![0], None));
}

#[tokio::test]
async fn local_files_beside_a_store_hold_the_same_and_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let files = || Arc::new(FileChannel::new(folder.path())) as Arc<dyn TrajectoryStore>;
    let store = round_store();
    let context = open(&process(&store, "a").channel(files()).build().unwrap(), 0).await;
    let [_, act, _] = small_round(&context).await;
    context.change(act, &Changes::new().set("success", true)).await.unwrap();
    let record = context.round().to_record();
    // The store is empty, the files are complete.
    let empty = round_store();
    let restored = open(&process(&empty, "b").channel(files()).build().unwrap(), 0).await;
    assert_eq!(restored.round().to_record(), record);
    assert_eq!(empty.all(&ada()).await, [record]);
}

/// Within one folder, sub-agents and sessions see only their own rounds.
#[tokio::test]
async fn sub_agents_and_sessions_in_one_folder_see_their_own_rounds_alone() {
    let folder = tempfile::tempdir().unwrap();
    let files = || {
        let files = Arc::new(FileChannel::new(folder.path()));
        Trajectories::over(files).build().unwrap()
    };
    let agents = [ada(), AgentRef::new("ada", "trip", 1), AgentRef::main("ada", "work")];
    let one = files();
    for agent in &agents {
        let context = one.open(&agent.round(0), OpenOptions::new()).await.unwrap();
        context.ask(NewQuery::new(format!("{agent:?}"))).await.unwrap();
    }
    let two = files();
    for agent in &agents {
        let context = two.open(&agent.round(1), OpenOptions::new()).await.unwrap();
        context.ask(NewQuery::new("And then?")).await.unwrap();
        let trajectory = context.trajectory().await.unwrap();
        let questions: Vec<&str> = trajectory.nodes().map(|node| node.body.text("query")).collect();
        assert_eq!(questions, [&*format!("{agent:?}"), "And then?"]);
        assert_eq!(trajectory.bridges().len(), 1);
    }
}
