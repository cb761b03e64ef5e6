//! `mcp` answers a client on standard input and output.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};

use crate::harness::{Bench, values};

#[test]
fn a_client_starts_it_asks_and_ends_it() {
    let bench = Bench::with_sample();
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "list_chats", "arguments": {}}}),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let ran = bench.run_with("mcp", &input);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "nothing but the protocol: {ran:?}");
    let answers = values(&ran.out);
    let answer = |id: u64| {
        let found: Option<&Value> = answers.iter().find(|answer| answer["id"] == id);
        &found.unwrap_or_else(|| panic!("no answer to {id}: {}", ran.out))["result"]
    };
    assert_eq!(answer(1)["serverInfo"]["name"], "context");
    assert_eq!(answer(2)["tools"].as_array().unwrap().len(), 9);
    assert!(answer(3)["content"][0]["text"].as_str().unwrap().starts_with("notes"));
}

#[test]
fn the_configuration_of_the_page_starts_it() {
    let page = include_str!("../../../docs/mcp.md");
    let block = page.split("```json\n").nth(1).and_then(|it| it.split("```").next()).unwrap();
    let configuration: Value = serde_json::from_str(block).unwrap();
    let server = &configuration["mcpServers"]["context"];
    assert_eq!(server["command"], "context");
    let args: Vec<String> = serde_json::from_value(server["args"].clone()).unwrap();
    let bench = Bench::with_sample();
    let line = args.join(" ").replace("/path/to/", "");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let ran = bench.run_with(&line, &format!("{request}\n"));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(values(&ran.out)[0]["result"]["serverInfo"]["name"], "context");
}

#[test]
fn a_client_may_be_kept_from_changes() {
    let bench = Bench::with_sample();
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "fork", "arguments": {"chat": "notes", "to": "copy"}}}),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let ran = bench.run_with("mcp --read-only", &input);
    let answers = values(&ran.out);
    let refused = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    assert!(refused["result"]["isError"] == true, "{refused}");
    assert!(refused.to_string().contains("read-only"), "{refused}");
}
