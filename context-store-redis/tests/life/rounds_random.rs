//! Random operations on rounds, compared with the in-memory store.

use context_core::store::{Cursor, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Change, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId,
    NodeRemoval, QueueItem, QueueName, Round, RoundRef, RoundState, TrajectoryError,
    TrajectoryNode,
};
use context_core::{Json, Result, Store, Timestamp};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;

use crate::fixture::RedisFixture;

const ODD: [&str; 10] = [
    "",
    "a",
    "b\0",
    "\0\0",
    "é\u{1f600}",
    "line\r\n",
    "{a}:%s",
    "0000000000000000",
    "]]--",
    "b\0\u{1}",
];
const JSON: [&str; 6] = [
    "{}",
    "1.0",
    "12345678901234567890123.50",
    r#"{"b":[1,{"\u0000":null}],"a":"\ud83d\ude00"}"#,
    "\"\"",
    "null",
];

/// An operation on one of the rounds. An operation that the round rejects is skipped.
#[derive(Clone, Debug)]
struct Step {
    round: usize,
    operation: u8,
    node: u32,
    other: u32,
    text: usize,
    json: usize,
    /// Whether the commit is sent once, twice, or late.
    sent: u8,
}

fn step() -> impl Strategy<Value = Step> {
    let parts = (0usize..5, 0u8..12, 0u32..8, 0u32..8, 0..ODD.len(), 0..JSON.len(), 0u8..8);
    parts.prop_map(|(round, operation, node, other, text, json, sent)| Step {
        round,
        operation,
        node,
        other,
        text,
        json,
        sent,
    })
}

/// The sessions, agents and numbers of the rounds of a case.
const ROUNDS: [(&str, u32, u32); 5] =
    [("s", 0, 0), ("s", 0, 7), ("s", 3, 7), ("s\0", 0, 1), ("s\0\u{1}", 0, 2)];

fn link(n: u32) -> MessageLink {
    MessageLink::new(ODD[1 + n as usize % 3], "m")
}

fn change(round: &mut Round, step: &Step, at: Timestamp) -> Result<Vec<Change>, TrajectoryError> {
    let number = round.round().round;
    let (node, other) = (NodeId::new(number, step.node), NodeId::new(number, step.other));
    let text = ODD[step.text];
    let json = Json::from_text(JSON[step.json]).unwrap();
    if round.query().is_none() {
        let query =
            NewQuery::new(text).raw(text).files([text]).author("me").message(link(step.node));
        return round.ask(query, at).map(|(_, changes)| changes);
    }
    let end = round.endpoints().next().unwrap_or(node);
    match step.operation {
        0..=2 => {
            let body = NodeBody::action(text, json.clone()).with("output", json)?;
            let new = NewNode::new(body, [end]).message(link(step.node)).message(link(step.other));
            round.add(new.describe(text), at).map(|(_, changes)| changes)
        }
        3..=4 => {
            let mut measures = Measures::default();
            (measures.cost_usd, measures.model) =
                (Some(0.1 + f64::from(step.node)), Some(text.into()));
            let new = NewNode::new(NodeBody::state(text), [end]).measure(measures).author(text);
            round.add(new, at).map(|(_, changes)| changes)
        }
        5 => {
            let new = NewNode::new(NodeBody::file(text), [node])
                .edge("produces")
                .label(format!("f{text}"));
            round.add(new, at).map(|(_, changes)| changes)
        }
        6..=7 => {
            let now = Changes::new().describe(text).set("params", json.clone()).set("output", json);
            let now = if step.operation == 6 { now } else { Changes::new().describe(text) };
            round.change(node, &now, Some(text.into()), at)
        }
        8 => round.remove(
            node,
            [NodeRemoval::Leaf, NodeRemoval::Cascade, NodeRemoval::Splice][step.json % 3],
            at,
        ),
        9 => {
            let target = NodeId::new(number.saturating_sub(1), step.other);
            let data = TrajectoryNode::new(target, "d", NodeBody::file("f"), at);
            round.refer(node, &data, at)
        }
        10 => {
            round.set_state(RoundState::Interrupted, at);
            let mut item = QueueItem::new("next");
            item.params.insert("p".into(), json);
            let _full = round.queues_mut(at).get_mut(QueueName::Todo).push(item);
            Ok(vec![])
        }
        _ => round.connect(node, other, Some("generates"), at),
    }
}

struct Both<'a> {
    ours: &'a dyn TrajectoryStore,
    other: &'a dyn TrajectoryStore,
}

