//! Rounds: the number of round trips, expired rounds, findings of the check, and users with rounds.

use std::time::Duration;

use context_core::base::limits;
use context_core::store::{RecordOutcome, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Change, Changes, MessageLink, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval,
    Round, TrajectoryNode,
};
use context_core::{CancelSignal, ErrorKind, Store, UserId};
use redis::cmd;

use crate::fixture::{RedisFixture, T};
use crate::round_trips::Monitor;

const DAY: Duration = Duration::from_secs(86_400);

fn rounds(fixture: &RedisFixture) -> &dyn TrajectoryStore {
    fixture.store.trajectories().unwrap()
}

pub(crate) fn ada() -> AgentRef {
    AgentRef::main("ada", "s")
}

/// Returns the commit of these changes.
fn commit(round: &mut Round, changes: Vec<Change>) -> RoundCommit {
    round.committed();
    RoundCommit::new(format!("k{}", round.revision()), changes, round.head())
}

pub(crate) async fn apply(fixture: &RedisFixture, round: &mut Round, changes: Vec<Change>) {
    let commit = commit(round, changes);
    assert_eq!(rounds(fixture).record_round(&commit).await.unwrap(), RecordOutcome::Applied);
}

/// A round with a question, which is linked to the message `m` of the chat `c`.
pub(crate) async fn begin(
    fixture: &RedisFixture,
    agent: &AgentRef,
    number: u32,
) -> (Round, NodeId) {
    let mut round = Round::new(agent.round(number), T);
    let query = NewQuery::new("Why?").message(MessageLink::new("c", "m"));
    let (id, changes) = round.ask(query, T).unwrap();
    apply(fixture, &mut round, changes).await;
    (round, id)
}

pub(crate) async fn act(fixture: &RedisFixture, round: &mut Round, after: NodeId) -> NodeId {
    let new = NewNode::new(NodeBody::action("look", serde_json::json!({})), [after]).append();
    let (id, changes) = round.add(new.edge("triggers"), T).unwrap();
    apply(fixture, round, changes).await;
    id
}

async fn heads(fixture: &RedisFixture, user: &str) -> Vec<u32> {
    let page = rounds(fixture).rounds(&RoundQuery::of_user(user)).await.unwrap();
    page.items.iter().map(|head| head.round.round).collect()
}

pub(crate) async fn a_commit_is_one_question_and_so_are_many_rounds() {
    let fixture = RedisFixture::new().await;
    let (mut round, query) = begin(&fixture, &ada(), 0).await;
    let mut monitor = Monitor::of(&fixture);
    let action = act(&fixture, &mut round, query).await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    let changes = round.change(action, &Changes::new().set("output", "done"), None, T).unwrap();
    apply(&fixture, &mut round, changes).await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    for number in 1..50 {
        begin(&fixture, &ada(), number).await;
    }
    monitor.seen(&fixture);
    let loaded = rounds(&fixture).load_rounds(&ada(), 0..=49).await.unwrap();
    assert_eq!((loaded.len(), &loaded[0]), (50, &round.to_record()));
    // Sent as one pipeline.
    assert_eq!(monitor.seen(&fixture), ["HGETALL"; 50]);
    assert_eq!(rounds(&fixture).load_rounds(&ada(), 0..=u32::MAX).await.unwrap(), loaded);
    assert_eq!(monitor.seen(&fixture)[..2], ["ZRANGEBYLEX", "HGETALL"]);
}

