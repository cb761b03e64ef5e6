//! JSON output: one record per line, each with a version and the documented keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::command_table::{COMMANDS, Use};
use crate::harness::{Bench, values, without_times};

#[track_caller]
fn check(bench: &Bench, line: &str, expected: Value) {
    let records = bench.records(line);
    let text = without_times(&records.first().expect("a record").to_string());
    assert_eq!(serde_json::from_str::<Value>(&text).expect("still JSON"), expected, "{line}");
    assert!(records.iter().all(|record| record["v"] == 1));
}

#[test]
fn every_command_has_a_record() {
    let bench = Bench::new();
    bench.file(
        "a.json",
        "{\"id\": 1,\n \"messages\": [{\"role\": \"user\",\n \"content\": \"hi\"}]}",
    );
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "hi"}]});
    check(
        &bench,
        "import a.json",
        json!({"v": 1, "chat": "a", "file": "a.json", "messages": 1, "added": 1, "branches": 1, "status": "imported",
        "broken": 0, "diagnostics": []}),
    );
    check(
        &bench,
        "chats",
        json!({"v": 1, "chat": "a", "title": "hi", "active": "main", "messages": 1, "branches": 1,
        "created_at": "(time)", "updated_at": "(time)", "file": "a.json"}),
    );
    check(
        &bench,
        "checkpoint a start",
        json!({"v": 1, "checkpoint": "start", "message": "m1",
        "created_at": "(time)", "status": "set"}),
    );
    check(
        &bench,
        "log a",
        json!({"v": 1, "id": "m1", "role": "user", "preview": "hi", "created_at": "(time)",
        "revision": 0, "branches": ["main"], "checkpoints": ["start"]}),
    );
    check(
        &bench,
        "show a m1",
        json!({"v": 1, "chat": "a", "id": "m1", "parent": null, "depth": 0, "role": "user",
        "created_at": "(time)", "revision": 0, "message": message, "revisions": []}),
    );
    check(
        &bench,
        "prompt a",
        json!({"v": 1, "chat": "a", "branch": "main", "system_prompt": "",
        "messages": [{"id": "m1", "message": message}], "diagnostics": []}),
    );
    check(
        &bench,
        "prompt a --as-of m1",
        json!({"v": 1, "chat": "a", "as_of": "m1", "system_prompt": "",
        "messages": [{"id": "m1", "message": message}], "diagnostics": []}),
    );
    check(
        &bench,
        "export a",
        json!({"v": 1, "chat": "a", "file": "a.json", "to": "source",
        "diagnostics": [], "conversation": {"id": 1, "messages": [{"role": "user", "content": "hi"}]}}),
    );
    check(
        &bench,
        "rewind a m1",
        json!({"v": 1, "chat": "a", "branch": "main-v2", "head": "m1", "active": true}),
    );
    check(
        &bench,
        "fork a",
        json!({"v": 1, "chat": "a", "branch": "main-v3", "head": "m1", "active": false}),
    );
    check(
        &bench,
        "branches a",
        json!({"v": 1, "branch": "main", "head": "m1", "messages": 1, "active": false,
        "created_at": "(time)"}),
    );
    check(
        &bench,
        "graph a",
        json!({"v": 1, "id": "m1", "parent": null, "depth": 0, "role": "user", "preview": "hi",
        "created_at": "(time)", "on_path": true, "branches": ["main", "main-v2", "main-v3"],
        "checkpoints": ["start"]}),
    );
    check(
        &bench,
        "pin a m1",
        json!({"v": 1, "id": "m1", "role": "user", "preview": "hi", "status": "pinned"}),
    );
    check(
        &bench,
        "pin a m1 --remove",
        json!({"v": 1, "id": "m1", "role": "user", "preview": "hi", "status": "unpinned"}),
    );
    check(
        &bench,
        "checkpoint a start --delete",
        json!({"v": 1, "checkpoint": "start", "message": null,
        "created_at": null, "status": "deleted", "removed": removed(&["checkpoints"], 0),
        "not_reached": []}),
    );
    check(
        &bench,
        "verify",
        json!({"v": 1, "chats": 1, "messages": 1, "blobs": 0, "streams": 0, "rounds": 0, "memories": 0, "findings": []}),
    );
    let mut report = removed(&["chats", "messages"], 186);
    (report["branches"], report["revisions"]) = (json!(3), json!(2));
    report["searched"] = json!(true);
    check(
        &bench,
        "delete a --yes",
        json!({"v": 1, "chat": "a", "deleted": true, "status": "removed",
        "removed": report, "not_reached": NOT_REACHED}),
    );
}

/// The places that no removal reaches, in records of a SQLite file.
const NOT_REACHED: [&str; 6] = [
    "local files of trajectories",
    "snapshots of a workspace",
    "backups and exports",
    "logs",
    "what running programs and model providers keep",
    "unused space of the store's files, until `context vacuum`",
];

/// Returns the report of a removal that removed one of each of these kinds.
fn removed(one_of: &[&str], bytes: u64) -> Value {
    let mut report = json!({"chats": 0, "branches": 0, "checkpoints": 0, "messages": 0,
        "revisions": 0, "bytes": bytes, "boundaries": 0, "titles": 0, "rounds": 0, "nodes": 0,
        "memories": 0, "fragments": 0, "blobs": 0, "streams": 0, "found": 0, "searched": false,
        "remaining": [], "items": []});
    for kind in one_of {
        report[*kind] = json!(1);
    }
    report
}

/// Commands whose output is content with `--json` too, and not records on standard output.
const CONTENT: [&str; 3] = ["trajectory export", "export --all --to jsonl", "prepare"];

#[test]
fn what_is_written_follows_the_schema() {
    let bench = Bench::with_sample();
    bench.file("fragments.json", r#"[{"name": "hint", "data": ["a", "b"]}]"#);
    bench.ok("import notes.json --trajectory");
    bench.ok("memory add words");
    let mut checked = BTreeSet::new();
    for (name, _, line) in COMMANDS.iter().filter(|(_, usage, _)| *usage != Use::None) {
        if CONTENT.iter().any(|content| line.starts_with(content)) {
            continue;
        }
        let schema = bench.run(&format!("schema {name}"));
        if schema.status != 0 {
            continue;
        }
        let schema: Value = serde_json::from_str(&schema.out).expect("a schema");
        let validator = jsonschema::validator_for(&schema).expect("a sound schema");
        for record in values(&bench.run(&format!("--json {line}")).out) {
            let problems: Vec<_> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
            assert_eq!(problems, [""; 0], "{line}: {record}");
            checked.insert(*name);
        }
    }
    assert!(checked.len() > 25, "{checked:?}");
}