impl Both<'_> {
    async fn record(&self, commit: &RoundCommit) {
        let (ours, other) =
            (self.ours.record_round(commit).await, self.other.record_round(commit).await);
        assert_eq!(ours.unwrap(), other.unwrap(), "{commit:?}");
    }

    async fn listed(&self, query: &RoundQuery) {
        let mut after: Option<Cursor> = None;
        loop {
            let query = query.clone().after(after.clone());
            let ours = self.ours.rounds(&query).await.unwrap();
            assert_eq!(ours, self.other.rounds(&query).await.unwrap(), "{query:?}");
            after = ours.next;
            if after.is_none() {
                return;
            }
        }
    }

    async fn same(&self, user: &str) {
        for (session, number, round) in ROUNDS {
            let agent = AgentRef::new(user, session, number);
            for range in [0..=u32::MAX, round..=round, 1..=7, 8..=u32::MAX] {
                let ours = self.ours.load_rounds(&agent, range.clone()).await.unwrap();
                assert_eq!(ours, self.other.load_rounds(&agent, range).await.unwrap());
            }
            self.listed(&RoundQuery::of_agent(&agent).limit(1)).await;
            self.listed(&RoundQuery::of_agent(&agent).before(7)).await;
            self.listed(&RoundQuery::of_user(user).session(session).before(2).limit(2)).await;
        }
        self.listed(&RoundQuery::of_user(user).limit(2)).await;
        for n in 0..3 {
            let MessageLink { chat, message } = link(n);
            let ours = self.ours.nodes_of_message(&user.into(), &chat, &message).await.unwrap();
            assert_eq!(
                ours,
                self.other.nodes_of_message(&user.into(), &chat, &message).await.unwrap()
            );
        }
    }
}

async fn replay(fixture: &RedisFixture, user: &str, steps: Vec<Step>) {
    let memory = InMemoryStore::default();
    let both =
        Both { ours: fixture.store.trajectories().unwrap(), other: memory.trajectories().unwrap() };
    let round = |(session, agent, round): &(&str, u32, u32)| -> RoundRef {
        AgentRef::new(user, *session, *agent).round(*round)
    };
    let mut rounds: Vec<Round> =
        ROUNDS.iter().map(|at| Round::new(round(at), Timestamp::from_micros(1))).collect();
    for (n, step) in steps.iter().enumerate() {
        let at = Timestamp::from_micros(10 + i64::try_from(n).unwrap());
        let round = &mut rounds[step.round];
        let Ok(changes) = change(round, step, at) else { continue };
        round.committed();
        let commit = RoundCommit::new(format!("k{n}"), changes, round.head());
        both.record(&commit).await;
        if step.sent == 0 {
            both.record(&commit).await;
        }
        if step.sent == 1 {
            let mut late = commit.clone();
            late.key = "late".into();
            both.record(&late).await;
            (late.expected, late.head.revision) = (commit.expected + 3, commit.expected + 4);
            both.record(&late).await;
        }
    }
    both.same(user).await;
    let problems = fixture.problems().await;
    assert!(problems.is_empty(), "{problems:?}");

    let middle = Timestamp::from_micros(10 + i64::try_from(steps.len() / 2).unwrap());
    let prunes = [
        RoundPrune::of_user(user).updated_until(middle),
        RoundPrune::of_user(user).session("s").agent(3),
        RoundPrune::of_user(user).agent(0).session("s\0"),
        RoundPrune::of_user(user).agent(0),
        RoundPrune::of_user(user),
    ];
    for prune in prunes {
        let ours = both.ours.prune_rounds(&prune).await.unwrap();
        assert_eq!(ours, both.other.prune_rounds(&prune).await.unwrap(), "{prune:?}");
        both.same(user).await;
    }
}

pub(crate) fn what_is_done_to_both_they_say_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fixture = runtime.block_on(RedisFixture::new());
    let config =
        ProptestConfig { failure_persistence: None, cases: 12, ..ProptestConfig::default() };
    let case = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let steps = prop::collection::vec(step(), 1..50);
    let run = runner.run(&steps, |steps| {
        case.set(case.get() + 1);
        runtime.block_on(replay(&fixture, &format!("u{}", case.get()), steps));
        Ok(())
    });
    // The connection needs the runtime while it is dropped.
    let _guard = runtime.enter();
    if let Err(error) = run {
        panic!("{error}");
    }
    assert!(fixture.keys(":rounds").is_empty() && fixture.keys(":links").is_empty());
}