pub(crate) async fn a_round_expires_whole_and_its_entries_are_none() {
    let fixture = RedisFixture::with(|config| config.chat_ttl(DAY)).await;
    let (mut round, query) = begin(&fixture, &ada(), 0).await;
    let key = fixture.keys(":round2:*").remove(0);
    let indexes = [fixture.keys(":rounds").remove(0), fixture.keys(":links").remove(0)];
    let left = |key: &str| -> i64 { cmd("PTTL").arg(key).query(&mut fixture.server()).unwrap() };
    let day = i64::try_from(DAY.as_millis()).unwrap();
    let short = |key: &str| -> u8 {
        cmd("PEXPIRE").arg(key).arg(day / 2).query(&mut fixture.server()).unwrap()
    };
    for key in [&key, &indexes[0], &indexes[1]] {
        assert!((1..=day).contains(&left(key)), "{key}");
        assert_eq!(short(key), 1);
    }
    act(&fixture, &mut round, query).await;
    for key in [&key, &indexes[0], &indexes[1]] {
        assert!(left(key) > day / 2, "a write puts off the end of {key}");
    }

    begin(&fixture, &ada(), 1).await;
    let expired: u8 = cmd("EXPIREAT").arg(&key).arg(1).query(&mut fixture.server()).unwrap();
    assert_eq!(expired, 1);
    let of_message = async || {
        rounds(&fixture).nodes_of_message(&"ada".into(), &"c".into(), &"m".into()).await.unwrap()
    };
    assert_eq!(rounds(&fixture).load_rounds(&ada(), 0..=u32::MAX).await.unwrap().len(), 1);
    assert_eq!(of_message().await.iter().map(|found| found.node.round).collect::<Vec<_>>(), [1]);
    assert!(fixture.problems().await.is_empty());
    let entries =
        |key: &str| -> u64 { cmd("ZCARD").arg(key).query(&mut fixture.server()).unwrap() };
    assert_eq!((entries(&indexes[0]), entries(&indexes[1])), (2, 4));
    assert_eq!(heads(&fixture, "ada").await, [1]);
    assert_eq!((entries(&indexes[0]), entries(&indexes[1])), (1, 2), "a listing sweeps");
    // The round is a different one by now.
    let late = RoundCommit::new("late", vec![], round.head());
    let outcome = rounds(&fixture).record_round(&late).await.unwrap();
    assert_eq!(outcome, RecordOutcome::Conflict { actual: 0 });
    begin(&fixture, &ada(), 0).await;
    assert_eq!(heads(&fixture, "ada").await, [1, 0]);
}

pub(crate) async fn who_only_begins_rounds_that_expire_keeps_no_entries() {
    let fixture = RedisFixture::with(|config| config.chat_ttl(DAY)).await;
    for number in 0..20 {
        begin(&fixture, &ada(), number).await;
        let key = fixture.keys(":round2:*").remove(0);
        let _gone: u8 = cmd("UNLINK").arg(key).query(&mut fixture.server()).unwrap();
    }
    let entries: u64 =
        cmd("ZCARD").arg(&fixture.keys(":rounds")[0]).query(&mut fixture.server()).unwrap();
    assert_eq!(entries, 1);
}

pub(crate) async fn a_handle_without_a_time_to_live_keeps_the_indexes() {
    let fixture = RedisFixture::with(|config| config.chat_ttl(DAY)).await;
    begin(&fixture, &ada(), 0).await;
    let mut config = fixture.config.clone();
    config.chat_ttl = None;
    let for_ever = context_store_redis::RedisStore::open(config).await.unwrap();
    let mut round = Round::new(ada().round(1), T);
    let (_, changes) = round.ask(NewQuery::new("Why?"), T).unwrap();
    let commit = commit(&mut round, changes);
    let outcome = for_ever.trajectories().unwrap().record_round(&commit).await.unwrap();
    assert_eq!(outcome, RecordOutcome::Applied);
    begin(&fixture, &ada(), 2).await;
    for key in [fixture.keys(":rounds").remove(0), fixture.keys(":links").remove(0)] {
        let left: i64 = cmd("PTTL").arg(&key).query(&mut fixture.server()).unwrap();
        assert_eq!(left, -1, "{key}");
    }
}

