//! Ctrl-C: the command stops, reports it, and leaves the store sound.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Bench, context, values};

/// The number of conversations in one file. With a name this long, their records exceed the pipe
/// and all buffers.
const CHATS: usize = 600;

/// Creates a folder with a file of that many conversations.
fn many() -> (Bench, String) {
    let bench = Bench::new();
    let text = "words ".repeat(20);
    let conversation =
        |i: usize| json!({"messages": [{"role": "user", "content": format!("{text}{i}")}]});
    let file = Value::from((0..CHATS).map(conversation).collect::<Vec<_>>());
    let name = format!("{}.json", "many".repeat(30));
    bench.file(&name, file.to_string());
    (bench, name)
}

/// Sends Ctrl-C after the first line of output, and returns the whole output. The pipe is not read
/// until then, so the command cannot have finished.
fn interrupted(bench: &Bench, command: &str) -> String {
    let args: Vec<_> = ["--json"].into_iter().chain(command.split(' ')).collect();
    let mut child = context(bench.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the executable runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    assert!(out.read_line(&mut said).expect("a first line") > 0);
    kill_process(Pid::from_child(&child), Signal::INT).expect("the child is still there");
    out.read_to_string(&mut said).expect("it writes text");
    let output = child.wait_with_output().expect("the executable ends");
    let err = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(values(&err)[0]["error"]["kind"], "cancelled");
    nothing_stays_behind(bench);
    said
}

/// Checks that SQLite left no files next to the database, as it has while it is open.
fn nothing_stays_behind(bench: &Bench) {
    for file in std::fs::read_dir(bench.path()).expect("the folder is there") {
        let name = file.expect("it can be listed").file_name().to_string_lossy().into_owned();
        assert!(!name.ends_with("-wal") && !name.ends_with("-shm"), "{name} stayed behind");
    }
}

#[test]
fn an_interrupted_import_is_whole_as_far_as_it_came_and_can_be_repeated() {
    let (bench, name) = many();
    let said = interrupted(&bench, &format!("import {name}"));
    let chat = |record: &Value| record["chat"].as_str().expect("a name").to_owned();
    let acknowledged: HashSet<_> = values(&said).iter().map(chat).collect();
    let stored: HashSet<_> = bench.records("chats").iter().map(chat).collect();
    assert!(acknowledged.is_subset(&stored));
    assert!(stored.len() < CHATS, "it was stopped");
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));

    let again = bench.records(&format!("import {name}"));
    assert_eq!(again.len(), CHATS);
    let is_unchanged = |record: &&Value| record["status"] == "unchanged";
    let unchanged: HashSet<_> = again.iter().filter(is_unchanged).map(chat).collect();
    assert!(acknowledged.is_subset(&unchanged));
    assert_eq!(bench.records("chats").len(), CHATS);
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn an_interrupted_copy_ends_after_a_chat_and_is_gone_on_with() {
    let (bench, name) = many();
    bench.ok(&format!("import {name}"));
    let copy = "copy sqlite:context.db sqlite:other.db";
    let copied = values(&interrupted(&bench, copy)).len();
    assert_eq!(bench.records("--store sqlite:other.db chats").len(), copied, "no half a chat");
    assert!(copied < CHATS, "it was stopped");
    let again = bench.records(copy);
    let is_unchanged = |record: &&Value| record["status"] == "unchanged";
    assert_eq!((again.len(), again.iter().filter(is_unchanged).count()), (CHATS, copied));
    assert_eq!(bench.records("--store sqlite:other.db verify")[0]["findings"], json!([]));
}

/// Readers of the output find no partial line.
#[test]
fn an_interrupted_export_ends_with_a_whole_line() {
    let (bench, name) = many();
    bench.ok(&format!("import {name}"));
    let said = interrupted(&bench, "export --all --to jsonl");
    assert!(said.ends_with('\n') && !values(&said).is_empty(), "{said}");
}

/// A check shows no progress, so Ctrl-C is sent at once: before it is handled, or in the middle of
/// the check.
#[test]
fn an_interrupted_check_leaves_nothing_behind() {
    let (bench, name) = many();
    bench.ok(&format!("import {name}"));
    for _ in 0..5 {
        let mut command = context(bench.path(), &["verify"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the executable runs");
        kill_process(Pid::from_child(&child), Signal::INT).expect("the child is still there");
        let ended = child.wait().expect("the executable ends");
        assert_ne!(ended.code(), Some(1), "nothing is wrong with the store");
        nothing_stays_behind(&bench);
    }
}
