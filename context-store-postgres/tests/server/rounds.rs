//! Trajectories: committed rounds are loaded as the reference store loads them, and the tables show
//! the same in plain SQL.

use context_core::store::{RecordOutcome, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Changes, EdgeNames, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId,
    NodeRemoval, QueueItem, Round, RoundState, TrajectoryNodeKind,
};
use context_core::{Json, Store, Timestamp};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{StoreFixture, T, nothing_is_wrong};

/// The next step of a round.
#[derive(Clone, Debug)]
enum Step {
    Add {
        kind: TrajectoryNodeKind,
        text: String,
        json: String,
        after: Index,
        label: Option<String>,
        place: u8,
    },
    Change {
        node: Index,
        text: String,
        json: String,
        what: u8,
    },
    Remove {
        node: Index,
        cascade: bool,
    },
    Refer {
        from: Index,
        to: Index,
    },
    Queue {
        name: String,
    },
    State,
    /// Commits everything since the last commit to both stores, then again, late, or from an older
    /// state.
    Commit {
        trouble: u8,
    },
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zé]{0,8}",
        1 => Just("nul \0 and ␀".to_owned()),
        1 => Just("'\\ \u{1} \"#\" $1".to_owned()),
        1 => any::<String>(),
    ]
}

fn jsons() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"b":1.50,"a":12345678901234567890123}"#.to_owned()),
        Just(r#""a\u0000b\/\u00e9""#.to_owned()),
        Just(r#"{"lone":"\ud800","pair":"\ud83d\ude00"}"#.to_owned()),
        Just("null".to_owned()),
        Just(r#""\u00e9\/""#.to_owned()),
        Just(format!("{}1{}", "[".repeat(9000), "]".repeat(9000))),
        Just("-0.0e+10".to_owned()),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds = prop::sample::select(&TrajectoryNodeKind::ALL[1..]);
    let label = prop::option::weighted(0.2, texts());
    let step = prop_oneof![
        5 => (kinds, texts(), jsons(), any::<Index>(), label,
            0..3_u8).prop_map(|(kind, text, json, after, label, place)| {
            Step::Add { kind, text, json, after, label, place }
        }),
        4 => (any::<Index>(), texts(), jsons(), 0..4_u8)
            .prop_map(|(node, text, json, what)| Step::Change { node, text, json, what }),
        1 => (any::<Index>(),
            any::<bool>()).prop_map(|(node, cascade)| Step::Remove { node, cascade }),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Refer { from, to }),
        1 => texts().prop_map(|name| Step::Queue { name }),
        1 => Just(Step::State),
        6 => (0..6_u8).prop_map(|trouble| Step::Commit { trouble }),
    ];
    prop::collection::vec(step, 1..40)
}

fn json(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

fn body(kind: TrajectoryNodeKind, text: &str, value: &str) -> NodeBody {
    match kind {
        TrajectoryNodeKind::Query | TrajectoryNodeKind::State => {
            NodeBody::state(text).with("goal", text).unwrap()
        }
        TrajectoryNodeKind::Action => NodeBody::action(text, json(value)),
        TrajectoryNodeKind::Response => NodeBody::response(text),
        TrajectoryNodeKind::Knowledge => NodeBody::knowledge(text, text),
        TrajectoryNodeKind::Tool => NodeBody::tool(json(value), json(value)),
        TrajectoryNodeKind::Table => NodeBody::table(text),
        TrajectoryNodeKind::Column => NodeBody::column(text).with("values", json(value)).unwrap(),
        TrajectoryNodeKind::File => NodeBody::file(text),
        TrajectoryNodeKind::Script => NodeBody::script(text, "python"),
        _ => NodeBody::skill(text),
    }
}

/// Applies a step and returns its changes, which are empty if the round rejects the step.
fn take(round: &mut Round, step: &Step, at: Timestamp) -> Vec<context_core::trajectory::Change> {
    let ids: Vec<NodeId> = round.nodes().map(|node| node.id).collect();
    let pick = |index: &Index| *index.get(&ids);
    if ids.is_empty() {
        let query = NewQuery::new("why?")
            .files(["a b"])
            .author("ada")
            .message(MessageLink::new("chat", "m0"));
        return round.ask(query, at).unwrap().1;
    }
    let done = match step {
        Step::Add { kind, text, json, after, label, place } => {
            let mut new = NewNode::new(body(*kind, text, json), [pick(after)])
                .edge("e\0dge")
                .author(text.clone());
            new = match place {
                0 => new.append(),
                1 => new.close(),
                _ => new,
            };
            if *place == 0 {
                let mut measures = Measures::default();
                (measures.input_tokens, measures.cost_usd) = (Some(u64::MAX), Some(0.1));
                measures.error = Some(text.as_str().into());
                new = new.measure(measures).message(MessageLink::new("chat", text.as_str()));
            }
            if let Some(label) = label {
                new = new.label(label.as_str());
            }
            round.add(new, at).map(|(_, changes)| changes)
        }
        Step::Change { node, text, json: value, what } => {
            let kind = round.node(pick(node)).unwrap().kind();
            let changes = match (what, kind) {
                (0, TrajectoryNodeKind::Action) => {
                    Changes::new().set("output", json(value)).set("success", true)
                }
                (0, TrajectoryNodeKind::Column) => Changes::new().set("values", json(value)),
                (1, TrajectoryNodeKind::State) => Changes::new().set("state", text.as_str()),
                (2, _) => {
                    let mut measures = Measures::default();
                    measures.model = Some(text.as_str().into());
                    Changes::new().measure(&measures)
                }
                _ => Changes::new().describe(text.as_str()),
            };
            round.change(pick(node), &changes, Some(text.as_str().into()), at)
        }
        Step::Remove { node, cascade } => round.remove(
            pick(node),
            if *cascade { NodeRemoval::Cascade } else { NodeRemoval::Splice },
            at,
        ),
        Step::Refer { from, to } => {
            let to = round.node(pick(to)).unwrap().clone();
            round.refer(pick(from), &to, at)
        }
        Step::Queue { name } => {
            let _fits = round.queues_mut(at).todo.push(QueueItem::new(name.clone()));
            return Vec::new();
        }
        Step::State => {
            round.set_state(RoundState::Interrupted, at);
            return Vec::new();
        }
        Step::Commit { .. } => return Vec::new(),
    };
    done.unwrap_or_default()
}

async fn both(stores: [&dyn TrajectoryStore; 2], commit: &RoundCommit) -> RecordOutcome {
    let outcomes = [stores[0].record_round(commit).await, stores[1].record_round(commit).await];
    let [ours, theirs] = outcomes.map(|outcome| outcome.map_err(|error| error.to_string()));
    assert_eq!(ours, theirs);
    ours.unwrap()
}

async fn same(stores: [&dyn TrajectoryStore; 2], agent: &AgentRef) {
    let [ours, theirs] = stores.map(|store| store.load_rounds(agent, 0..=u32::MAX));
    let (ours, theirs) = (ours.await.unwrap(), theirs.await.unwrap());
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.head, theirs.head);
        assert_eq!(ours.edges, theirs.edges);
        for (ours, theirs) in ours.nodes.iter().zip(&theirs.nodes) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours, theirs);
    }
    let query = RoundQuery::of_user(agent.user.clone()).limit(2);
    let pages = [stores[0].rounds(&query).await.unwrap(), stores[1].rounds(&query).await.unwrap()];
    assert_eq!(pages[0].items, pages[1].items);
    assert_eq!(pages[0].next, pages[1].next);
    for message in ["m0", "", "nul \0 and ␀"] {
        let (chat, message) = ("chat".into(), message.into());
        let [ours, theirs] =
            stores.map(|store| store.nodes_of_message(&agent.user, &chat, &message));
        assert_eq!(ours.await.unwrap(), theirs.await.unwrap());
    }
}