pub(crate) async fn damage_to_rounds_is_found_and_never_a_smaller_round() {
    let fixture = RedisFixture::new().await;
    let (mut round, query) = begin(&fixture, &ada(), 0).await;
    let action = act(&fixture, &mut round, query).await;
    let changes = round.change(action, &Changes::new().describe("more"), None, T).unwrap();
    apply(&fixture, &mut round, changes).await;
    assert!(fixture.problems().await.is_empty());
    let key = fixture.keys(":round2:*").remove(0);
    let mut server = fixture.server();
    for field in ["n1", "v1:0", "v1", "e0", "n0", "a", "h"] {
        let value: Vec<u8> = cmd("HGET").arg(&key).arg(field).query(&mut server).unwrap();
        for damaged in
            [None, Some(&value[..value.len() - 1]), Some(b"\xff\xff\xff\xff\xff".as_slice())]
        {
            let _: u8 = match damaged {
                None => cmd("HDEL").arg(&key).arg(field).query(&mut server).unwrap(),
                Some(damaged) => {
                    cmd("HSET").arg(&key).arg(field).arg(damaged).query(&mut server).unwrap()
                }
            };
            let loaded = rounds(&fixture).load_rounds(&ada(), 0..=0).await;
            assert_eq!(loaded.unwrap_err().kind(), ErrorKind::Corrupt, "{field} {damaged:?}");
            assert!(!fixture.problems().await.is_empty(), "{field} {damaged:?}");
        }
        let _: u8 = cmd("HSET").arg(&key).arg(field).arg(value).query(&mut server).unwrap();
    }
    let mut check = async |change: redis::Cmd, back: redis::Cmd, problem: &str| {
        let _: i64 = change.query(&mut server).unwrap();
        let problems = fixture.problems().await;
        assert!(problems.iter().any(|found| found.contains(problem)), "{problem}: {problems:?}");
        let _: i64 = back.query(&mut server).unwrap();
        assert!(fixture.problems().await.is_empty(), "{problem}");
    };
    let (list, links) = (fixture.keys(":rounds").remove(0), fixture.keys(":links").remove(0));
    let entries: Vec<Vec<u8>> =
        cmd("ZRANGE").arg(&links).arg(0).arg(-1).query(&mut fixture.server()).unwrap();
    let name: Vec<Vec<u8>> =
        cmd("ZRANGE").arg(&list).arg(0).arg(-1).query(&mut fixture.server()).unwrap();
    check(
        cmd("HSET").arg(&key).arg("x").arg(1).clone(),
        cmd("HDEL").arg(&key).arg("x").clone(),
        "round 0 of agent 0 of session s: field x belongs to no part of the round",
    )
    .await;
    check(
        cmd("ZREM").arg(&list).arg(&name).clone(),
        cmd("ZADD").arg(&list).arg(0).arg(&name).clone(),
        "the round is missing from the list of its user",
    )
    .await;
    for entry in entries {
        let problem = if entry[0] == b'm' {
            "only one of its two index entries"
        } else {
            "the index of links disagrees"
        };
        check(
            cmd("ZREM").arg(&links).arg(&entry).clone(),
            cmd("ZADD").arg(&links).arg(0).arg(&entry).clone(),
            problem,
        )
        .await;
    }
    let other = format!("{key}0");
    check(
        cmd("COPY").arg(&key).arg(&other).clone(),
        cmd("DEL").arg(&other).clone(),
        "the round is stored under the key of another round",
    )
    .await;
}

pub(crate) async fn a_change_that_does_not_fit_is_refused_and_nothing_is_written() {
    let fixture = RedisFixture::new().await;
    let (mut round, query) = begin(&fixture, &ada(), 0).await;
    let action = act(&fixture, &mut round, query).await;
    let before = rounds(&fixture).load_rounds(&ada(), 0..=0).await.unwrap();
    let gone = Change::NodeRemoved { id: action };
    let again = Change::NodeAdded {
        node: std::sync::Arc::new(TrajectoryNode::new(action, "x", NodeBody::state("x"), T)),
    };
    let changed = round.clone().change(action, &Changes::new().describe("x"), None, T).unwrap();
    round.committed();
    for changes in [vec![gone.clone(), gone.clone()], vec![again], [vec![gone], changed].concat()] {
        let commit = RoundCommit::new("k", changes, round.head());
        let error = rounds(&fixture).record_round(&commit).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(rounds(&fixture).load_rounds(&ada(), 0..=0).await.unwrap(), before);
    }
}

