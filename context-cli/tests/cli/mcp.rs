//! `mcp` answers a client on standard input and output.

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
