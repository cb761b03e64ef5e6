//! Stored chats with branches as rounds.

use std::fmt::Write as _;
use std::sync::Arc;

use context_core::base::CancelSource;
use context_core::trajectory::{AgentRef, Measures, MessageLink, NewQuery, RoundState};
use context_core::{Chain, ChatRef, ErrorKind, Message, Node, Part, Role, Store, Timestamp};
use context_store_inmem::InMemoryStore;
use context_trajectory::{
    BranchHistory, ChatRecorded, OpenOptions, SkipReason, Step, StepCall, Trajectories,
};
use serde_json::json;

/// A recorder over a store in memory, and the chat that it records.
struct Recording {
    store: Arc<InMemoryStore>,
    trajectories: Trajectories,
    chat: ChatRef,
}

impl Recording {
    fn new() -> Self {
        let store = Arc::new(InMemoryStore::default());
        let trajectories = Trajectories::builder(store.clone()).build().unwrap();
        Self { store, trajectories, chat: ChatRef::new("ada", "trip") }
    }

    /// Records branches, given by name and ids of messages, with seven tokens for each answer.
    async fn record(&self, branches: &[(&str, &str)]) -> ChatRecorded {
        let branches: Vec<_> =
            branches.iter().map(|(name, ids)| BranchHistory::new(*name, chain(ids))).collect();
        let measures = |_: usize, _: &Node| {
            let mut measures = Measures::default();
            measures.output_tokens = Some(7);
            measures
        };
        self.trajectories.record_chat(&self.chat, &branches, measures).await.unwrap()
    }

    /// Opens a round as a program that runs the chat does.
    async fn open(&self, agent: &AgentRef) -> context_trajectory::OpenRound {
        let round = self.trajectories.next_round(agent).await.unwrap();
        self.trajectories.open(&round, OpenOptions::new()).await.unwrap()
    }

    fn link(&self, id: &str) -> MessageLink {
        MessageLink::new(self.chat.chat.clone(), id)
    }

    /// The rounds of the session: nodes with predecessors, messages, outputs and tokens.
    async fn outline(&self) -> String {
        let graph = self.trajectories.graph("ada", "trip").await.unwrap();
        let mut text = String::new();
        for agent in graph.agents() {
            for round in agent.rounds() {
                let below = round.parent().map_or(String::new(), |node| format!(" below {node}"));
                let about = &round.round().query().unwrap().description;
                let state = round.state().as_str();
                let place = format!("{}/{}", agent.number(), round.number());
                writeln!(text, "{place} {state}{below} · {about}").unwrap();
                for node in round.nodes() {
                    let before: Vec<_> =
                        round.round().predecessors(node.id).map(|e| e.from.to_string()).collect();
                    let links: Vec<_> =
                        node.messages.iter().map(|link| link.message.as_str()).collect();
                    let tokens = node.measures.as_ref().and_then(|it| it.output_tokens);
                    let output = node.body.get("output").map(|it| it.to_json());
                    let output = output.map_or(String::new(), |it| format!(" → {}", it.as_str()));
                    writeln!(
                        text,
                        "  {} {} {:?}{output} <- {}; {}{}",
                        node.id,
                        node.title(),
                        node.body.headline(),
                        before.join("+"),
                        links.join("+"),
                        tokens.map_or(String::new(), |tokens| format!("; {tokens} tokens")),
                    )
                    .unwrap();
                }
            }
        }
        text
    }
}

/// A message by its id: `q` asks, `c` calls two tools, `r` and `s` have the result of one of the
/// calls, `a` answers, `n` is a note that is no part of the run. The number is that of the
/// question.
fn message(id: &str) -> Message {
    let number = id.trim_matches(|letter: char| letter.is_ascii_alphabetic());
    let calls = ["first", "second"].map(|name| (format!("{name}{number}"), name));
    match &id[..1] {
        "q" => Message::text(Role::User, format!("question {id}")),
        "c" => Message::new(
            Role::Assistant,
            calls.map(|(id, name)| Part::tool_call(&*id, name, json!({}))),
        ),
        "r" | "s" => {
            let (call, _) = &calls[usize::from(id.starts_with('s'))];
            Message::new(Role::Tool, [Part::tool_result(&**call, format!("result {id}"))])
        }
        "n" => Message::text(Role::System, "a note"),
        _ => Message::text(Role::Assistant, format!("answer {id}")),
    }
}

