//! Request bodies from chats and files, and their token counts.

use serde_json::{Value, json};

use crate::harness::Bench;

const INTERRUPTED: &str = r#"[
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How is the weather?"},
    {"role": "assistant", "content": null, "tool_calls":
        [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Lisbon\"}"}}]},
    {"role": "user", "content": "Never mind."}
]"#;

/// Parses a request body, which is a single line.
#[track_caller]
fn body(text: &str) -> Value {
    let mut lines = text.lines();
    let body = serde_json::from_str(lines.next().expect("a line")).expect("JSON");
    assert_eq!(lines.next(), None);
    body
}

/// Returns the standard output of `prepare`.
#[track_caller]
fn prepared(bench: &Bench, line: &str) -> String {
    let ran = bench.run(line);
    assert_eq!(ran.status, 0, "{line}: {}", ran.err);
    ran.out
}

#[test]
fn a_file_becomes_a_body_for_every_provider() {
    let bench = Bench::new();
    bench.file("a.json", INTERRUPTED);
    for (provider, list, messages) in [
        ("openai", "messages", 5),
        ("openai-responses", "input", 5),
        ("anthropic", "messages", 3),
        ("gemini", "contents", 3),
    ] {
        let ran = bench.run(&format!("prepare a.json --provider {provider}"));
        assert_eq!(ran.status, 0, "{}", ran.err);
        let body = body(&ran.out);
        assert_eq!(body[list].as_array().map(Vec::len), Some(messages), "{provider}: {body}");
        assert!(ran.err.contains("tool_result_injected at m3.parts[0]"), "{provider}: {}", ran.err);
        assert!(ran.err.contains("reserve") && ran.err.contains("total"), "{}", ran.err);
    }
    // Nothing was stored.
    assert_eq!(bench.run("chats").status, 1);
}

