//! Trajectories: recorded by an import, shown, drawn, counted, removed.

use std::sync::Arc;

use context_runtime::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, OpenOptions, Trajectories,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{DAY, Scene};

fn call(id: &str, name: &str, params: &Value) -> Value {
    json!({"id": id, "type": "function",
        "function": {"name": name, "arguments": params.to_string()}})
}

/// A chat about a trip, imported with its trajectory.
fn trip() -> Scene {
    let scene = Scene::new();
    scene.trace("trip", &messages());
    scene
}

fn messages() -> Value {
    json!([
        {"role": "system", "content": "You sell tickets."},
        {"role": "user", "content": "Two tickets to Lisbon."},
        {"role": "assistant", "content": "I look it up.", "tool_calls": [
            call("c1", "trains", &json!({"to": "Lisbon"})),
            call("c2", "trains", &json!({"to": "Lisbon"})),
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "10:05"},
        {"role": "tool", "tool_call_id": "c2", "content": "10:05"},
        {"role": "assistant", "content": "There is a train at 10:05."},
        {"role": "user", "content": "Book it."},
        {"role": "assistant", "content": null, "tool_calls": [call("c3", "book", &json!({"train": "10:05"}))]},
    ])
}

impl Scene {
    /// Imports a chat with its trajectory and returns the output.
    fn trace(&self, chat: &str, messages: &Value) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("chat.json");
        std::fs::write(&file, messages.to_string()).expect("the folder can be written to");
        let file = file.display().to_string();
        let (result, out, beside) =
            self.run(&["import", "--chat", chat, "--trajectory", &file], false);
        assert!(result.is_ok(), "{beside}");
        out + &beside
    }
}

#[test]
fn an_import_records_rounds_once() {
    let scene = trip();
    let again = scene.trace("trip", &messages());
    assert!(again.ends_with("recorded 0 rounds of trip · 2 there before\n"), "{again}");
    assert_snapshot!(
        "trajectory",
        scene.show(&[
            "trajectory list",
            "trajectory show trip",
            "trajectory show trip 1",
            "trajectory show trip 0.2",
            "trajectory show trip Response(response00000)",
            "trajectory stats trip",
            "show trip m3",
        ])
    );
}

#[test]
fn what_is_not_there_is_said_with_advice() {
    let scene = trip();
    assert_snapshot!(
        "trajectory_errors",
        scene.show(&[
            "trajectory show nobody",
            "trajectory show trip 7",
            "trajectory show trip 0.99",
            "trajectory show trip what",
            "trajectory show trip 0 --agent 3",
            "trajectory graph trip --around 9.9",
            "trajectory export trip --format peer",
            "trajectory export trip --format peer --output runs --round 1",
            "trajectory export trip --format atif --content",
        ])
    );
}

#[test]
fn a_session_is_drawn_whole_or_in_part() {
    let scene = trip();
    assert_snapshot!(
        "trajectory_graph",
        scene.show(&[
            "trajectory graph trip --round 1",
            "trajectory graph trip --around 0.4 --depth 1",
            "trajectory graph trip --active --format mermaid",
            "trajectory graph trip --format dot --round 1",
        ])
    );
    let records = scene.records("trajectory graph trip --round 1");
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["after"][0], json!({"from": "0.4", "name": "continues_to"}));
    assert_eq!(records[2]["node"]["fields"]["output"], "Pending");
}

#[test]
fn every_format_is_written_and_read_back_where_it_can_be() {
    let scene = trip();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for format in ["otlp", "prov", "atif", "chrome", "html", "mermaid", "dot"] {
        let text = scene.show(&[&format!("trajectory export trip --format {format}")]);
        let (_, text) = text.split_once('\n').expect("the command comes first");
        assert!(!text.contains("\nerror: "), "{format}");
        if !matches!(format, "html" | "mermaid" | "dot") {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            assert!(parsed.is_ok(), "{format}");
        }
    }
    let file = folder.path().join("trip.atif.json").display().to_string();
    let runs = folder.path().join("runs").display().to_string();
    let written = scene.records(&format!("trajectory export trip --format atif --output {file}"));
    assert_eq!(written[0]["output"], json!(file));
    let taken = scene.show(&[&format!("trajectory export trip --format atif --output {file}")]);
    assert!(taken.contains("exists"), "{taken}");
    let written = scene.records(&format!("trajectory export trip --format peer --output {runs}"));
    assert_eq!(written[0]["rounds"], 2);
    let taken = scene.show(&[&format!("trajectory export trip --format peer --output {runs}")]);
    assert!(taken.contains("Run0_Sub0.json exists"), "{taken}");

    let there = |imported: usize, there: usize, session: &str| json!({"v": 1, "session": session, "imported": imported, "there": there, "findings": []});
    let import = format!("trajectory import {file} --session again");
    assert_eq!(scene.records(&import), [there(2, 0, "again")]);
    assert_eq!(scene.records(&import), [there(0, 2, "again")]);
    let import = format!("trajectory import {runs} --session peer");
    assert_eq!(scene.records(&import), [there(2, 0, "peer")]);
    assert_eq!(scene.records(&import), [there(0, 2, "peer")]);
    let outline = |session: &str| {
        let records = scene.records(&format!("trajectory show {session}"));
        let nodes = records.iter().map(|it| (it["node"]["label"].clone(), it["after"].clone()));
        nodes.collect::<Vec<_>>()
    };
    assert_eq!(outline("again"), outline("trip"));
    assert_eq!(outline("peer"), outline("trip"));
}

/// A round whose second action failed and led nowhere.
#[test]
fn dead_branches_go_and_what_leads_to_the_end_stays() {
    let scene = Scene::new();
    let recorder =
        Trajectories::builder(Arc::clone(&scene.store)).clock(Arc::new(scene.host.clone()));
    let recorder = recorder.build().expect("the store keeps trajectories");
    let recording = async {
        let round = AgentRef::main("local", "trip").round(0);
        let context = recorder.open(&round, OpenOptions::new()).await?;
        let query = context.ask(NewQuery::new("Two tickets.")).await?;
        let dead = context.add(NewNode::new(NodeBody::state("By plane?"), [query])).await?;
        let plane = NodeBody::action("flights", json!({}));
        let plane = context.add(NewNode::new(plane, [dead]).close()).await?;
        context.add(NewNode::new(NodeBody::knowledge("note", "no seats"), [plane])).await?;
        context.add(NewNode::new(NodeBody::state("By train."), [query]).append()).await
    };
    assert!(scene.runtime.block_on(recording).is_ok());
    assert_snapshot!(
        "trajectory_dead_branches",
        scene.show(&[
            "trajectory show trip",
            "trajectory prune --dead-branches --dry-run",
            "trajectory prune --dead-branches",
            "trajectory prune --dead-branches",
            "trajectory show trip",
            "verify",
        ])
    );
}

#[test]
fn old_rounds_go_and_the_newest_stay() {
    let scene = trip();
    scene.pass(5 * DAY);
    scene.trace("later", &messages());
    assert_snapshot!(
        "trajectory_prune",
        scene.show(&[
            "verify",
            "trajectory prune --older-than 3d --dry-run",
            "trajectory prune --keep-rounds 1 --session later",
            "trajectory prune --older-than 3d",
            "trajectory prune --dead-branches",
            "trajectory list",
            "erase local --yes",
            "trajectory list",
        ])
    );
}
