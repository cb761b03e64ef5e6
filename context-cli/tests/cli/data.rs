//! Conversations from other programs are exported as they were.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::Bench;

/// Returns the data files: under `CONTEXT_TEST_DATA`, else in `../shared` next to the workspace.
fn data(folder: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let root = std::env::var_os("CONTEXT_TEST_DATA").map_or(root, PathBuf::from);
    let entries = fs::read_dir(root.join("data").join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

/// Returns the values of a file: one, or one per line.
fn read(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().expect("JSON")
}

/// Returns the conversations of a file that is a list of them.
fn list(values: &[Value]) -> Option<&Vec<Value>> {
    match values {
        [Value::Array(items)] => Some(items),
        _ => None,
    }
}

#[track_caller]
fn come_back(folder: &str, extension: &str, look: impl Fn(&Bench, &[Value])) -> String {
    let files = data(folder, extension);
    assert!(!files.is_empty(), "no {folder} data");
    let (mut chats, mut messages, mut branches) = (0, 0, 0);
    for file in files {
        let text = fs::read_to_string(&file).expect("data can be read");
        let bench = Bench::new();
        let name = if extension == "jsonl" { "original.jsonl" } else { "original.json" };
        bench.file(name, &text);
        let imported = bench.records(&format!("import {name}"));
        let sum =
            |key: &str| imported.iter().filter_map(|record| record[key].as_u64()).sum::<u64>();
        (chats, messages, branches) =
            (chats + imported.len(), messages + sum("messages"), branches + sum("branches"));
        assert_eq!(sum("broken"), 0);
        assert_eq!(bench.records("verify")[0]["findings"], Value::Array(Vec::new()));
        let (original, back) = (read(&text), read(&bench.ok("export --all --to source")));
        assert!(original == back, "{} did not come back", file.display());
        if let (Some(original), Some(first)) = (list(&original), imported.first()) {
            let id = first["chat"].as_str().expect("a name");
            assert_eq!(read(&bench.ok(&format!("export {id}"))).first(), original.first());
        }
        assert!(bench.ok(&format!("import {name}")).starts_with("unchanged"));
        look(&bench, &original);
    }
    format!("{folder}: {chats} chats, {messages} messages, {branches} branches came back")
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn airline_conversations_come_back() {
    println!("{}", come_back("tau-bench", "json", |_, _| {}));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn coding_trajectories_come_back() {
    println!("{}", come_back("swe-agent", "traj", |_, _| {}));
}

/// Returns the heads of all branches, sorted.
fn heads(bench: &Bench) -> Vec<String> {
    let text = |branch: Value| branch["head"].as_str().map(str::to_owned);
    let mut heads: Vec<_> =
        bench.records("branches original").into_iter().filter_map(text).collect();
    heads.sort();
    heads
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn sessions_come_back_and_each_end_is_a_branch() {
    let look = |bench: &Bench, lines: &[Value]| {
        let parents: Vec<_> = lines.iter().filter_map(|line| line["parentUuid"].as_str()).collect();
        let uuids = lines.iter().filter_map(|line| line["uuid"].as_str());
        let mut ends: Vec<_> = uuids.filter(|uuid| !parents.contains(uuid)).collect();
        if parents.is_empty() {
            // If no line names its predecessor, the lines are one conversation in file order.
            ends.drain(..ends.len() - 1);
        }
        ends.sort_unstable();
        assert_eq!(heads(bench), ends);
    };
    println!("{}", come_back("claude-code", "jsonl", look));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn answer_trees_come_back_and_each_leaf_is_a_branch() {
    let look = |bench: &Bench, file: &[Value]| {
        let (mut waiting, mut leaves) = (vec![&file[0]["tree"]["tree"]], 0);
        while let Some(node) = waiting.pop() {
            let children = node["children"].as_array().expect("a list");
            leaves += usize::from(children.is_empty());
            waiting.extend(children);
        }
        let mut ends = heads(bench);
        let branches = bench.records("branches original");
        ends.retain(|end| {
            !branches.iter().any(|b| b["branch"] == "source" && b["head"] == end.as_str())
        });
        assert_eq!(ends.len(), leaves);
        ends.dedup();
        assert_eq!(ends.len(), leaves);
    };
    println!("{}", come_back("toolbench", "json", look));
}

/// Sessions of Claude Code contain the time of each line, the model and its token usage.
#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn the_rounds_of_a_session_have_its_times_model_and_tokens() {
    let file = data("claude-code", "jsonl").into_iter().next_back().expect("test data");
    let bench = Bench::new();
    let ran = bench.run(&format!("import {} --chat session --trajectory", file.display()));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let stats = bench.records("trajectory stats session");
    let sum = |key: &str| stats.iter().filter_map(|round| round[key].as_u64()).sum::<u64>();
    assert!(sum("input_tokens") > 0 && sum("output_tokens") > 0, "{stats:?}");
    assert!(
        stats.iter().any(|round| round["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0))
    );
    let states = bench.records("trajectory list session");
    assert!(states.iter().all(|round| round["state"] != "open"), "{states:?}");
}
