//! Conversations of other systems as rounds.

use context_core::message::Origin;
use std::fmt::Write as _;
use std::sync::Arc;

use context_core::message::ToolInput;
use context_core::trajectory::{AgentRef, NodeId, Round};
use context_core::{
    ChatId, Json, Message, MessageId, Node, Part, Role, Store, Timestamp, ToolCall, ToolResult,
    UserId,
};
use context_store_inmem::InMemoryStore;
use context_trajectory::{OpenOptions, RoundImported, SkipReason, Trajectories, Transcript};
use proptest::prelude::*;
use serde_json::json;

fn agent() -> AgentRef {
    AgentRef::main("ada", "trip")
}

fn chat() -> ChatId {
    ChatId::from("trip")
}

/// Messages one second apart, with ids m1, m2, …
fn nodes(messages: impl IntoIterator<Item = Message>) -> Vec<Arc<Node>> {
    let numbered = (1_i64..).zip(messages);
    numbered
        .map(|(number, message)| {
            let at = Timestamp::from_micros(number * 1_000_000);
            Arc::new(Node::new(format!("m{number}"), message, at))
        })
        .collect()
}

fn call(id: &str, tool: &str, params: serde_json::Value) -> Part {
    let input = ToolInput::Json(params.into());
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: tool.into(),
        input,
        metadata: Default::default(),
    })
}

fn result(id: &str, text: &str, is_error: bool) -> Part {
    let output = vec![Part::text(text)];
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: None,
        output,
        is_error,
        metadata: Default::default(),
    })
}

fn trip() -> Vec<Message> {
    vec![
        Message::text(Role::System, "You sell tickets."),
        Message::text(Role::User, "Two tickets to Lisbon."),
        Message::text(Role::User, "On Friday, please."),
        Message::new(
            Role::Assistant,
            [
                Part::text("I look up trains and flights."),
                call("c1", "trains", json!({"to": "Lisbon"})),
                call("c2", "flights", json!({"to": "Lisbon"})),
            ],
        ),
        Message::new(Role::Tool, [result("c2", "no seats", true)]),
        Message::new(Role::Tool, [result("c1", "10:05", false)]),
        Message::text(Role::User, "Remember to be brief.").with_origin(Origin::Synthetic),
        Message::text(Role::Assistant, "There is a train at 10:05."),
        Message::text(Role::User, "Book it."),
        Message::new(Role::Assistant, [call("c3", "book", json!({"train": "10:05"}))]),
        Message::text(Role::User, "Wait, Saturday!"),
        Message::new(Role::Tool, [result("c3", "booked", false), result("c9", "what?", false)]),
        Message::text(Role::Assistant, "It is booked for Friday."),
    ]
}

fn outline(rounds: &[Round]) -> String {
    let mut text = String::new();
    for round in rounds {
        let head = round.head();
        writeln!(text, "round {} {}", round.round().round, head.state.as_str()).unwrap();
        for node in round.nodes() {
            let before: Vec<String> =
                round.predecessors(node.id).map(|edge| edge.from.ordinal.to_string()).collect();
            let messages: Vec<&str> =
                node.messages.iter().map(|link| link.message.as_str()).collect();
            let (title, headline) = (node.title(), node.body.headline());
            write!(text, "  {} {title} {headline:?} <- {}", node.id, before.join("+")).unwrap();
            write!(text, "; {}", messages.join("+")).unwrap();
            if let Some(output) = node.body.get("output") {
                write!(
                    text,
                    "; {} {:?}",
                    output.to_json().as_str(),
                    node.body.get("success").unwrap()
                )
                .unwrap();
            }
            text.push('\n');
        }
    }
    text
}

fn build(nodes: &[Arc<Node>]) -> Vec<Round> {
    Transcript::read(&chat(), nodes).build(&agent()).unwrap()
}

