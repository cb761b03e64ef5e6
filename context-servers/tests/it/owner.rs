//! Checks that a server ends with its owning process, in whatever way that process ends.
//!
//! The test program runs itself: the child starts servers, prints their processes and folders, and
//! waits to be killed. Keepers inherit the child's standard error, so end of file on it means that
//! the last of them has exited.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, thread};

use context_servers::{Postgres, PostgresOptions, Redis, RedisOptions};

use crate::exists;

const CHILD: &str = "CONTEXT_SERVERS_TEST_CHILD";

/// Runs as the child process. Does nothing as a test.
#[test]
fn a_child_that_waits_to_be_killed() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let report =
        |folder: &Path, id: Option<u32>| println!("server {} {}", id.unwrap(), folder.display());
    // The thread ends here, which must not end the server.
    let postgres =
        thread::spawn(|| Postgres::start(PostgresOptions::new()).unwrap()).join().unwrap();
    let redis = Redis::start(RedisOptions::new()).unwrap();
    report(postgres.folder(), postgres.id());
    report(redis.folder(), redis.id());
    println!("ready");
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
    // `exit` drops nothing.
    std::process::exit(0);
}

#[track_caller]
fn check(end: &str) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "owner::a_child_that_waits_to_be_killed", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut servers: Vec<(u32, PathBuf)> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let mut words = line.split(' ').skip_while(|word| *word != "server").skip(1);
        if let (Some(id), Some(folder)) = (words.next(), words.next()) {
            servers.push((id.parse().unwrap(), folder.into()));
        }
        if line.ends_with("ready") {
            break;
        }
    }
    assert_eq!(servers.len(), 2);
    assert!(servers.iter().all(|(id, folder)| exists(*id) && folder.exists()));
    let id = child.id();
    let killed = Command::new("sh").args(["-c", &format!("kill -s {end} {id}")]).status().unwrap();
    assert!(killed.success());
    child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    for (id, folder) in servers {
        assert!(!folder.exists(), "{end} left {} behind: {said}", folder.display());
        assert!(!runs(id), "{end} left server {id} behind: {said}");
    }
}

/// Whether a process runs. The operating system may keep an exited process for a while.
fn runs(id: u32) -> bool {
    let state = Command::new("sh")
        .args(["-c", &format!("grep -s '^State:' /proc/{id}/status")])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&state.stdout).into_owned();
    exists(id) && !state.contains('Z')
}

#[test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
fn kill_minus_nine_of_the_owner_leaves_nothing() {
    check("KILL");
}

#[test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
fn ctrl_c_leaves_nothing() {
    check("INT");
}

#[test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
fn a_termination_leaves_nothing() {
    check("TERM");
}