/// Runs steps on one round of two stores.
async fn run(stores: [&dyn TrajectoryStore; 2], agent: &AgentRef, number: u32, steps: &[Step]) {
    let mut round = Round::new(agent.round(number), T).edge_names(EdgeNames::Any);
    let (mut pending, mut last) = (Vec::new(), None::<RoundCommit>);
    for (i, step) in steps.iter().enumerate() {
        let at = Timestamp::from_micros(i64::try_from(i).unwrap() * 1_000);
        pending.extend(take(&mut round, step, at));
        let Step::Commit { trouble } = step else { continue };
        round.committed();
        let commit =
            RoundCommit::new(format!("key\0{i}"), std::mem::take(&mut pending), round.head());
        assert_eq!(both(stores, &commit).await, RecordOutcome::Applied);
        match trouble {
            0 => assert_eq!(both(stores, &commit).await, RecordOutcome::Replayed),
            1 => {
                let mut late = commit.clone();
                late.key = "another".into();
                assert!(matches!(both(stores, &late).await, RecordOutcome::Conflict { .. }));
            }
            2 => {
                if let Some(old) = &last {
                    assert!(matches!(both(stores, old).await, RecordOutcome::Conflict { .. }));
                }
            }
            _ => {}
        }
        same(stores, agent).await;
        last = Some(commit);
    }
}

pub(crate) fn what_is_committed_is_loaded_as_the_reference_loads_it() {
    let fixture = StoreFixture::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime.block_on(fixture.open());
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let mut sessions = 0_u32;
    let sessions = std::cell::RefCell::new(&mut sessions);
    let result = TestRunner::new(config).run(&prop::collection::vec(steps(), 1..3), |rounds| {
        let mut sessions = sessions.borrow_mut();
        **sessions += 1;
        let agent = AgentRef::new(
            format!("us\0er {}", **sessions % 3),
            format!("ses\0sion {}", **sessions),
            **sessions % 2,
        );
        let reference = InMemoryStore::default();
        runtime.block_on(async {
            let stores = [store.trajectories().unwrap(), reference.trajectories().unwrap()];
            let of_user = RoundPrune::of_user(agent.user.clone());
            let _before = stores[0].prune_rounds(&of_user).await.unwrap();
            for (number, steps) in (0..).zip(&rounds) {
                run(stores, &agent, number * 7, steps).await;
            }
            nothing_is_wrong(&store).await;
            let pruned = [
                stores[0].prune_rounds(&of_user).await.unwrap(),
                stores[1].prune_rounds(&of_user).await.unwrap(),
            ];
            assert_eq!(pruned[0], pruned[1]);
            same(stores, &agent).await;
        });
        Ok(())
    });
    runtime.block_on(fixture.drop());
    result.unwrap();
}
