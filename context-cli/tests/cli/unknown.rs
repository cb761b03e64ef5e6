//! Unknown values are said to be unknown, and never shown as a success or as nothing.

use serde_json::{Value, json};

use crate::harness::Bench;

/// A chat with a part, a model and a result that nothing is known of.
fn strange() -> Value {
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "run", "arguments": "{}"}});
    json!([
        {"role": "user", "content": [
            {"type": "text", "text": "Hi."}, {"type": "hologram", "data": "x"}]},
        {"role": "assistant", "content": "I run it.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": "Done."},
    ])
}

#[test]
fn the_summary_of_an_import_counts_what_was_not_understood() {
    let bench = Bench::new();
    bench.file("strange.json", strange().to_string());
    bench.file("judge.json", json!([{"role": "judge", "content": "x"}]).to_string());
    bench.file("form.json", json!({"pages": []}).to_string());
    let ran = bench.run("import strange.json judge.json form.json");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("a part of type \"hologram\""), "{}", ran.err);
    assert!(ran.err.contains("judge.json: not imported: role \"judge\""), "{}", ran.err);
    assert!(ran.err.contains("form.json: not imported"), "{}", ran.err);
    let line = ran.out.lines().next().expect("a summary");
    assert_eq!(
        line,
        "imported 1 chat · 4 messages · 1 branch · 2 files not imported · \
         1 part not understood, but stored"
    );
}

#[test]
fn the_price_of_an_unknown_model_is_unknown_and_not_zero() {
    let bench = Bench::with_sample();
    for line in [
        "tokens notes --model nobody-9 --window 8000",
        "prepare notes --provider openai --model nobody-9 --window 8000",
    ] {
        let ran = bench.run(line);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let note = "note: nobody-9 is not in the table of models: its prices are unknown";
        assert!(ran.err.contains(note), "{line}: {}", ran.err);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("?  its price is unknown"), "{line}: {said}");
    }
    let records = bench.records("tokens notes --model nobody-9");
    assert_eq!((&records[0]["input_cost"], &records[0]["budget"]), (&Value::Null, &Value::Null));
    let ran = bench.run("prepare notes --provider openai --model nobody-9");
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("the window of nobody-9 is not known"), "{}", ran.err);
}

#[test]
fn a_run_shows_no_outcome_cost_or_cache_that_is_not_known() {
    let bench = Bench::new();
    bench.file("strange.json", strange().to_string());
    bench.run("import strange.json --trajectory");
    let shown = bench.ok("trajectory show strange");
    assert!(shown.contains("run → (no output)"), "{shown}");
    let stats = bench.ok("trajectory stats strange");
    assert!(!stats.contains('$') && !stats.contains("cache"), "{stats}");
    let records = bench.records("trajectory stats strange");
    let unknown = ["cost_usd", "cache_read_tokens", "cache_hit_rate", "seconds"];
    for field in unknown {
        assert_eq!(records[0][field], Value::Null, "{field}");
    }
}

#[test]
fn a_healthy_chat_is_imported_shown_and_prepared_in_full() {
    let bench = Bench::new();
    let long = "All of these words are part of the message. ".repeat(400);
    let messages = json!([
        {"role": "user", "content": long},
        {"role": "assistant", "content": format!("{long} And the end of it.")},
    ]);
    bench.file("healthy.json", messages.to_string());
    let ran = bench.run("import healthy.json --prompt");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains(long.trim_end()) && ran.out.contains("And the end of it."));
    let ran = bench.run("prepare healthy --provider openai --model gpt-4o --json");
    assert_eq!(ran.status, 0, "{}", ran.err);
    let body: Value = serde_json::from_str(&ran.out).expect("a body");
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(2));
    assert!(ran.out.contains(&long) && ran.out.contains("And the end of it."));
    let report: Value = serde_json::from_str(ran.err.trim()).expect("a report");
    assert_eq!((&report["plans"], &report["diagnostics"]), (&json!([]), &json!([])));
    let exported: Value = serde_json::from_str(&bench.ok("export healthy")).expect("JSON");
    assert_eq!(exported, messages);
}