/// A conversation of about 9,000 tokens: twenty steps of an agent, each with a long result.
fn long() -> String {
    let mut messages = vec![json!({"role": "user", "content": "Find out why the build fails."})];
    for step in 0..20 {
        let call = json!({"id": format!("c{step}"), "type": "function",
            "function": {"name": "run", "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let result = format!("step {step}: all is well. ").repeat(60);
        messages
            .push(json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": result}));
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    Value::from(messages).to_string()
}

#[test]
fn what_does_not_fit_is_cut_and_the_cut_is_explained() {
    let bench = Bench::new();
    bench.file("long.json", long());
    let line = "prepare long.json --provider openai --window 4000";
    let ran = bench.run(&format!("{line} --explain"));
    let sent = body(&ran.out)["messages"].as_array().cloned().expect("messages");
    assert!(sent.len() < 42, "{}", ran.err);
    assert_eq!(
        sent.first().map(|first| &first["content"]),
        Some(&json!("Find out why the build fails."))
    );
    assert_eq!(sent.last().map(|last| &last["content"]), Some(&json!("And now?")));
    for told in ["left out", "kept", "history", "of 3,000 that fit"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert!(!ran.err.contains("not fit"), "{}", ran.err);

    let whole = bench.run("prepare long.json --provider openai --policy none");
    assert_eq!(body(&whole.out)["messages"].as_array().map(Vec::len), Some(42));

    let record = body(&bench.run(&format!("{line} --json")).err);
    assert_eq!(
        record["plans"].as_array().and_then(|plans| plans.last()).map(|plan| &plan["applied"]),
        Some(&json!(true))
    );
    assert!(record["before"].as_u64() > record["total"]["tokens"].as_u64());
    assert!(record["breakdown"]["history"]["tokens"].as_u64() > Some(0));

    for (policy, told) in [("sinp", "there is no policy"), ("summarize", "needs a model")] {
        let ran = bench.run(&format!("{line} --policy {policy}"));
        assert!(ran.status == 2 && ran.err.contains(told), "{}", ran.err);
    }
}

/// A conversation of about 15,000 tokens, which fits a window of 32,000.
fn healthy() -> String {
    let answer = "All that is to be said of it, and some more words of it. ".repeat(40);
    let turn = |n: usize| {
        [
            json!({"role": "user", "content": format!("Question {n}?")}),
            json!({"role": "assistant", "content": format!("Answer {n}. {answer}")}),
        ]
    };
    let newest = json!({"role": "user", "content": "And now?"});
    Value::from((1..=20).flat_map(turn).chain([newest]).collect::<Vec<_>>()).to_string()
}

#[test]
fn a_healthy_chat_goes_whole_into_the_window_that_the_readme_names() {
    let bench = Bench::new();
    bench.file("support.json", healthy());
    bench.ok("import support.json --chat support-7");
    for (provider, expected) in [("anthropic", "max_tokens"), ("openai", "max_completion_tokens")] {
        let ran =
            bench.run(&format!("prepare support-7 --provider {provider} --window 32000 --explain"));
        let body = body(&ran.out);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(41), "{provider}: {}", ran.err);
        assert_eq!(body[expected], 8_000, "{provider}");
    }
    let record = |line: &str| bench.records(line).remove(0);
    let tokens = record("tokens support-7 --model claude-sonnet-4-5 --window 32000");
    let total = tokens["total"]["tokens"].as_u64().expect("a number");
    assert!((13_000..17_000).contains(&total), "{total} tokens are not the story that is told");
    assert_eq!(tokens["budget"], json!({"window": 32_000, "reserve": 8_000}));
    let compacted = record("compact support-7 --window 32000");
    assert_eq!(compacted["budget"], json!({"window": 32_000, "reserve": 8_000}));
    let left = compacted["after"].as_u64().expect("a number");
    assert!(left > 5_000, "a stub of {left} tokens is left");
}

#[test]
fn a_body_that_does_not_fit_is_not_printed_and_nothing_is_saved() {
    let bench = Bench::new();
    // Without images and tool results, microcompact finds nothing to shorten.
    let instructions = "Why? ".repeat(4_000);
    let messages =
        json!([{"role": "system", "content": instructions}, {"role": "user", "content": "hi"}]);
    bench.file("large.json", messages.to_string());
    bench.ok("import large.json --chat large");
    for line in [
        "prepare large --provider openai --window 2000 --policy none",
        "prepare large --provider openai --window 2000 --policy microcompact",
        "compact large --window 2000 --policy microcompact",
        "compact large --window 2000 --policy microcompact --dry-run",
    ] {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{line}: {}", ran.err);
        assert!(
            ran.err.contains("tokens too many") && ran.err.contains("--window"),
            "{line}: {}",
            ran.err
        );
        let ran = bench.run(&format!("{line} --json"));
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{line}: {}", ran.err);
        let error = body(&ran.err)["error"].clone();
        let number = |key: &str| {
            error["context"][key].as_str().and_then(|number| number.parse::<u64>().ok())
        };
        assert_eq!((number("window"), number("reserve")), (Some(2_000), Some(500)), "{error}");
        assert_eq!(number("missing"), number("tokens").map(|tokens| tokens - 1_500), "{error}");
    }
    assert_eq!(bench.records("log large").len(), 2);
    assert!(bench.run("compact large --undo").out.contains("no compaction"));
}

#[test]
fn a_reserve_that_leaves_no_room_is_wrong_usage() {
    let bench = Bench::with_sample();
    for line in [
        "prepare notes --provider openai --window 4000 --reserve 4000",
        "prepare notes --provider openai --window 4000 --reserve 5000",
        "prepare notes --provider openai --reserve 400000",
        "compact notes --window 4000 --reserve 4000",
    ] {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
        assert!(
            ran.err.contains("no room") && ran.err.contains("smaller --reserve"),
            "{line}: {}",
            ran.err
        );
    }
    for line in [
        "prepare notes --provider openai --reserve 0",
        "compact notes --window 0",
        "tokens notes --window 0",
    ] {
        assert_eq!(bench.run(line).status, 2, "{line}");
    }
}

#[test]
fn a_body_asks_for_no_more_than_is_kept_whatever_the_file_asked_for() {
    let bench = Bench::new();
    let file = |tokens: u64| {
        json!({"model": "m", "max_tokens": tokens, "messages": [{"role": "user", "content": "hi"}]})
            .to_string()
    };
    for (own, expected) in [(9, 9), (64_000, 8_000)] {
        bench.file("body.json", file(own));
        let ran =
            bench.run("prepare body.json --from anthropic --provider anthropic --window 32000");
        assert_eq!(body(&ran.out)["max_tokens"], expected, "{}", ran.err);
        assert_eq!(ran.err.contains("over_limit"), own > expected, "{}", ran.err);
    }
}

#[test]
fn a_window_that_is_assumed_is_told_and_one_that_is_unknown_is_asked_for() {
    let bench = Bench::with_sample();
    for line in [
        "prepare notes --provider openai --model gpt-4o-of-mine",
        "tokens notes --model gpt-4o-of-mine",
        "compact notes --model gpt-4o-of-mine",
    ] {
        let ran = bench.run(line);
        assert_eq!(ran.status, 0, "{line}: {}", ran.err);
        assert!(ran.err.contains("128,000 tokens are assumed"), "{line}: {}", ran.err);
        let ran = bench.run(&format!("{line} --json"));
        let record = if line.starts_with("prepare") { ran.err } else { ran.out };
        assert_eq!(body(&record)["window_source"], "family", "{line}");
        let ran = bench.run(&format!("{line} --window 64000"));
        assert!(!ran.err.contains("assumed"), "{line}: {}", ran.err);
    }
    for line in ["prepare notes --provider openai --model house-1", "compact notes --model house-1"]
    {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
        assert!(ran.err.contains("give it with --window"), "{line}: {}", ran.err);
        assert_eq!(bench.run(&format!("{line} --window 64000")).status, 0, "{line}");
    }
    let models = bench.records("tokens --models");
    assert!(models.iter().all(|model| model["window"].is_u64()), "{models:?}");
    assert!(models.iter().all(|model| model["window_source"] == "table"));
    assert!(models.iter().all(|model| model["modalities"][0] == "text"));
}

#[test]
fn a_conversation_with_nothing_to_send_does_not_stop_the_others() {
    let bench = Bench::new();
    bench.file(
        "three.json",
        r#"[[{"role": "user", "content": "a"}], [], [{"role": "user", "content": "c"}]]"#,
    );
    let ran = bench.run("prepare three.json --provider gemini");
    assert_eq!((ran.status, ran.out.lines().count()), (1, 2), "{}", ran.err);
    assert!(ran.err.contains("conversation 2 of three.json cannot be sent"), "{}", ran.err);
    let ran = bench.run("prepare three.json --provider gemini --json");
    assert_eq!((ran.status, ran.out.lines().count()), (1, 2), "{}", ran.err);
    let told: Vec<Value> =
        ran.err.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(told.len(), 3, "{}", ran.err);
    assert_eq!(told[1]["error"]["context"]["conversation"], "conversation 2 of three.json");
    assert_eq!(bench.records("tokens three.json").len(), 3);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_wherever_a_file_is() {
    let bench = Bench::new();
    for (line, said) in [
        ("prepare /dev/stdin --provider openai", "How is the weather?"),
        ("prepare - --provider openai", "How is the weather?"),
        ("tokens /dev/stdin", "total"),
        ("tokens /dev/stdin --text", ""),
    ] {
        let ran = bench.run_with(line, INTERRUPTED);
        assert_eq!(ran.status, 0, "{line}: {}", ran.err);
        assert!(ran.out.contains(said), "{line}: {}", ran.out);
    }
    let ran = bench.run_with("render /dev/stdin", r#"[{"name": "role", "data": "You look."}]"#);
    assert_eq!((ran.status, ran.out.as_str()), (0, "<role>You look.</role>\n"), "{}", ran.err);
    // A named pipe, like the one a shell creates for `<(…)`.
    let pipe = bench.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let writer = std::thread::spawn(move || std::fs::write(pipe, INTERRUPTED));
    let ran = bench.run("prepare pipe --provider openai");
    writer.join().expect("the writer does not panic").expect("the pipe is read");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("How is the weather?"), "{}", ran.out);
}

#[test]
fn json_writes_the_body_and_a_record_beside_it() {
    let bench = Bench::new();
    bench.file("a.json", INTERRUPTED);
    let ran = bench.run("prepare a.json --provider anthropic --json --window 10000");
    assert_eq!(body(&ran.out)["max_tokens"], 2_500);
    let record = body(&ran.err);
    assert_eq!(record["provider"], "anthropic");
    assert_eq!(record["messages"], 4);
    assert_eq!(record["budget"], json!({"window": 10_000, "reserve": 2_500}));
    assert_eq!(record["window_source"], "given");
    assert_eq!(record["diagnostics"][0]["code"], "tool_result_injected");
    assert_eq!(record["diagnostics"][0]["path"], "m3.parts[0]");
    assert!(record["total"]["high"].as_u64() > record["total"]["low"].as_u64());
}

#[test]
fn unanswered_calls_can_be_removed() {
    let bench = Bench::new();
    bench.file("a.json", INTERRUPTED);
    let out = prepared(&bench, "prepare a.json --provider openai --unanswered remove");
    assert!(!out.contains("tool_calls"), "{out}");
}

#[test]
fn a_chat_of_the_store_becomes_a_body() {
    let bench = Bench::with_sample();
    let from_chat = body(&prepared(&bench, "prepare notes --provider openai"));
    let from_file = body(&prepared(&bench, "prepare notes.json --provider openai"));
    assert_eq!(from_chat, from_file);
}

#[test]
fn each_conversation_of_a_file_is_a_line() {
    let bench = Bench::new();
    bench.file(
        "two.json",
        r#"[[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]"#,
    );
    assert_eq!(prepared(&bench, "prepare two.json --provider gemini").lines().count(), 2);
    let second = prepared(&bench, "prepare two.json --provider gemini --conversation 2");
    assert_eq!(body(&second)["contents"][0]["parts"][0]["text"], "b");
    let ran = bench.run("prepare two.json --provider gemini --conversation 3");
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("2 conversations"), "{}", ran.err);
}

#[test]
fn a_body_takes_its_prompt_and_tools_to_another_provider() {
    let bench = Bench::new();
    bench.file(
        "body.json",
        r#"{"model": "claude", "max_tokens": 9, "system": "Be brief.", "messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            {"type": "text", "text": "hi"}]}],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]}"#,
    );
    bench.file("fragments.json", r#"[{"name": "role", "data": "You look."}]"#);
    let sent = body(&prepared(
        &bench,
        "prepare body.json --provider openai-responses --fragments fragments.json",
    ));
    let instructions = sent["instructions"].as_str().expect("a text");
    assert!(
        instructions.starts_with("<role>You look.</role>") && instructions.ends_with("Be brief."),
        "{sent}"
    );
    assert_eq!(sent["tools"][0]["name"], "look");
    assert_eq!(sent["max_output_tokens"], 9);
}

#[test]
fn what_cannot_be_sent_is_told() {
    let bench = Bench::new();
    bench.file("empty.json", "[]");
    for (line, status, said) in [
        ("prepare empty.json --provider anthropic", 1, "nothing to send"),
        ("prepare nowhere.json --provider anthropic", 1, "there is no file or folder nowhere.json"),
        ("prepare nobody --provider anthropic", 1, "there is no store"),
        ("prepare empty.json --provider acme", 2, "possible values"),
        ("prepare empty.json", 2, "--provider"),
    ] {
        let ran = bench.run(line);
        assert_eq!(ran.status, status, "{line}: {}", ran.err);
        assert!(ran.err.contains(said), "{line}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
}

/// A chat name may look like a file name: problems with the chat or its store are still reported as
/// such.
#[test]
fn faults_of_a_store_are_not_taken_for_a_missing_file() {
    let bench = Bench::new();
    bench.file("a.json", INTERRUPTED);
    bench.ok("import a.json --chat support.7");
    let ran = bench.run("prepare support.7 --provider openai --branch nowhere");
    assert!(ran.status == 1 && ran.err.contains("branch"), "{}", ran.err);
    let ran = bench.run("prepare support.8 --provider openai");
    assert!(ran.err.contains("there is no file or folder support.8"), "{}", ran.err);
    bench.file("broken.db", "no database ".repeat(100));
    let ran = bench.run("tokens support.7 --store sqlite:broken.db");
    assert!(ran.status == 1 && !ran.err.contains("cannot read support.7"), "{}", ran.err);
}

#[test]
fn tokens_of_texts_are_exact_for_published_vocabularies() {
    let bench = Bench::new();
    assert_eq!(bench.run_with("tokens - --text --model gpt-4o", "hello world").out, "2\n");
    let ran = bench.run_with("tokens - --text --model gpt-4o --json", "<|endoftext|>");
    let record = body(&ran.out);
    assert_eq!(record["tokens"]["low"], record["tokens"]["high"]);
    assert!(
        record["tokens"]["tokens"].as_u64() > Some(1),
        "text that looks special is text: {record}"
    );
}

#[test]
fn tokens_of_conversations_come_with_costs_and_room() {
    let bench = Bench::new();
    bench.file("a.json", INTERRUPTED);
    let record = body(&bench.ok("tokens a.json --model claude-sonnet-4-5 --json"));
    assert_eq!((&record["v"], &record["messages"]), (&json!(1), &json!(4)));
    assert!(record["input_cost"]["amount"].as_f64() > Some(0.0), "{record}");
    assert!(record["left"]["tokens"].as_u64() > Some(1_000), "{record}");
    let text = bench.ok("tokens a.json --model gpt-4o --window 40");
    assert!(text.contains("does not fit"), "{text}");
    let ran = bench.run("tokens a.json --model nobody-knows");
    assert!(ran.err.contains("not in the table of models"), "{}", ran.err);
    let models = bench.records("tokens --models");
    assert!(
        models.len() > 10 && models.iter().all(|model| model["as_of"].is_string()),
        "{models:?}"
    );
}
