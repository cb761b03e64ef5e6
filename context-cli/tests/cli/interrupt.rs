//! Ctrl-C: the command stops, says so, and leaves the store sound.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Bench, context, values};

/// Conversations in one file. With a name this long, their records are more than the pipe and all buffers hold.
const CHATS: usize = 600;

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).expect("the child is still there");
}

#[test]
fn an_interrupted_import_is_whole_as_far_as_it_came_and_can_be_repeated() {
    let bench = Bench::new();
    let text = "words ".repeat(20);
    let conversation = |i: usize| json!({"messages": [{"role": "user", "content": format!("{text}{i}")}]});
    let file = Value::from((0..CHATS).map(conversation).collect::<Vec<_>>());
    let name = format!("{}.json", "many".repeat(30));
    bench.file(&name, file.to_string());
    let mut child = context(bench.path(), &["--json", "import", &name])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the executable runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    assert!(out.read_line(&mut said).expect("a first record") > 0);
    // Nobody reads on, so it cannot have come to its end.
    interrupt(&child);
    out.read_to_string(&mut said).expect("records are text");
    let output = child.wait_with_output().expect("the executable ends");
    let err = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(values(&err)[0]["error"]["kind"], "cancelled");

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
    let bench = Bench::new();
    let conversation = |i: usize| json!({"messages": [{"role": "user", "content": format!("words {i}")}]});
    let file = Value::from((0..CHATS).map(conversation).collect::<Vec<_>>());
    let name = "many".repeat(30);
    bench.file(&format!("{name}.json"), file.to_string());
    bench.ok(&format!("import {name}.json"));
    let copy = "copy sqlite:context.db sqlite:other.db";
    let mut args = vec!["--json"];
    args.extend(copy.split(' '));
    let mut child = context(bench.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the executable runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    assert!(out.read_line(&mut said).expect("a first record") > 0);
    // Nobody reads on, so it cannot have come to its end.
    interrupt(&child);
    out.read_to_string(&mut said).expect("records are text");
    let output = child.wait_with_output().expect("the executable ends");
    let err = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(values(&err)[0]["error"]["kind"], "cancelled");

    let copied = values(&said).len();
    assert_eq!(bench.records("--store sqlite:other.db chats").len(), copied, "no half a chat");
    assert!(copied < CHATS, "it was stopped");
    let again = bench.records(copy);
    let is_unchanged = |record: &&Value| record["status"] == "unchanged";
    assert_eq!((again.len(), again.iter().filter(is_unchanged).count()), (CHATS, copied));
    assert_eq!(bench.records("--store sqlite:other.db verify")[0]["findings"], json!([]));
}
