//! Model test: the file channel behaves like the in-memory store.

use context_core::Store;
use context_core::store::{RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Changes, MessageLink, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval, Round,
    RoundState,
};
use context_store_inmem::InMemoryStore;
use context_trajectory::FileChannel;
use proptest::prelude::*;

use super::at;

#[derive(Clone, Debug)]
enum Step {
    Add { user: usize, agent: u32, round: u32, text: String, link: bool },
    Change { user: usize, agent: u32, round: u32, text: String },
    Remove { user: usize, agent: u32, round: u32 },
    End { user: usize, agent: u32, round: u32 },
    Reopen,
    Close,
    Prune { user: usize, until: i64 },
    List { user: usize, limit: usize },
}

const USERS: [(&str, &str); 4] =
    [("ada", "s"), ("Ada", "s"), ("ada", "S/../s"), ("ada", "\u{0}~\u{1f600}")];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || (0..USERS.len(), 0..2_u32, 0..3_u32);
    let step = prop_oneof![
        6 => (place(), "\\PC{0,40}|[\n\r\u{0}\"\\\\]{1,9}",
            any::<bool>()).prop_map(|((user, agent, round), text, link)| {
            Step::Add { user, agent, round, text, link }
        }),
        4 => (place(), "\\PC{0,40}").prop_map(|((user, agent, round), text)| Step::Change { user,
            agent, round, text }),
        1 => place().prop_map(|(user, agent, round)| Step::Remove { user, agent, round }),
        1 => place().prop_map(|(user, agent, round)| Step::End { user, agent, round }),
        1 => Just(Step::Reopen),
        1 => Just(Step::Close),
        1 => (0..USERS.len(), 0..60_i64).prop_map(|(user, until)| Step::Prune { user, until }),
        1 => (0..USERS.len(), 1..5_usize).prop_map(|(user, limit)| Step::List { user, limit }),
    ];
    prop::collection::vec(step, 1..60)
}

async fn run(steps: Vec<Step>) {
    let root = tempfile::tempdir().unwrap();
    let mut files = FileChannel::new(root.path());
    let memory = InMemoryStore::default();
    let memory = memory.trajectories().unwrap();
    for (time, step) in steps.into_iter().enumerate() {
        let now = at(time as i64);
        let (user, agent, round) = match &step {
            Step::Add { user, agent, round, .. }
            | Step::Change { user, agent, round, .. }
            | Step::Remove { user, agent, round }
            | Step::End { user, agent, round } => (*user, *agent, *round),
            Step::Reopen => {
                files = FileChannel::new(root.path());
                continue;
            }
            Step::Close => {
                files.close().await.unwrap();
                continue;
            }
            Step::Prune { user, until } => {
                let prune = RoundPrune::of_user(USERS[*user].0)
                    .session(USERS[*user].1)
                    .updated_until(at(*until));
                assert_eq!(
                    files.prune_rounds(&prune).await.unwrap(),
                    memory.prune_rounds(&prune).await.unwrap()
                );
                continue;
            }
            Step::List { user, limit } => {
                let mut query = RoundQuery::of_user(USERS[*user].0).limit(*limit);
                loop {
                    let page = files.rounds(&query).await.unwrap();
                    assert_eq!(page, memory.rounds(&query).await.unwrap());
                    match page.next {
                        Some(next) => query = query.after(Some(next)),
                        None => break,
                    }
                }
                continue;
            }
        };
        let agent = AgentRef::new(USERS[user].0, USERS[user].1, agent);
        let known = memory.load_rounds(&agent, round..=round).await.unwrap();
        assert_eq!(files.load_rounds(&agent, round..=round).await.unwrap(), known);
        let mut graph = match known.into_iter().next() {
            Some(record) => Round::from_record(record).unwrap(),
            None => Round::new(agent.round(round), now),
        };
        let last = graph.nodes().next_back().map(|node| node.id);
        let changes = match (step, last) {
            (Step::Add { text, .. }, None) => graph.ask(NewQuery::new(text), now).unwrap().1,
            (Step::Add { text, link, .. }, Some(last)) => {
                let mut node =
                    NewNode::new(NodeBody::action(text, serde_json::json!({"n": time})), [last])
                        .edge("triggers");
                if link {
                    node = node.message(MessageLink::new("chat", "message")).append();
                } else {
                    node = node.append().author("eve");
                }
                graph.add(node, now).unwrap().1
            }
            (Step::Change { text, .. }, Some(last)) => {
                graph.change(last, &Changes::new().describe(text), None, now).unwrap()
            }
            (Step::Remove { .. }, Some(last)) if last != NodeId::new(round, 0) => {
                graph.remove(last, NodeRemoval::Leaf, now).unwrap()
            }
            (Step::End { .. }, _) => {
                graph.set_state(RoundState::Closed, now);
                Vec::new()
            }
            _ => continue,
        };
        graph.committed();
        let commit = RoundCommit::new(format!("key {time}"), changes, graph.head());
        assert_eq!(
            files.record_round(&commit).await.unwrap(),
            memory.record_round(&commit).await.unwrap()
        );
        assert_eq!(
            files.record_round(&commit).await.unwrap(),
            memory.record_round(&commit).await.unwrap()
        );
    }
    for (user, session) in USERS {
        for number in 0..2 {
            let agent = AgentRef::new(user, session, number);
            let all = files.load_rounds(&agent, 0..=u32::MAX).await.unwrap();
            assert_eq!(all, memory.load_rounds(&agent, 0..=u32::MAX).await.unwrap());
        }
        let linked =
            files.nodes_of_message(&user.into(), &"chat".into(), &"message".into()).await.unwrap();
        let expected =
            memory.nodes_of_message(&user.into(), &"chat".into(), &"message".into()).await.unwrap();
        assert_eq!(linked, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn files_are_what_memory_is(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(steps));
    }
}
