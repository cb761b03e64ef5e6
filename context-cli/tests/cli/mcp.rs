//! `mcp` answers a client on standard input and output.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};

use crate::harness::{Bench, values};

/// Returns the lines of a client that introduces itself and then asks.
fn session(requests: impl IntoIterator<Item = Value>) -> String {
    let introduction = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    introduction.into_iter().chain(requests).map(|request| format!("{request}\n")).collect()
}

fn answer(answers: &[Value], id: u64) -> &Value {
    let found = answers.iter().find(|answer| answer["id"] == id);
    &found.unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"))["result"]
}

#[test]
fn a_client_starts_it_asks_and_ends_it() {
    let bench = Bench::with_sample();
    let input = session([
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "list_chats", "arguments": {}}}),
    ]);
    let ran = bench.run_with("mcp", &input);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "nothing but the protocol: {ran:?}");
    let answers = values(&ran.out);
    assert_eq!(answer(&answers, 0)["serverInfo"]["name"], "context");
    assert_eq!(answer(&answers, 1)["tools"].as_array().unwrap().len(), 9);
    let listed = answer(&answers, 2)["content"][0]["text"].as_str().unwrap();
    assert!(listed.starts_with("notes"), "{listed}");
}

#[test]
fn the_configuration_of_the_page_starts_it() {
    let page = include_str!("../../../docs/mcp.md");
    let bench = Bench::with_sample();
    // The folder of the store and that of the sessions are the one of this test.
    let here = |line: &str| line.replace("/path/to/", "").replace("~/.claude/projects", ".");
    let import = page.lines().find(|line| line.contains(" import ")).unwrap();
    bench.ok(&here(import.strip_prefix("context ").unwrap()));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "list_chats", "arguments": {}}});
    for (block, key) in page.split("```json\n").skip(1).zip(["mcpServers", "servers"]) {
        let (block, _) = block.split_once("```").unwrap();
        let configuration: Value = serde_json::from_str(block).unwrap();
        let server = &configuration[key]["context"];
        assert!(server["command"].as_str().unwrap().ends_with("/context"));
        let args: Vec<String> = serde_json::from_value(server["args"].clone()).unwrap();
        let ran = bench.run_with(&here(&args.join(" ")), &session([request.clone()]));
        assert_eq!(ran.status, 0, "{ran:?}");
        let listed = answer(&values(&ran.out), 1)["content"][0]["text"].to_string();
        assert!(listed.contains("notes"), "the server has what was imported: {listed}");
    }
}

#[test]
fn a_client_may_be_kept_from_changes() {
    let bench = Bench::with_sample();
    let input = session([
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "fork", "arguments": {"chat": "notes", "to": "copy"}}}),
    ]);
    let answers = values(&bench.run_with("mcp --read-only", &input).out);
    assert_eq!(answer(&answers, 1)["tools"].as_array().unwrap().len(), 5);
    let refused = answer(&answers, 2);
    assert!(refused["isError"] == true, "{refused}");
    assert!(refused.to_string().contains("--read-only"), "{refused}");
}
