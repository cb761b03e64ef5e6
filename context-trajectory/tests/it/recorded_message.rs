//! Messages that are recorded with their usage, times and links.

use context_core::model::{LanguageModel, ModelErrorCode, Usage};
use context_core::trajectory::{Measures, MessageLink, TrajectoryNodeKind};
use context_core::{
    Answer, CancelSignal, Message, ModelError, ModelRequest, Part, Role, Timestamp,
};
use context_trajectory::replay::{RecordedModel, Replay};
use context_trajectory::{OpenRound, RecordedMessage};

use crate::fixture::{open, process, round_store};

fn usage() -> Usage {
    let mut usage = Usage::new(20, 7);
    (usage.cache_read, usage.cache_write, usage.reasoning) = (100, 5, Some(3));
    usage
}

fn looks() -> Message {
    let call = Part::tool_call("c1", "weather", serde_json::json!({"month": 3}));
    Message::new(Role::Assistant, [Part::text("I look it up."), call])
}

/// Returns a line for each node: title, links, measures.
fn lines(round: &OpenRound) -> String {
    let round = round.round();
    let line = |node: &std::sync::Arc<context_core::trajectory::TrajectoryNode>| {
        let links: Vec<_> = node.messages.iter().map(|link| link.message.to_string()).collect();
        let measures = node.measures.as_deref().cloned().unwrap_or_default();
        let measures = serde_json::to_string(&measures).unwrap();
        format!("{} [{}] {measures}\n", node.title(), links.join(" "))
    };
    round.nodes().map(line).collect()
}

#[tokio::test]
async fn a_loop_by_hand_keeps_usage_times_cost_and_links() {
    let round = open(&process(&round_store(), "a").build().unwrap(), 0).await;
    let at = Timestamp::from_micros;
    let question = Message::from("Where is it warm in March?");
    round.record(RecordedMessage::new(&question).link("trip", "m1").author("ada")).await.unwrap();

    let mut answer = Answer::new(looks());
    (answer.usage, answer.model) = (Some(usage()), Some("claude-sonnet-4-5".into()));
    let recorded = RecordedMessage::of_answer(&answer).link("trip", "m2").provider("anthropic");
    let recorded = recorded.started_at(at(1_000)).ended_at(at(2_000)).cost(0.25);
    round.record(recorded).await.unwrap();

    let found = Message::tool(answer.message.tool_calls().map(|call| call.result("Madeira")));
    let recorded = RecordedMessage::new(&found).link("trip", "m3");
    round.record(recorded.started_at(at(2_000)).ended_at(at(3_000))).await.unwrap();

    let last = Message::text(Role::Assistant, "On Madeira.");
    let recorded = RecordedMessage::new(&last).usage(&Usage::new(1, 2)).model("small");
    round.record(recorded.link("trip", "m4")).await.unwrap();
    insta::assert_snapshot!(lines(&round), @r#"
    Query(query00000) [m1] {}
    State(state00000) [m2] {"started_at":1000,"ended_at":2000,"provider":"anthropic","model":"claude-sonnet-4-5","input_tokens":125,"output_tokens":7,"cache_read_tokens":100,"cache_write_tokens":5,"reasoning_tokens":3,"cost_usd":0.25}
    Action(c1) [m2] {"started_at":2000,"ended_at":3000}
    Response(response00000) [m4] {"model":"small","input_tokens":1,"output_tokens":2}
    "#);
    let nodes = round.round();
    let query = nodes.nodes().find(|node| node.kind() == TrajectoryNodeKind::Query).unwrap();
    assert_eq!(query.messages, [MessageLink::new("trip", "m1")]);
    assert_eq!(query.author.as_deref(), Some("ada"));
}

#[tokio::test]
async fn messages_and_answers_are_recorded_as_they_are() {
    let round = open(&process(&round_store(), "a").build().unwrap(), 0).await;
    round.record(&Message::from("Where to?")).await.unwrap();
    let mut answer = Answer::new(looks());
    let error = ModelError::new("test", ModelErrorCode::RateLimit, "later");
    (answer.usage, answer.error) = (Some(usage()), Some(error));
    round.record(&answer).await.unwrap();
    let nodes = round.round();
    let measures = |kind| {
        let node = nodes.nodes().find(|node| node.kind() == kind).unwrap();
        node.measures.as_deref().cloned()
    };
    assert_eq!(measures(TrajectoryNodeKind::Query), None);
    assert_eq!(measures(TrajectoryNodeKind::Action), None);
    let state = measures(TrajectoryNodeKind::State).unwrap();
    assert_eq!(state.error.as_deref(), Some(ModelErrorCode::RateLimit.as_str()));
    assert_eq!(
        state.input_tokens,
        Some(125),
        "with what was read from the cache and written to it"
    );
}

#[test]
fn tokens_of_a_cache_that_were_not_reported_stay_unknown() {
    let measures = Measures::of_usage(&Usage::new(20, 7));
    assert_eq!((measures.input_tokens, measures.output_tokens), (Some(20), Some(7)));
    assert_eq!((measures.cache_read_tokens, measures.cache_write_tokens), (None, None));
    assert_eq!(measures.reasoning_tokens, None);
}

#[tokio::test]
async fn a_replayed_answer_has_the_recorded_usage() {
    let round = open(&process(&round_store(), "a").build().unwrap(), 0).await;
    round.record(&Message::from("Where to?")).await.unwrap();
    let mut answer = Answer::new(Message::text(Role::Assistant, "To the sea."));
    (answer.usage, answer.model) = (Some(usage()), Some("small".into()));
    round.record(&answer).await.unwrap();
    let model = RecordedModel::new(&Replay::of_round(&round.round()));
    let request = ModelRequest::new([Message::from("Where to?")]);
    let again = model.complete(&request, &CancelSignal::never()).await.unwrap();
    assert_eq!((again.usage, again.model), (answer.usage, answer.model));
}
