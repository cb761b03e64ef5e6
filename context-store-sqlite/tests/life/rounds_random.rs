//! Random operations on rounds through two handles, compared with the in-memory store.

use std::collections::BTreeMap;

use context_core::store::{RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Change, Changes, EdgeNames, Measures, MessageLink, NewNode, NewQuery, NodeBody,
    NodeId, NodeRemoval, QueueItem, Round, RoundRef, RoundState,
};
use context_core::{Store, Timestamp};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::store_fixture::StoreFixture;

/// One change of a round. Nodes are picked among all that ever existed.
#[derive(Clone, Debug)]
enum Step {
    Add { kind: u8, after: Vec<u8>, append: bool, label: Option<String>, message: Option<u8> },
    Change { node: u8, text: String, flag: bool },
    Measure { node: u8, tokens: Option<u64> },
    Remove { node: u8, how: u8 },
    Connect { from: u8, to: u8, name: String },
    Refer { from: u8, round: u8, to: u8 },
    Queue(String),
    Close,
}

/// The way in which a commit is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Delivery {
    Once,
    /// Sent twice, as after a lost reply.
    Twice,
    /// Sent again under another key.
    Late,
    /// Serialized as JSON, as in a journal.
    AsJson,
}

#[derive(Clone, Debug)]
struct Turn {
    round: u8,
    steps: Vec<Step>,
    sending: Delivery,
    other_handle: bool,
}

/// Generates any text.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-c]{0,3}", 1 => ".{0,6}", 1 => "[\u{0}'\"(){}%é\u{10ffff}\n]{0,4}"]
}

fn step() -> impl Strategy<Value = Step> {
    let label = prop::option::weighted(0.3, text());
    let message = prop::option::weighted(0.3, any::<u8>());
    prop_oneof![
        8 => (any::<u8>(), prop::collection::vec(any::<u8>(), 1..3), any::<bool>(), label, message)
            .prop_map(|(kind, after, append, label, message)| Step::Add { kind, after, append,
                label, message }),
        3 => (any::<u8>(), text(),
            any::<bool>()).prop_map(|(node, text, flag)| Step::Change { node, text, flag }),
        1 => (any::<u8>(), prop::option::of(any::<u64>())).prop_map(|(node,
            tokens)| Step::Measure { node, tokens }),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(node, how)| Step::Remove { node, how }),
        2 => (any::<u8>(), any::<u8>(),
            text()).prop_map(|(from, to, name)| Step::Connect { from, to, name }),
        1 => (any::<u8>(), any::<u8>(),
            any::<u8>()).prop_map(|(from, round, to)| Step::Refer { from, round, to }),
        1 => text().prop_map(Step::Queue),
        1 => Just(Step::Close),
    ]
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let sending = prop_oneof![
        5 => Just(Delivery::Once), 1 => Just(Delivery::Twice), 1 => Just(Delivery::Late),
            2 => Just(Delivery::AsJson),
    ];
    let steps = prop_oneof![6 => prop::collection::vec(step(), 0..6),
        1 => prop::collection::vec(step(), 20..60)];
    let turn = (any::<u8>(), steps, sending, any::<bool>());
    let turn = turn.prop_map(|(round, steps, sending, other_handle)| Turn {
        round,
        steps,
        sending,
        other_handle,
    });
    prop::collection::vec(turn, 1..25)
}

fn agents() -> [AgentRef; 4] {
    let nul = AgentRef::new("a\0da", "sess\0ion", 0);
    [AgentRef::main("ada", "s"), AgentRef::new("ada", "s", 2), AgentRef::main("ada", "t"), nul]
}

fn reference(pick: u8) -> RoundRef {
    let agents = agents();
    agents[usize::from(pick) % agents.len()].round(u32::from(pick / 4) % 3)
}

/// Values whose digits and key order would be lost if they were parsed as numbers and maps.
fn exact(text: &str) -> serde_json::Value {
    serde_json::json!({ "text": text })
}

