//! Writing and reading ATIF.

use context_core::trajectory::{Round, RoundRecord, TrajectoryNodeKind};
use context_trajectory::{BridgeFrom, Selection, SessionGraph, Trajectory};
use context_trajectory_export::{AtifError, AtifOptions, read_atif, write_atif};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::scene::{session, sessions, written};

fn atif(graph: &SessionGraph) -> String {
    written(|out| write_atif(graph, &AtifOptions::new("tester", "1.2"), out))
}

fn read(text: &str) -> Result<Vec<Round>, AtifError> {
    read_atif(text, "anna: \"ü\"", "s 1/#")
}

/// Returns rounds as a session again.
fn graph(rounds: Vec<Round>) -> SessionGraph {
    let mut agents: std::collections::BTreeMap<u32, Vec<_>> = std::collections::BTreeMap::new();
    for round in rounds {
        agents.entry(round.round().agent.agent).or_default().push(std::sync::Arc::new(round));
    }
    let agents = agents
        .into_iter()
        .map(|(agent, rounds)| (agent, Trajectory::new(rounds, BridgeFrom::Leaves)));
    SessionGraph::new("anna: \"ü\"", "s 1/#", agents)
}

/// Checks the rules of the format's own validators.
pub(crate) fn check(document: &Value) -> Result<(), String> {
    let steps = document["steps"].as_array().ok_or("no steps")?;
    if steps.is_empty() {
        return Err("no step".into());
    }
    for (step, id) in steps.iter().zip(1..) {
        if step["step_id"] != json!(id) {
            return Err(format!("step {id} is {}", step["step_id"]));
        }
        let calls: Vec<&Value> = step["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| &call["tool_call_id"])
            .collect();
        if step["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|call| !call["arguments"].is_object())
        {
            return Err(format!("step {id}: arguments are no object"));
        }
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            if !result["source_call_id"].is_null() && !calls.contains(&&result["source_call_id"]) {
                return Err(format!("step {id}: a result of no call"));
            }
        }
        let agent_only = ["model_name", "reasoning_content", "tool_calls", "metrics"];
        if step["source"] != "agent" && agent_only.iter().any(|name| !step[name].is_null()) {
            return Err(format!("step {id}: only an agent has that"));
        }
    }
    let embedded = document["subagent_trajectories"].as_array().cloned().unwrap_or_default();
    embedded.iter().try_for_each(|document| match &document["trajectory_id"] {
        Value::String(_) => check(document),
        _ => Err("an embedded one without an id".into()),
    })
}

#[test]
fn atif_of_a_session() {
    let document: Value = serde_json::from_str(&atif(&session())).unwrap();
    assert_eq!(check(&document), Ok(()));
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!(document) });
}

/// Returns the records of a session. Revisions and titles are not compared, as they belong to the
/// store and the question.
fn records(graph: &SessionGraph) -> Vec<RoundRecord> {
    let rounds =
        graph.agents().flat_map(|agent| agent.trajectory().rounds().cloned().collect::<Vec<_>>());
    rounds.map(|round| round.to_record()).collect()
}

#[test]
fn a_session_comes_back_as_it_was() {
    let there = session();
    let back = graph(read(&atif(&there)).unwrap());
    assert_eq!(records(&back), records(&there));
    assert_eq!(atif(&back), atif(&there));
}

#[test]
fn a_part_of_a_session_can_be_read_as_well() {
    for selection in [Selection::ActiveBranches, Selection::Round(2), Selection::Round(9)] {
        let part = session().select(selection).unwrap();
        let document: Value = serde_json::from_str(&atif(&part)).unwrap();
        assert_eq!(check(&document), Ok(()));
        let nodes: usize = part.agents().map(|agent| agent.nodes().count()).sum();
        let read: usize = read(&atif(&part)).unwrap().iter().map(Round::len).sum();
        assert_eq!(read, nodes, "{selection:?}");
    }
}

