//! Trajectories: recorded by an import, shown, drawn, counted, removed.

use std::sync::Arc;

use context_runtime::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, OpenOptions, Trajectories,
};
use context_runtime::{ContextEngine, WrittenIn, assistant, user};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{DAY, Scene};

fn call(id: &str, name: &str, params: &Value) -> Value {
    json!({"id": id, "type": "function",
        "function": {"name": name, "arguments": params.to_string()}})
}

/// A chat about a trip, imported with its trajectory.
pub(super) fn trip() -> Scene {
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

/// Goes back to a message of the chat, and works on from there on a branch of its own.
fn work_on(scene: &Scene, from: &str, asked: &str, answered: &str) {
    let working = async {
        let host = &scene.host;
        let builder = ContextEngine::builder(Arc::clone(&scene.store)).user("local").chat("trip");
        let mut engine = builder.clock(host.clone()).ids(host.clone()).open().await?;
        engine.rewind(&from.into()).await?;
        engine.set([user(asked)]).set([assistant(answered)]);
        engine.save().await
    };
    assert!(scene.runtime.block_on(working).is_ok());
}

#[test]
fn a_stored_chat_is_recorded_with_its_branches() {
    let scene = Scene::with_chat("trip", &messages());
    work_on(&scene, "m6", "Is there a flight?", "At noon.");
    work_on(&scene, "m2", "Rather to Porto.", "There is a bus.");
    assert_snapshot!(
        "trajectory_record",
        scene.show(&[
            "trajectory record trip",
            "trajectory record trip",
            "trajectory list",
            "trajectory show trip",
            "trajectory show trip 0.0 --agent 1",
            "trajectory record nobody",
        ])
    );
    work_on(&scene, "m6", "And a ferry?", "On Sundays.");
    let records = scene.records("trajectory record trip");
    assert_eq!(
        records,
        [json!({"v": 1, "session": "trip", "rounds": 5, "recorded": 1, "taken": 0, "skipped": 0,
        "branches": [
            {"branch": "main", "agent": 0, "rounds": 2, "recorded": 0, "taken": 0, "skipped": 0},
            {"branch": "main-v2", "agent": 1, "below": "0/0.4", "rounds": 1, "recorded": 0,
                "taken": 0, "skipped": 0},
            {"branch": "main-v3", "agent": 2, "below": "0/0.0", "rounds": 1, "recorded": 0,
                "taken": 0, "skipped": 0},
            {"branch": "main-v4", "agent": 3, "below": "0/0.4", "rounds": 1, "recorded": 1,
                "taken": 0, "skipped": 0},
        ]})]
    );
}

/// A session of Claude Code in which an answer was given twice, and a sub-agent ran.
#[test]
fn an_import_records_the_branches_of_its_file() {
    let line = |uuid: &str, parent: Value, side: bool, message: Value| {
        json!({"type": message["role"], "uuid": uuid, "parentUuid": parent, "isSidechain": side,
            "sessionId": "s", "timestamp": "2025-06-14T10:00:00Z", "message": message})
    };
    let asked = |text: &str| json!({"role": "user", "content": text});
    let answered = |id: &str, output: u64, block: Value| {
        json!({"id": id, "role": "assistant", "model": "claude-sonnet-4-5", "content": [block],
            "usage": {"input_tokens": 5, "output_tokens": output}})
    };
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]);
    let said = |text: &str| json!({"type": "text", "text": text});
    let lines = [
        line("q", json!(null), false, asked("What is here?")),
        line("agent", json!(null), true, asked("Look around.")),
        line("call", json!("q"), false, answered("msg_1", 2, call)),
        line("result", json!("call"), false, json!({"role": "user", "content": result})),
        line("old", json!("result"), false, answered("msg_2", 3, said("One file."))),
        line("new", json!("result"), false, answered("msg_3", 4, said("A file: a.txt."))),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("session.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).expect("the folder can be written to");
    let scene = Scene::new();
    let import = format!("import --trajectory {}", file.display());
    let recorded = scene.records(&import).pop().expect("a record of the rounds");
    assert_eq!((&recorded["rounds"], &recorded["recorded"]), (&json!(3), &json!(3)));
    assert_snapshot!(
        "trajectory_record_file",
        scene.show(&["trajectory show session", "trajectory stats session"])
    );
    assert_eq!(scene.records(&import).pop().expect("a record of the rounds")["recorded"], 0);
    assert_eq!(scene.records("trajectory record session")[0]["recorded"], 0);
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
    let written = scene.show(&[&format!("trajectory export trip --format atif --output {file}")]);
    assert!(written.contains(&format!("note: wrote {file}")), "{written}");
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
            "trajectory prune --dead-branches --yes",
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
            "trajectory prune --older-than 3d --yes",
            "trajectory prune --dead-branches",
            "trajectory list",
            "erase local --yes",
            "trajectory list",
        ])
    );
}

#[test]
fn a_message_tells_the_turn_and_the_run_that_wrote_it() {
    let scene = Scene::new();
    let working = async {
        let host = &scene.host;
        let builder = ContextEngine::builder(Arc::clone(&scene.store)).user("local").chat("trip");
        let mut engine = builder.clock(host.clone()).ids(host.clone()).open().await?;
        engine.set([user("Before.").with_id("u1")]).save().await?;
        engine.write_in(Some(WrittenIn::turn("u2").run("nightly-1")));
        engine.set([user("Now.").with_id("u2")]).save().await
    };
    assert!(scene.runtime.block_on(working).is_ok());
    for line in ["log trip", "show trip u2"] {
        let record = scene.records(line).pop().expect("a record");
        assert_eq!((&record["turn"], &record["run"]), (&json!("u2"), &json!("nightly-1")));
    }
    assert!(scene.records("log trip")[0].get("turn").is_none());
    let shown = scene.show(&["show trip u2"]);
    assert!(shown.contains("\nturn u2 · run nightly-1\n"), "{shown}");
}