fn body(kind: u8, text: &str) -> NodeBody {
    let json: Box<RawValue> =
        RawValue::from_string(r#"{"z":1.10,"a":123456789012345678901234567890}"#.into()).unwrap();
    match kind % 10 {
        0 => NodeBody::state(text),
        1 => NodeBody::action(text, json),
        2 => NodeBody::file(text),
        3 => NodeBody::response(text),
        4 => NodeBody::table(text),
        5 => NodeBody::knowledge("domain", text),
        6 => NodeBody::tool(exact(text), json),
        7 => NodeBody::column(text),
        8 => NodeBody::script(text, "sh"),
        _ => NodeBody::skill(text),
    }
}

fn take(round: &mut Round, step: &Step, at: Timestamp) -> Vec<Change> {
    let (known, number) = (round.head().next.max(1), round.round().round);
    let node = |pick: u8| NodeId::new(number, u32::from(pick) % known);
    let done = match step {
        Step::Add { kind, after, append, label, message } => {
            let text = label.as_deref().unwrap_or("x");
            let mut new = NewNode::new(body(*kind, text), after.iter().map(|pick| node(*pick)));
            new = new.edge("named").describe(text).author(text);
            if *append {
                new = new.append();
            }
            if let Some(label) = label {
                new = new.label(label.as_str());
            }
            for pick in message.iter().chain(message) {
                new = new.message(MessageLink::new("chat\0", format!("m{}", pick % 3)));
            }
            round.add(new, at).map(|(_, changes)| changes)
        }
        Step::Change { node: pick, text, flag } => {
            let id = node(*pick);
            let mut changes = Changes::new().describe(text.as_str());
            for (name, value) in [
                ("output", exact(text)),
                ("success", (*flag).into()),
                ("content", text.as_str().into()),
            ] {
                if round.node(id).is_some_and(|node| node.kind().field(name).is_some()) {
                    changes = changes.set(name, value);
                }
            }
            round.change(id, &changes, flag.then(|| text.as_str().into()), at)
        }
        Step::Measure { node: pick, tokens } => {
            let mut measures = Measures::default();
            (measures.input_tokens, measures.cost_usd) =
                (*tokens, tokens.map(|tokens| tokens as f64 / 3e6));
            round.change(node(*pick), &Changes::new().measure(&measures), None, at)
        }
        Step::Remove { node: pick, how } => {
            let how = [NodeRemoval::Leaf, NodeRemoval::Cascade, NodeRemoval::Splice]
                [usize::from(how % 3)];
            round.remove(node(*pick), how, at)
        }
        Step::Connect { from, to, name } => round.connect(node(*from), node(*to), Some(name), at),
        Step::Refer { from, round: other, to } => {
            let to = NodeId::new(u32::from(other % 3), u32::from(to % 4));
            let old = context_core::trajectory::TrajectoryNode::new(
                to,
                "old",
                NodeBody::file("/old"),
                at,
            );
            round.refer(node(*from), &old, at)
        }
        Step::Queue(name) => {
            let _ = round.queues_mut(at).todo.push(QueueItem::new(name.as_str()));
            Ok(Vec::new())
        }
        Step::Close => {
            round.set_state(RoundState::Closed, at);
            Ok(Vec::new())
        }
    };
    done.unwrap_or_default()
}

async fn shows_the_same(ours: &dyn TrajectoryStore, theirs: &dyn TrajectoryStore) {
    for agent in agents() {
        for range in [0..=u32::MAX, 1..=1, 0..=1] {
            let expected = theirs.load_rounds(&agent, range.clone()).await.unwrap();
            assert_eq!(ours.load_rounds(&agent, range).await.unwrap(), expected, "{agent:?}");
        }
    }
    let all = RoundQuery::of_user("ada");
    let mut of_all_sessions = all.clone();
    of_all_sessions.agent = Some(0);
    let [main, sub, _, nul] = agents();
    let queries = [
        all.clone(),
        all.clone().before(2),
        all.clone().session("s"),
        all.clone().session("s").before(1),
        all.session("none"),
        of_all_sessions,
        RoundQuery::of_agent(&main),
        RoundQuery::of_agent(&sub).before(2),
        RoundQuery::of_agent(&nul),
    ];
    for query in queries {
        for limit in [1, 2, 100] {
            let mut next = Some(query.clone().limit(limit));
            while let Some(query) = next.take() {
                let page = ours.rounds(&query).await.unwrap();
                assert_eq!(page, theirs.rounds(&query).await.unwrap(), "{query:?}");
                next = page.next.map(|cursor| query.after(Some(cursor)));
            }
        }
        // Cursors that may lie outside of the requested range.
        for place in [main.round(1), sub.round(9), AgentRef::new("ada", "zz", 7).round(0)] {
            let query = query.clone().after(Some(place.cursor()));
            assert_eq!(
                ours.rounds(&query).await.unwrap(),
                theirs.rounds(&query).await.unwrap(),
                "{query:?}"
            );
        }
    }
    for user in ["ada", "a\0da", "bob"] {
        for message in ["m0", "m1", "m2"] {
            let (user, chat, message) = (user.into(), "chat\0".into(), message.into());
            let expected = theirs.nodes_of_message(&user, &chat, &message).await.unwrap();
            assert_eq!(ours.nodes_of_message(&user, &chat, &message).await.unwrap(), expected);
        }
    }
}

async fn live(turns: Vec<Turn>) {
    let fixture = StoreFixture::new().await;
    let again = fixture.again().await;
    let model = InMemoryStore::default();
    let theirs = model.trajectories().unwrap();
    let mut rounds: BTreeMap<RoundRef, Round> = BTreeMap::new();
    for (turn, number) in turns.iter().zip(0..) {
        let ours = if turn.other_handle { &again } else { &fixture.store }.trajectories().unwrap();
        let at = Timestamp::from_micros(1_000_000 + number);
        let mut changes = Vec::new();
        let round = rounds.entry(reference(turn.round)).or_insert_with_key(|key| {
            let mut round = Round::new(key.clone(), at).edge_names(EdgeNames::Any);
            let query =
                NewQuery::new("why\0?").files(["a"]).message(MessageLink::new("chat\0", "m0"));
            changes = round.ask(query, at).unwrap().1;
            round
        });
        for step in &turn.steps {
            changes.extend(take(round, step, at));
        }
        round.committed();
        if turn.sending == Delivery::AsJson {
            changes = serde_json::from_str(&serde_json::to_string(&changes).unwrap()).unwrap();
        }
        let commit = RoundCommit::new(format!("key {number}"), changes, round.head());
        let mut commits = vec![commit.clone()];
        match turn.sending {
            Delivery::Twice => commits.push(commit),
            Delivery::Late => commits.push(RoundCommit::new("late", commit.changes, commit.head)),
            Delivery::Once | Delivery::AsJson => {}
        }
        for commit in commits {
            let expected = theirs.record_round(&commit).await.unwrap();
            assert_eq!(ours.record_round(&commit).await.unwrap(), expected);
        }
        let agent = &round.round().agent;
        let expected = theirs.load_rounds(agent, 0..=9).await.unwrap();
        assert_eq!(ours.load_rounds(agent, 0..=9).await.unwrap(), expected);
    }
    let ours = fixture.store.trajectories().unwrap();
    shows_the_same(ours, theirs).await;
    assert_eq!(fixture.problems().await, [""; 0]);
    let middle = Timestamp::from_micros(1_000_000 + turns.len() as i64 / 2);
    for prune in [
        RoundPrune::of_user("ada").updated_until(middle),
        RoundPrune::of_user("ada").session("s").agent(2),
    ] {
        assert_eq!(
            ours.prune_rounds(&prune).await.unwrap(),
            theirs.prune_rounds(&prune).await.unwrap()
        );
        shows_the_same(ours, theirs).await;
    }
    assert_eq!(fixture.problems().await, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(32) })]

    #[test]
    fn any_life_of_rounds_is_what_it_is_in_memory(turns in turns()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(live(turns));
    }
}