fn foreign() -> Value {
    json!({
        "schema_version": "ATIF-v1.6",
        "session_id": "abc",
        "agent": {"name": "other", "version": "0", "tool_definitions": [{}]},
        "notes": "unknown here",
        "steps": [
            {"step_id": 1, "source": "system", "message": "Be kind.", "timestamp": "2025-10-11T10:00:00Z"},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "What is it?"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]},
            {"step_id": 3, "source": "agent", "message": "I look.", "model_name": "m", "reasoning_content": "hm",
                "timestamp": "2025-10-11T10:00:02.5+00:00",
                "tool_calls": [
                    {"tool_call_id": "c1", "function_name": "look", "arguments": {"n": 1.50}},
                    {"tool_call_id": "c2", "function_name": "ask", "arguments": {}}],
                "observation": {"results": [
                    {"source_call_id": "c1", "content": "a cat"},
                    {"source_call_id": "c2", "subagent_trajectory_ref": [{"trajectory_id": "helper"}]},
                    {"content": "it is late"}]},
                "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.5, "logprobs": [0.1]}},
            {"step_id": 4, "source": "agent", "message": "again", "tool_calls": [
                {"tool_call_id": "c1", "function_name": "look", "arguments": {}}]},
            {"step_id": 5, "source": "agent", "message": "A cat."},
            {"step_id": 6, "source": "user", "message": "Sure?"},
            {"step_id": 7, "source": "agent", "message": "old", "is_copied_context": true},
            {"step_id": 8, "source": "agent", "message": "Yes."}
        ],
        "subagent_trajectories": [{
            "schema_version": "ATIF-v1.6", "trajectory_id": "helper", "agent": {"name": "h", "version": "0"},
            "steps": [{"step_id": 1, "source": "agent", "message": "No idea."}]
        }]
    })
}

#[test]
fn steps_of_other_programs_become_rounds() {
    let rounds = read(&foreign().to_string()).unwrap();
    let lines = rounds.iter().flat_map(|round| {
        let parent =
            round.head().parent.map(|parent| format!("below {}/{}", parent.agent, parent.node));
        let head = format!(
            "agent {} round {} {}",
            round.round().agent.agent,
            round.round().round,
            parent.unwrap_or_default()
        );
        let nodes = round.nodes().map(|node| {
            let before: Vec<String> = round
                .predecessors(node.id)
                .map(|edge| format!("{} {}", edge.from, edge.name))
                .collect();
            format!(
                "  {} {} {:?} <- {}",
                node.id,
                node.title(),
                node.body.headline(),
                before.join(", ")
            )
        });
        std::iter::once(head).chain(nodes.collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    let state = rounds[0].nodes().find(|node| node.kind() == TrajectoryNodeKind::State).unwrap();
    let measures = state.measures.as_deref().unwrap();
    assert_eq!((measures.input_tokens, measures.cost_usd), (Some(10), Some(0.5)));
    assert_eq!(state.created_at.as_micros() % 1_000_000, 500_000);
    let again = graph(rounds);
    assert_eq!(records(&graph(read(&atif(&again)).unwrap())), records(&again));
}

#[test]
fn what_is_no_document_is_refused_without_its_content() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(refused("{\"secret\": "), "not a trajectory in ATIF: line 1, column 11");
    let mut other = foreign();
    other["schema_version"] = json!("ATIF-v2.0");
    assert_eq!(refused(&other.to_string()), "a trajectory of an unknown version of ATIF");
    let mut damaged: Value = serde_json::from_str(&atif(&session())).unwrap();
    damaged["steps"].as_array_mut().unwrap().remove(0);
    assert!(refused(&damaged.to_string()).contains("damaged"));
    // A document of this crate is never taken for a foreign one because a part of it is damaged.
    damaged["extra"]["context"]["rounds"] = json!("none");
    assert!(refused(&damaged.to_string()).contains("damaged: an agent"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(96) })]

    #[test]
    fn out_and_in_and_out_is_the_same(there in sessions()) {
        let text = atif(&there);
        let document: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(check(&document), Ok(()));
        let back = graph(read(&text).unwrap());
        prop_assert_eq!(records(&back), records(&there));
        prop_assert_eq!(atif(&back), text);
    }
}