fn chain(ids: &str) -> Chain {
    let nodes = ids.split_whitespace().enumerate().map(|(at, id)| {
        let at = Timestamp::from_micros((at as i64 + 1) * 1_000_000);
        Arc::new(Node::new(id, message(id), at))
    });
    Chain::from_nodes(0, nodes)
}

/// `again` forks within the first turn, `other` after it, and `deep` from `other`.
const BRANCHES: [(&str, &str); 4] = [
    ("main", "n0 q1 c1 r1 s1 a1 q2 a2"),
    ("again", "n0 q1 c1 r1 s1 a1x q3 a3"),
    ("other", "n0 q1 c1 r1 s1 a1 n2 q4 a4 q5 a5"),
    ("deep", "n0 q1 c1 r1 s1 a1 n2 q4 a4 q6 a6"),
];

/// The rounds until then are written, and a repeated call adds the others.
#[tokio::test]
async fn a_recording_reports_its_rounds_and_can_be_cancelled_between_two() {
    let store = Arc::new(InMemoryStore::default());
    let stop = CancelSource::new();
    let signal = stop.signal().reporting(move |steps, done| {
        assert_eq!(steps, "round");
        if done == 2 {
            stop.cancel();
        }
    });
    let trajectories = Trajectories::builder(store.clone()).cancel(signal).build().unwrap();
    let chat = ChatRef::new("ada", "trip");
    let branches = [BranchHistory::new("main", chain("q1 a1 q2 a2 q3 a3"))];
    let measures = |_: usize, _: &Node| Measures::default();
    let error = trajectories.record_chat(&chat, &branches, measures).await.unwrap_err();
    assert_eq!(context_core::Error::from(error).kind(), ErrorKind::Cancelled);
    let others = Trajectories::builder(store).build().unwrap();
    let recorded = others.record_chat(&chat, &branches, measures).await.unwrap();
    assert_eq!((recorded.rounds(), recorded.recorded()), (3, 1));
}

