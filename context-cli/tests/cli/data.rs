//! Conversations that nobody here wrote come back as they were.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::Bench;

/// Where such data is: under `CONTEXT_TEST_DATA`, else `../shared` beside the workspace.
fn data(folder: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let root = std::env::var_os("CONTEXT_TEST_DATA").map_or(root, PathBuf::from);
    let entries = fs::read_dir(root.join("data").join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[track_caller]
fn come_back(folder: &str, extension: &str) -> String {
    let files = data(folder, extension);
    if files.is_empty() {
        return format!("skipped: no {folder} data here (set CONTEXT_TEST_DATA)");
    }
    let (mut chats, mut messages) = (0, 0);
    for file in files {
        let text = fs::read_to_string(&file).expect("data can be read");
        let bench = Bench::new();
        bench.file("original.json", &text);
        let imported = bench.records("import original.json");
        chats += imported.len();
        messages += imported.iter().filter_map(|record| record["messages"].as_u64()).sum::<u64>();
        assert_eq!(bench.records("verify")[0]["findings"], Value::Array(Vec::new()));
        let (original, back) = (read(&text), read(&bench.ok("export --all --to source")));
        assert!(original == back, "{} did not come back", file.display());
        if let (Value::Array(original), Some(first)) = (&original, imported.first()) {
            let id = first["chat"].as_str().expect("a name");
            assert_eq!(Some(&read(&bench.ok(&format!("export {id}")))), original.first());
        }
    }
    format!("{folder}: {chats} chats, {messages} messages came back")
}

#[test]
fn airline_conversations_come_back() {
    println!("{}", come_back("tau-bench", "json"));
}

#[test]
fn coding_trajectories_come_back() {
    println!("{}", come_back("swe-agent", "traj"));
}
