//! A running `watch` sees what other programs write, and ends at Ctrl-C.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Bench, context};
use crate::watching::{append, change, changes, folder, line};

/// A running `watch`.
struct Watch {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Watch {
    fn start(bench: &Bench, options: &[&str]) -> Self {
        let args: Vec<_> = ["--json", "watch", "in"].iter().chain(options).copied().collect();
        let mut command = context(bench.path(), &args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable runs");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, out }
    }

    /// Waits for the next record.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.out.read_line(&mut line).expect("text") > 0, "it ended");
        serde_json::from_str(&line).expect("each line is JSON")
    }

    /// Sends Ctrl-C, and returns the rest of the records.
    fn end(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it still runs");
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("text");
        let output = self.child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
        rest
    }
}

fn check_follows(options: &[&str]) {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/s.jsonl", line("a", None));
    let mut watch = Watch::start(&bench, options);
    assert_eq!(changes(&[watch.next()]), [change("imported", "s", 1)]);
    assert_eq!(watch.next(), json!({"v": 1, "status": "watching", "folders": ["in"]}));
    // Half a line, and the rest with another one. The half may be seen alone, or not.
    let next = line("b", Some("a"));
    let (begun, rest) = next.split_at(30);
    append(&bench, "in/s.jsonl", begun);
    append(&bench, "in/s.jsonl", &(rest.to_owned() + &line("c", Some("b"))));
    let mut added = 0;
    while added < 2 {
        let record = watch.next();
        assert_eq!((&record["status"], &record["chat"]), (&json!("extended"), &json!("s")));
        added += record["added"].as_u64().expect("a number");
    }
    assert_eq!(added, 2);
    fs::create_dir(bench.path().join("in/later")).expect("a folder");
    // Complete at once, as a file that was moved there.
    bench.file("t.jsonl", line("t", None));
    let (from, to) = (bench.path().join("t.jsonl"), bench.path().join("in/later/t.jsonl"));
    fs::rename(from, to).expect("it can be moved");
    assert_eq!(changes(&[watch.next()]), [change("imported", "later/t", 1)]);
    assert_eq!(watch.end(), "");
    assert_eq!(bench.records("chats").len(), 2);
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn a_running_watch_sees_grown_and_new_files() {
    check_follows(&[]);
}

#[test]
fn a_running_watch_can_look_at_intervals() {
    check_follows(&["--poll", "1"]);
}

#[test]
fn problems_are_reported_once_and_end_nothing() {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/s.jsonl", line("a", None) + &line("b", Some("a")));
    bench.file("in/bytes.json", [0xff, 0xfe, 0x00]);
    let mut watch = Watch::start(&bench, &["--poll", "1"]);
    let record = watch.next();
    assert_eq!((&record["status"], &record["file"]), (&json!("failed"), &json!("in/bytes.json")));
    assert_eq!(changes(&[watch.next()]), [change("imported", "s", 2)]);
    assert_eq!(watch.next()["status"], "watching");
    // The file is replaced by a shorter one, and then by another one.
    bench.file("in/s.jsonl", line("a", None));
    assert_eq!(watch.next()["status"], "shortened");
    bench.file("in/s.jsonl", line("z", None) + &line("b", Some("z")));
    assert_eq!(watch.next()["status"], "diverged");
    let secret = bench.file("in/secret.jsonl", line("u", None));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).expect("rights");
    // Nobody can keep the superuser from reading.
    let record = watch.next();
    let is_read = record["status"] == "imported";
    assert!(is_read || record["status"] == "failed", "{record}");
    bench.file("in/t.jsonl", line("t", None));
    assert_eq!(changes(&[watch.next()]), [change("imported", "t", 1)]);
    assert_eq!(watch.end(), "", "nothing is reported twice");
    let log = bench.records("log s");
    assert_eq!(log.len(), 2, "the chat keeps its messages");
}

#[test]
fn new_only_leaves_out_what_is_there_until_it_changes() {
    let bench = Bench::new();
    folder(&bench);
    bench.file("in/old.jsonl", line("a", None));
    bench.file("in/still.jsonl", line("a", None));
    let mut watch = Watch::start(&bench, &["--new-only", "--poll", "1"]);
    assert_eq!(watch.next()["status"], "watching");
    append(&bench, "in/old.jsonl", &line("b", Some("a")));
    assert_eq!(changes(&[watch.next()]), [change("imported", "old", 2)]);
    watch.end();
    assert_eq!(bench.records("chats").len(), 1);
}