#[tokio::test]
async fn each_further_branch_is_an_agent_with_the_rounds_after_its_fork() {
    let recording = Recording::new();
    let recorded = recording.record(&BRANCHES).await;
    assert_eq!((recorded.rounds(), recorded.recorded(), recorded.taken()), (7, 7, 0));
    let agents: Vec<_> = recorded.branches.iter().map(|branch| branch.agent).collect();
    assert_eq!(agents, [Some(0), Some(1), Some(2), Some(3)]);
    let outline = recording.outline().await;
    insta::assert_snapshot!(outline, @r#"
    0/0 closed · User query No.00000
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 State(state00000) "" <- 0.0; c1; 7 tokens
      0.2 Action(first1) "first" → "result r1" <- 0.1; c1
      0.3 Action(second1) "second" → "result s1" <- 0.1; c1
      0.4 Response(response00000) "answer a1" <- 0.2+0.3; a1; 7 tokens
    0/1 closed · User query No.00001
      1.0 Query(query00001) "question q2" <- ; q2
      1.1 Response(response00001) "answer a2" <- 1.0; a2; 7 tokens
    1/0 closed below 0/0.3 · Branch again
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 Response(response00000) "answer a1x" <- 0.0; a1x; 7 tokens
    1/1 closed · Branch again
      1.0 Query(query00001) "question q3" <- ; q3
      1.1 Response(response00001) "answer a3" <- 1.0; a3; 7 tokens
    2/0 closed below 0/0.4 · Branch other
      0.0 Query(query00000) "question q4" <- ; q4
      0.1 Response(response00000) "answer a4" <- 0.0; a4; 7 tokens
    2/1 closed · Branch other
      1.0 Query(query00001) "question q5" <- ; q5
      1.1 Response(response00001) "answer a5" <- 1.0; a5; 7 tokens
    3/0 closed below 2/0.1 · Branch deep
      0.0 Query(query00000) "question q6" <- ; q6
      0.1 Response(response00000) "answer a6" <- 0.0; a6; 7 tokens
    "#);

    let again = recording.record(&BRANCHES).await;
    assert_eq!((again.rounds(), again.recorded(), again.taken()), (7, 0, 0));
    let again = again.branches.into_iter().map(|branch| (branch.agent, branch.parent));
    let before = recorded.branches.into_iter().map(|branch| (branch.agent, branch.parent));
    assert!(again.eq(before));
    assert_eq!(recording.outline().await, outline);
}

#[tokio::test]
async fn the_main_agent_is_that_of_the_chat_without_branches() {
    let alone = Recording::new();
    let _ = alone.record(&BRANCHES[..1]).await;
    let all = Recording::new();
    let _ = all.record(&BRANCHES).await;
    let main = AgentRef::main("ada", "trip");
    let rounds = |recording: &Recording| {
        let (store, main) = (recording.store.clone(), main.clone());
        async move { store.trajectories().unwrap().load_rounds(&main, 0..=9).await.unwrap() }
    };
    assert_eq!(rounds(&alone).await, rounds(&all).await);
}

#[tokio::test]
async fn a_branch_that_begins_with_a_result_repeats_its_call() {
    let recording = Recording::new();
    let branches = [
        ("main", "q1 c1 r1 s1 a1"),
        ("second", "q1 c1 r1 s1x a1x"),
        ("both", "q1 c1 r1y s1y"),
        ("late", "q1 c1 r1 s1 a1 q2 r1z a2"),
    ];
    let recorded = recording.record(&branches).await;
    let outline = recording.outline().await;
    insta::assert_snapshot!(outline, @r#"
    0/0 closed · User query No.00000
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 State(state00000) "" <- 0.0; c1; 7 tokens
      0.2 Action(first1) "first" → "result r1" <- 0.1; c1
      0.3 Action(second1) "second" → "result s1" <- 0.1; c1
      0.4 Response(response00000) "answer a1" <- 0.2+0.3; a1; 7 tokens
    1/0 closed below 0/0.3 · Branch second
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 State(state00000) "" <- 0.0; c1
      0.2 Action(first1) "first" → "result r1" <- 0.1; c1
      0.3 Action(second1) "second" → "result s1x" <- 0.1; c1+s1x
      0.4 Response(response00000) "answer a1x" <- 0.2+0.3; a1x; 7 tokens
    2/0 closed below 0/0.3 · Branch both
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 State(state00000) "" <- 0.0; c1
      0.2 Action(first1) "first" → "result r1y" <- 0.1; c1+r1y
      0.3 Action(second1) "second" → "result s1y" <- 0.1; c1
    3/0 closed below 0/0.4 · Branch late
      0.0 Query(query00000) "question q2" <- ; q2
      0.1 Response(response00000) "answer a2" <- 0.0; a2; 7 tokens
    "#);
    let skipped: Vec<_> = recorded.branches[3]
        .skipped
        .iter()
        .map(|skipped| (skipped.message.as_str(), skipped.reason))
        .collect();
    assert_eq!(skipped, [("r1z", SkipReason::UnknownCall)]);
    assert_eq!(recording.record(&branches).await.recorded(), 0);
    assert_eq!(recording.outline().await, outline);

    // The second result, and an answer to it, come later.
    let early = Recording::new();
    let half = [branches[0], ("second", "q1 c1 r1 s1x"), ("both", "q1 c1 r1y"), branches[3]];
    assert_eq!(early.record(&half).await.recorded(), 4);
    assert_eq!(early.record(&branches).await.recorded(), 2);
    assert_eq!(early.outline().await, outline);
}

#[tokio::test]
async fn a_chat_that_grew_adds_the_new_rounds_of_each_branch() {
    let recording = Recording::new();
    let grown = |upto: usize| -> Vec<(&str, String)> {
        let cut = |ids: &str| ids.split(' ').take(upto).collect::<Vec<_>>().join(" ");
        BRANCHES.iter().map(|(name, ids)| (*name, cut(ids))).collect()
    };
    let mut written = 0;
    for upto in 1..=11 {
        let branches = grown(upto);
        let branches: Vec<_> = branches.iter().map(|(name, ids)| (*name, &**ids)).collect();
        // Branches appear when they have a message of their own.
        let before = |at: usize| branches[..at].iter().any(|(_, ids)| *ids == branches[at].1);
        let own: Vec<_> = (0..4).filter(|at| !before(*at)).map(|at| branches[at]).collect();
        let recorded = recording.record(&own).await;
        assert_eq!(recorded.taken(), 0, "{upto}");
        written += recorded.recorded();
        assert_eq!(recording.record(&own).await.recorded(), 0, "{upto}");
    }
    // Seven new rounds, and nine messages that extend one.
    assert_eq!(written, 16);
    let whole = Recording::new();
    let _ = whole.record(&BRANCHES).await;
    assert_eq!(recording.outline().await, whole.outline().await);
}

#[tokio::test]
async fn branches_keep_their_agents_when_others_come_and_go() {
    let recording = Recording::new();
    let [main, again, other, deep] = BRANCHES;
    let _ = recording.record(&[main, other]).await;
    let recorded = recording.record(&[main, again, other, deep]).await;
    let agents: Vec<_> = recorded.branches.iter().map(|branch| branch.agent).collect();
    assert_eq!(agents, [Some(0), Some(2), Some(1), Some(3)]);
    let outline = recording.outline().await;

    // `again` is renamed, and `other` is deleted: `deep` now owns the turn that they shared.
    let longer = ("deep", "n0 q1 c1 r1 s1 a1 n2 q4 a4 q6 a6 q7 a7");
    let recorded = recording.record(&[main, ("renamed", again.1), longer]).await;
    let outcome: Vec<_> =
        recorded.branches.iter().map(|it| (it.agent, it.recorded, it.taken)).collect();
    assert_eq!(outcome, [(Some(0), 0, 0), (Some(2), 0, 0), (Some(3), 1, 0)]);
    let now = recording.outline().await;
    assert!(now.starts_with(&outline) && now.contains("3/1 closed · Branch deep"), "{now}");
}

#[tokio::test]
async fn turns_that_were_recorded_live_are_not_recorded_again() {
    let recording = Recording::new();
    let agent = AgentRef::main("ada", "trip");
    // The first turn, and the one of another branch, as rounds of one agent.
    let live = recording.open(&agent).await;
    live.ask(NewQuery::new("question q1").message(recording.link("q1"))).await.unwrap();
    let calls = ["first", "second"].map(|name| {
        let call = StepCall::new(format!("{name}1"), name, json!({}));
        call.message(recording.link("c1")).message(recording.link("r1"))
    });
    let [first, second] = calls;
    let step = Step::new("").message(recording.link("c1")).call(first).call(second);
    live.step(step).await.unwrap();
    live.tool_result("first1", json!("result"), true).await.unwrap();
    live.step(Step::new("answer a1").message(recording.link("a1"))).await.unwrap();
    live.close(RoundState::Closed).await.unwrap();
    let live = recording.open(&agent).await;
    live.ask(NewQuery::new("question q4").message(recording.link("q4"))).await.unwrap();
    live.step(Step::new("answer a4").message(recording.link("a4"))).await.unwrap();
    live.close(RoundState::Closed).await.unwrap();
    let before = recording.outline().await;

    let recorded = recording.record(&BRANCHES).await;
    assert_eq!((recorded.rounds(), recorded.recorded(), recorded.taken()), (7, 5, 0));
    let after = recording.outline().await;
    assert!(after.starts_with(&before), "{after}");
    insta::assert_snapshot!(&after[before.len()..], @r#"
    0/2 closed · User query No.00002
      2.0 Query(query00002) "question q2" <- ; q2
      2.1 Response(response00002) "answer a2" <- 2.0; a2; 7 tokens
    0/3 closed · Branch other
      3.0 Query(query00003) "question q5" <- ; q5
      3.1 Response(response00003) "answer a5" <- 3.0; a5; 7 tokens
    1/0 closed below 0/0.3 · Branch again
      0.0 Query(query00000) "question q1" <- ; q1
      0.1 Response(response00000) "answer a1x" <- 0.0; a1x; 7 tokens
    1/1 closed · Branch again
      1.0 Query(query00001) "question q3" <- ; q3
      1.1 Response(response00001) "answer a3" <- 1.0; a3; 7 tokens
    2/0 closed below 0/1.1 · Branch deep
      0.0 Query(query00000) "question q6" <- ; q6
      0.1 Response(response00000) "answer a6" <- 0.0; a6; 7 tokens
    "#);
    assert_eq!(recording.record(&BRANCHES).await.recorded(), 0);
}

#[tokio::test]
async fn a_turn_that_is_being_recorded_is_left_to_its_program() {
    let recording = Recording::new();
    let running = recording.open(&AgentRef::main("ada", "trip")).await;
    running.ask(NewQuery::new("question q1").message(recording.link("q1"))).await.unwrap();
    let chat = [("main", "q1 a1")];
    let recorded = recording.record(&chat).await;
    assert_eq!((recorded.rounds(), recorded.recorded(), recorded.taken()), (1, 0, 0));
    running.step(Step::new("answer a1").message(recording.link("a1"))).await.unwrap();
    running.close(RoundState::Closed).await.unwrap();
    assert_eq!(recording.record(&chat).await.recorded(), 0);
}

#[tokio::test]
async fn a_chat_that_is_recorded_in_another_session_stays_there() {
    let recording = Recording::new();
    let colleague = recording.open(&AgentRef::new("ada", "work", 1)).await;
    colleague.ask(NewQuery::new("question q1").message(recording.link("q1"))).await.unwrap();
    colleague.close(RoundState::Closed).await.unwrap();
    let recorded = recording.record(&[("main", "q1 a1")]).await;
    assert_eq!((recorded.rounds(), recorded.recorded()), (1, 0));
    assert_eq!(recorded.branches[0].agent, None);
    assert!(recording.trajectories.graph("ada", "trip").await.is_err());
}

#[tokio::test]
async fn rounds_with_other_content_are_counted_and_stay() {
    let recording = Recording::new();
    let unlinked = recording.open(&AgentRef::main("ada", "trip")).await;
    unlinked.ask(NewQuery::new("Something else.")).await.unwrap();
    unlinked.close(RoundState::Closed).await.unwrap();
    let other = recording.open(&AgentRef::main("ada", "trip")).await;
    other.ask(NewQuery::new("Another text.").message(recording.link("q2"))).await.unwrap();
    other.close(RoundState::Closed).await.unwrap();
    let before = recording.outline().await;
    let recorded = recording.record(&[("main", "q1 a1 q2 a2")]).await;
    assert_eq!((recorded.rounds(), recorded.recorded(), recorded.taken()), (2, 0, 2));
    assert_eq!(recording.outline().await, before);
}

#[tokio::test]
async fn pruned_rounds_come_back_to_their_agents() {
    let recording = Recording::new();
    let _ = recording.record(&BRANCHES).await;
    let outline = recording.outline().await;
    let main = context_core::store::RoundPrune::of_user("ada").session("trip").agent(0);
    recording.trajectories.prune(&main).await.unwrap();
    assert_eq!(recording.record(&BRANCHES).await.recorded(), 2);
    assert_eq!(recording.outline().await, outline);
}