#[test]
fn questions_begin_rounds_answers_conclude_and_call_and_results_come_to_their_calls() {
    let nodes = nodes(trip());
    let transcript = Transcript::read(&chat(), &nodes);
    insta::assert_snapshot!(outline(&transcript.build(&agent()).unwrap()), @r#"
    round 0 closed
      0.0 Query(query00000) "Two tickets to Lisbon.\n\nOn Friday, please." <- ; m2+m3
      0.1 State(state00000) "I look up trains and flights." <- 0; m4
      0.2 Action(c1) "trains" <- 1; m4; "10:05" true
      0.3 Action(c2) "flights" <- 1; m4; "no seats" false
      0.4 Response(response00000) "There is a train at 10:05." <- 2+3; m8
    round 1 interrupted
      1.0 Query(query00001) "Book it." <- ; m9
      1.1 State(state00001) "" <- 0; m10
      1.2 Action(c3) "book" <- 1; m10; "booked" true
    round 2 closed
      2.0 Query(query00002) "Wait, Saturday!" <- ; m11
      2.1 Response(response00001) "It is booked for Friday." <- 0; m13
    "#);
    let skipped: Vec<_> =
        transcript.skipped.iter().map(|it| (it.message.as_str(), it.reason)).collect();
    assert_eq!(skipped, [("m12", SkipReason::UnknownCall)]);
}

#[test]
fn times_are_those_of_the_messages() {
    let rounds = build(&nodes(trip()));
    let trains = rounds[0].node(NodeId::new(0, 2)).unwrap();
    let second = |number: i64| Some(Timestamp::from_micros(number * 1_000_000));
    assert_eq!(Some(trains.created_at), second(4));
    let measures = trains.measures.as_ref().unwrap();
    assert_eq!((measures.started_at, measures.ended_at), (second(4), second(6)));
    assert_eq!(Some(trains.versions[0].at), second(6));
    let head = rounds[0].head();
    assert_eq!((Some(head.created_at), Some(head.updated_at)), (second(2), second(8)));
}

#[test]
fn a_conversation_that_the_model_begins_has_an_empty_question() {
    let rounds = build(&nodes([Message::text(Role::Assistant, "How can I help?")]));
    assert_eq!(rounds.len(), 1);
    assert_eq!(rounds[0].query().unwrap().body.headline(), "");
    assert!(build(&nodes([Message::text(Role::System, "You sell tickets.")])).is_empty());
}

#[test]
fn calls_of_one_id_with_long_ids_and_broken_params_are_told_apart() {
    let long = "x".repeat(1000);
    let broken = Part::ToolCall(ToolCall {
        id: "c1".into(),
        name: "trains".into(),
        input: ToolInput::Invalid("{to".into()),
        metadata: Default::default(),
    });
    let rounds = build(&nodes([
        Message::text(Role::User, "Go."),
        Message::new(Role::Assistant, [call("c1", "a", json!({})), call(&long, "b", json!({}))]),
        Message::new(Role::Tool, [result("c1", "1", false), result(&long, "2", false)]),
        Message::new(Role::Assistant, [broken]),
        Message::new(Role::Tool, [result("c1", "3", false)]),
    ]));
    let outputs: Vec<String> = rounds[0]
        .nodes()
        .filter_map(|node| {
            node.body.get("output").map(|output| output.to_json().as_str().to_owned())
        })
        .collect();
    assert_eq!(outputs, ["\"1\"", "\"2\"", "\"3\""]);
    let first = &rounds[0].nodes().last().unwrap().versions[0].previous;
    assert_eq!(first.get("output").unwrap().to_json(), Json::from("the params are not JSON"));
}

async fn import(trajectories: &Trajectories, nodes: &[Arc<Node>]) -> Vec<RoundImported> {
    let mut done = Vec::new();
    for round in build(nodes) {
        done.push(trajectories.import(&round.to_record()).await.unwrap());
    }
    done
}

async fn stored(store: &InMemoryStore) -> Vec<Round> {
    let rounds = store.trajectories().unwrap().load_rounds(&agent(), 0..=100).await.unwrap();
    rounds
        .into_iter()
        .map(|mut record| {
            record.head.revision = 0;
            Round::from_record(record).unwrap()
        })
        .collect()
}

/// Regression: the stored round looked like a later one, whose answer had been removed.
#[tokio::test]
async fn an_answer_that_comes_later_extends_its_round() {
    let store = Arc::new(InMemoryStore::default());
    let trajectories = Trajectories::builder(store.clone()).build().unwrap();
    let all = nodes([Message::text(Role::User, "Hello."), Message::text(Role::Assistant, "Hi.")]);
    assert_eq!(import(&trajectories, &all[..1]).await, [RoundImported::New]);
    assert_eq!(import(&trajectories, &all).await, [RoundImported::Extended]);
    assert_eq!(records(&stored(&store).await), records(&build(&all)));
    // What was removed since does not come back.
    let open = trajectories.open(&agent().round(0), OpenOptions::new()).await.unwrap();
    let answer = open.round().nodes().last().unwrap().id;
    open.remove(answer, context_core::trajectory::NodeRemoval::Leaf).await.unwrap();
    assert_eq!(import(&trajectories, &all).await, [RoundImported::Unchanged]);
}

fn records(rounds: &[Round]) -> Vec<context_core::trajectory::RoundRecord> {
    rounds.iter().map(Round::to_record).collect()
}

#[tokio::test]
async fn the_same_conversation_again_adds_nothing_and_one_that_grew_adds_what_is_new() {
    use RoundImported::{Extended, New, Taken, Unchanged};
    let store = Arc::new(InMemoryStore::default());
    let trajectories = Trajectories::builder(store.clone()).build().unwrap();
    let all = nodes(trip());
    assert_eq!(import(&trajectories, &all[..5]).await, [New]);
    assert_eq!(import(&trajectories, &all[..5]).await, [Unchanged]);
    assert_eq!(import(&trajectories, &all).await, [Extended, New, New]);
    assert_eq!(import(&trajectories, &all).await, [Unchanged, Unchanged, Unchanged]);
    assert_eq!(records(&stored(&store).await), records(&build(&all)));
    // Later recordings stay, and the import still succeeds.
    let last = trajectories.open(&agent().round(2), OpenOptions::new()).await.unwrap();
    let answer = last.round().nodes().last().unwrap().id;
    last.change(answer, &context_core::trajectory::Changes::new().describe("booked"))
        .await
        .unwrap();
    assert_eq!(import(&trajectories, &all).await, [Unchanged, Unchanged, Unchanged]);
    // A different conversation of the same name is not imported.
    let other = nodes([Message::text(Role::User, "Something else.")]);
    assert_eq!(import(&trajectories, &other).await, [Taken]);
    let messages = store.trajectories().unwrap();
    let (user, message) = (UserId::from("ada"), MessageId::from("m10"));
    let found = messages.nodes_of_message(&user, &chat(), &message).await.unwrap();
    assert_eq!(found.iter().map(|it| it.node.to_string()).collect::<Vec<_>>(), ["1.1", "1.2"]);
}

#[tokio::test]
async fn recorded_step_by_step_it_is_the_same_graph() {
    let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build().unwrap();
    let all = nodes(trip());
    let mut recorded = Vec::new();
    for (number, source) in (0_u32..).zip(Transcript::read(&chat(), &all).rounds) {
        let context = trajectories.open(&agent().round(number), OpenOptions::new()).await.unwrap();
        context.ask(source.query).await.unwrap();
        for step in &source.steps {
            context.record_step(step).await.unwrap();
        }
        context.set_state(build(&all)[number as usize].state()).await.unwrap();
        recorded.push((*context.round()).clone());
    }
    assert_eq!(outline(&recorded), outline(&build(&all)));
}

/// A conversation of arbitrary messages in any order.
fn anything() -> impl Strategy<Value = Vec<Message>> {
    let id = prop::sample::select(vec!["c1", "c2", ""]);
    let part = prop_oneof![
        "[a-z]{0,3}".prop_map(Part::text),
        id.clone().prop_map(|id| call(id, "tool", json!({"n": 1}))),
        (id, any::<bool>()).prop_map(|(id, failed)| result(id, "out", failed)),
    ];
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let message = (role, prop::collection::vec(part, 0..4))
        .prop_map(|(role, parts)| Message::new(role, parts));
    prop::collection::vec(message, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// Any conversation gives sound rounds, and reading is deterministic.
    #[test]
    fn any_conversation_is_sound_rounds(messages in anything()) {
        let all = nodes(messages);
        let rounds = build(&all);
        prop_assert_eq!(records(&rounds), records(&build(&all)));
        for round in &rounds {
            prop_assert!(round.query().is_some());
            let again = Round::from_record(round.to_record()).unwrap();
            prop_assert_eq!(again.to_record(), round.to_record());
        }
    }
}

/// A file of a finished run: unknown data is not invented, and known data is kept.
#[test]
fn a_run_that_is_over_is_not_open_and_what_reads_like_an_error_did_not_go_well() {
    let asked = Message::text(Role::User, "Submit it.");
    let called = |id: &str| Message::new(Role::Assistant, [call(id, "submit", json!({}))]);
    let said = |id: &str, text: &str| Message::new(Role::Tool, [result(id, text, false)]);
    let state = |messages: Vec<Message>| build(&nodes(messages))[0].head().state.as_str();
    assert_eq!(state(vec![asked.clone(), called("a"), said("a", "done")]), "closed");
    assert_eq!(state(vec![asked.clone(), called("a")]), "interrupted");
    assert_eq!(state(vec![asked.clone()]), "interrupted");
    for (text, success) in [
        ("done", "true"),
        ("Error: no such flight", "false"),
        ("Traceback (most recent call last):\n  File", "false"),
        (r#"{"error": "no such flight"}"#, "false"),
        (r#"{"error": null, "seats": 2}"#, "true"),
        (r#"{"errors": 0}"#, "true"),
        ("No errors: all is well", "true"),
        (
            r#"{"output": "no such file", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}"#,
            "false",
        ),
        (r#"{"output": "4", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}"#, "true"),
        ("Exit code: 127\nWall time: 0.1 seconds\nOutput:\nnot found", "false"),
        ("Chunk ID: 3f\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n", "false"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nExit code: 1", "true"),
    ] {
        let rounds = build(&nodes(vec![asked.clone(), called("a"), said("a", text)]));
        let action = rounds[0].nodes().find(|node| &*node.label == "a").unwrap();
        assert_eq!(action.body.get("success").unwrap().to_json().as_str(), success, "{text}");
    }
}

#[test]
fn what_an_answer_took_is_kept_with_its_node() {
    let nodes = nodes([Message::text(Role::User, "Hi"), Message::text(Role::Assistant, "Hello")]);
    let measured = |_: &Node| {
        let mut measures = context_core::trajectory::Measures::default();
        (measures.model, measures.output_tokens) = (Some("m".into()), Some(7));
        measures
    };
    let rounds = Transcript::read_measured(&chat(), &nodes, measured).build(&agent()).unwrap();
    let answer = rounds[0].nodes().last().unwrap();
    let measures = answer.measures.as_ref().unwrap();
    assert_eq!((measures.model.as_deref(), measures.output_tokens), (Some("m"), Some(7)));
}