pub(crate) async fn a_large_round_goes_both_ways_and_forgets_what_is_removed() {
    let fixture = RedisFixture::new().await;
    let (mut round, query) = begin(&fixture, &ada(), 0).await;
    let mut changes = Vec::new();
    while changes.len() < limits::MAX_COMMIT_ITEMS {
        let new = NewNode::new(NodeBody::file("f"), [query])
            .edge("produces")
            .message(MessageLink::new("c", "n"));
        changes.extend(round.add(new, T).unwrap().1);
    }
    apply(&fixture, &mut round, changes).await;
    assert_eq!(rounds(&fixture).load_rounds(&ada(), 0..=0).await.unwrap(), [round.to_record()]);
    let nodes = async || {
        rounds(&fixture).nodes_of_message(&"ada".into(), &"c".into(), &"n".into()).await.unwrap()
    };
    assert_eq!(nodes().await.len(), limits::MAX_COMMIT_ITEMS / 2);
    let all: Vec<NodeId> = round.nodes().map(|node| node.id).filter(|id| *id != query).collect();
    let mut changes = Vec::new();
    for id in &all[2..] {
        changes.extend(round.remove(*id, NodeRemoval::Leaf, T).unwrap());
    }
    apply(&fixture, &mut round, changes).await;
    let loaded = rounds(&fixture).load_rounds(&ada(), 0..=0).await.unwrap();
    assert_eq!((loaded[0].nodes.len(), loaded[0].edges.len(), nodes().await.len()), (3, 2, 2));
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn who_has_only_rounds_is_a_user_and_is_erased() {
    let fixture = RedisFixture::new().await;
    fixture.create("bob", "trip").await;
    for user in ["ada", "bob", "a.b}"] {
        for number in 0..3 {
            begin(&fixture, &AgentRef::main(user, "s"), number).await;
        }
    }
    let users = |page: context_core::store::Page<UserId>| {
        page.items.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(users(fixture.maintenance().users(10, None).await.unwrap()), ["a.b}", "ada", "bob"]);
    let report = fixture.maintenance().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.rounds, report.findings), (9, vec![]));
    let erased =
        fixture.maintenance().erase_user(&"bob".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, erased.rounds, erased.remaining), (1, 3, 0));
    // Nothing remains of a damaged round either.
    let broken = fixture.keys(":round2:*").remove(0);
    let _: u8 = cmd("HDEL").arg(&broken).arg("h").query(&mut fixture.server()).unwrap();
    for user in ["ada", "a.b}"] {
        let erased =
            fixture.maintenance().erase_user(&user.into(), &CancelSignal::never()).await.unwrap();
        assert_eq!((erased.rounds, erased.remaining), (3, 0));
        assert_eq!(heads(&fixture, user).await, [0; 0]);
    }
    assert!(
        fixture.keys(":round2:*").is_empty()
            && fixture.keys(":rounds").is_empty()
            && fixture.keys(":links").is_empty()
    );
    let pruned = rounds(&fixture).prune_rounds(&RoundPrune::of_user("ada")).await.unwrap();
    assert_eq!(pruned.rounds, 0);
}

pub(crate) async fn of_two_writers_one_is_first() {
    let fixture = RedisFixture::new().await;
    let (round, query) = begin(&fixture, &ada(), 0).await;
    let other = fixture.again().await;
    let attempt = async |store: &dyn TrajectoryStore, key: &str| {
        let mut round = round.clone();
        let new = NewNode::new(NodeBody::state(key), [query]);
        let (_, changes) = round.add(new, T).unwrap();
        round.committed();
        store.record_round(&RoundCommit::new(key, changes, round.head())).await.unwrap()
    };
    let both = tokio::join!(
        attempt(rounds(&fixture), "one"),
        attempt(other.trajectories().unwrap(), "two")
    );
    let conflict = RecordOutcome::Conflict { actual: 2 };
    let expected = [(RecordOutcome::Applied, conflict), (conflict, RecordOutcome::Applied)];
    assert!(expected.contains(&both), "{both:?}");
    let loaded = rounds(&fixture).load_rounds(&ada(), 0..=0).await.unwrap();
    assert_eq!((loaded[0].nodes.len(), loaded[0].head.revision), (2, 2));
}
