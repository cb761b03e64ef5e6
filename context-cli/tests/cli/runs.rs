//! Runs of other programs, recorded from their files: models, tokens and times in a file are kept,
//! and missing ones are not invented.

use serde_json::{Value, json};

use crate::harness::Bench;

/// Imports a file with its rounds, and returns their statistics as records and as text.
fn stats(bench: &Bench, file: &str) -> (Vec<Value>, String) {
    let ran = bench.run(&format!("import {file} --chat run --trajectory"));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let states = bench.records("trajectory list run");
    assert!(states.iter().all(|round| round["state"] == "closed"), "{states:?}");
    (bench.records("trajectory stats run"), bench.ok("trajectory stats run"))
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A rollout in which two model calls answer a question. The command run in it failed.
fn rollout(instructions: &str) -> String {
    let at = |second: u32, kind: &str, payload: Value| json!({"timestamp": format!("2025-10-29T00:59:{second:02}Z"), "type": kind, "payload": payload});
    let tokens = |input: u64, cached: u64, output: u64| {
        let last = json!({"input_tokens": input, "cached_input_tokens": cached,
            "output_tokens": output,
            "reasoning_output_tokens": 1, "total_tokens": input + output});
        json!({"type": "token_count", "info": {"last_token_usage": last}})
    };
    let call = json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c"});
    let output = json!({"output": "no such folder", "metadata": {"exit_code": 2}}).to_string();
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    lines(&[
        at(0, "session_meta", json!({"id": "s", "cwd": "/tmp", "instructions": instructions})),
        at(1, "turn_context", json!({"cwd": "/tmp", "model": "gpt-5-codex"})),
        at(2, "response_item", said("user", "input_text", "what is there?")),
        at(4, "response_item", call),
        at(5, "event_msg", tokens(100, 40, 10)),
        at(
            7,
            "response_item",
            json!({"type": "function_call_output", "call_id": "c", "output": output}),
        ),
        at(9, "response_item", said("assistant", "output_text", "Nothing.")),
        at(9, "event_msg", tokens(150, 90, 5)),
    ])
}

/// Regression: the other lines of a long session go to a separate branch, and their token counts
/// were lost.
#[test]
fn a_session_of_codex_keeps_its_tokens_model_and_times_however_long_it_is() {
    for instructions in ["short", &"long ".repeat(20_000)] {
        let bench = Bench::new();
        bench.file("rollout.jsonl", rollout(instructions));
        let (stats, shown) = stats(&bench, "rollout.jsonl");
        let round = &stats[0];
        assert_eq!(round["input_tokens"], 250, "{shown}");
        assert_eq!(
            (&round["cache_read_tokens"], &round["output_tokens"]),
            (&json!(130), &json!(15))
        );
        assert_eq!((&round["seconds"], &round["call_seconds"]), (&json!(7.0), &json!(3.0)));
        assert_eq!((&round["calls"], &round["failed_calls"]), (&json!(1), &json!(1)));
        let shown = bench.ok("trajectory export run --format otlp");
        assert!(shown.contains("gpt-5-codex"), "{shown}");
    }
}

/// An answer is written as several lines, one per part, and only the usage on the last line covers
/// all of it.
#[test]
fn a_session_of_claude_code_keeps_its_tokens_model_and_times() {
    let bench = Bench::new();
    let line = |uuid: &str, parent: Value, second: u32, message: Value| {
        json!({"type": message["role"], "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
            "timestamp": format!("2025-06-14T10:00:{second:02}Z"), "cwd": "/tmp",
                "message": message})
    };
    let answer = |part: Value, output: u64| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [part],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10, "output_tokens": output}})
    };
    bench.file(
        "session.jsonl",
        lines(&[
            json!({"type": "summary", "summary": "Looking", "leafUuid": "c"}),
            line("a", Value::Null, 1, json!({"role": "user", "content": "what is there?"})),
            line(
                "b",
                json!("a"),
                3,
                answer(json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}), 1),
            ),
            line("c", json!("b"), 4, answer(json!({"type": "text", "text": "Nothing."}), 12)),
        ]),
    );
    let (stats, _) = stats(&bench, "session.jsonl");
    let round = &stats[0];
    assert_eq!((&round["input_tokens"], &round["output_tokens"]), (&json!(105), &json!(12)));
    assert_eq!((&round["cache_read_tokens"], &round["seconds"]), (&json!(90), &json!(3.0)));
    assert!(bench.ok("trajectory export run --format otlp").contains("claude-sonnet-4-5"));
}

#[test]
fn a_session_of_the_gemini_cli_keeps_its_tokens_model_and_times() {
    let bench = Bench::new();
    let session = json!({
        "sessionId": "s", "projectHash": "p", "startTime": "2025-10-18T14:57:00Z", "lastUpdated": "2025-10-18T14:58:00Z",
        "messages": [
            {"id": "1", "timestamp": "2025-10-18T14:57:20Z", "type": "user", "content": "what is there?"},
            {"id": "2", "timestamp": "2025-10-18T14:57:29Z", "type": "gemini", "content": "Nothing.", "model": "gemini-2.5-pro",
             "tokens": {"input": 70, "output": 8, "cached": 20, "thoughts": 3, "tool": 0,
                 "total": 81}},
        ],
    });
    bench.file("session.json", session.to_string());
    let (stats, _) = stats(&bench, "session.json");
    let round = &stats[0];
    assert_eq!((&round["input_tokens"], &round["output_tokens"]), (&json!(70), &json!(11)));
    assert_eq!((&round["cache_read_tokens"], &round["seconds"]), (&json!(20), &json!(9.0)));
    assert!(bench.ok("trajectory export run --format otlp").contains("gemini-2.5-pro"));
}

/// SWE-agent counts a run as a whole and writes no times. Programs that do not count write zero.
#[test]
fn a_run_of_swe_agent_keeps_its_totals_and_has_no_times() {
    let run = |stats: Value| {
        let said = |role: &str, content: &str| json!({"role": role, "content": content, "agent": "primary"});
        let config =
            json!({"agent": {"model": {"name": "gpt-4o", "temperature": 1.0}}}).to_string();
        json!({
            "environment": "main", "trajectory": [],
            "history": [said("system", "You fix."), said("user", "Fix it."), said("assistant", "Fixed.")],
            "info": {"exit_status": "submitted", "model_stats": stats}, "replay_config": config,
        })
    };
    let bench = Bench::new();
    let counted = json!({"instance_cost": 0.0195, "tokens_sent": 7141, "tokens_received": 243, "api_calls": 5});
    bench.file("run.traj", run(counted).to_string());
    let (counted, shown) = stats(&bench, "run.traj");
    assert_eq!(
        (&counted[0]["input_tokens"], &counted[0]["output_tokens"]),
        (&json!(7141), &json!(243))
    );
    assert_eq!((&counted[0]["cost_usd"], &counted[0]["seconds"]), (&json!(0.0195), &Value::Null));
    assert!(shown.contains("times not known") && shown.contains("$0.0195"), "{shown}");
    assert!(!shown.contains("0.0 s"), "{shown}");
    assert!(bench.ok("trajectory export run --format otlp").contains("gpt-4o"));

    let bench = Bench::new();
    let nothing =
        json!({"instance_cost": 0, "tokens_sent": 0, "tokens_received": 0, "api_calls": 5});
    bench.file("run.traj", run(nothing).to_string());
    let (_, shown) = stats(&bench, "run.traj");
    assert!(!shown.contains("tokens") && !shown.contains('$'), "{shown}");
}
