//! Checks that `cargo xtask services` starts the servers it prints, and leaves nothing behind.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the program, with an environment that names no server.
fn xtask(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    for variable in
        ["CONTEXT_TEST_POSTGRES_URL", "CONTEXT_TEST_REDIS_URL", "CONTEXT_TEST_REDIS_CLUSTER_URL"]
    {
        command.env_remove(variable);
    }
    command
        .args(args)
        .env("CONTEXT_NO_INSTALL", "1")
        // The same servers are missing and started with and without Moto.
        .env("CONTEXT_TEST_S3_URL", "http://127.0.0.1:1/bucket")
        // So are the optional servers, which are not on every machine.
        .env("CONTEXT_TEST_PGVECTOR_URL", "postgres://127.0.0.1:1/vectors")
        .env("CONTEXT_TEST_OTHER_POSTGRES_URL", "postgres://127.0.0.1:1/other")
        .env_remove("CI")
        .env_remove("CONTEXT_REQUIRE_SERVICES");
    command
}

/// Returns the `host:port` of every address in an `export` line.
fn addresses(line: &str) -> Vec<String> {
    let urls = line.split('\'').nth(1).unwrap_or_default().split(',');
    urls.map(|url| url.rsplit("//").next().unwrap().rsplit('@').next().unwrap())
        .map(|rest| rest.split('/').next().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn check(signal: &str) {
    // The address of the S3 server is printed as it is given.
    let mut child = xtask(&["services", "--print-env"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut exports, mut folders) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines().take(9) {
        let line = line.unwrap();
        match line.strip_prefix('#') {
            Some(note) => folders.push(PathBuf::from(note.rsplit(": ").next().unwrap())),
            None => exports.push(line),
        }
    }
    let given = exports.iter().position(|line| line.contains("CONTEXT_TEST_S3_URL"));
    exports.remove(given.expect("what is given is printed"));
    assert_eq!(
        (exports.len(), folders.len()),
        (3, 5),
        "three addresses, of five servers: {exports:?}"
    );
    assert!(
        exports[0].starts_with("export CONTEXT_TEST_POSTGRES_URL='postgres://ctx@127.0.0.1:"),
        "{exports:?}"
    );
    assert!(
        exports[1].starts_with("export CONTEXT_TEST_REDIS_URL='redis://127.0.0.1:"),
        "{exports:?}"
    );
    assert!(
        exports[2].starts_with("export CONTEXT_TEST_REDIS_CLUSTER_URL='redis://127.0.0.1:"),
        "{exports:?}"
    );
    let servers: Vec<_> = exports.iter().flat_map(|line| addresses(line)).collect();
    assert_eq!(servers.len(), 5);
    assert!(servers.iter().all(|server| TcpStream::connect(server).is_ok()));
    assert!(folders.iter().all(|folder| folder.is_dir()));

    let kill = Command::new("sh")
        .args(["-c", &format!("kill -s {signal} {}", child.id())])
        .status()
        .unwrap();
    assert!(kill.success());
    child.wait().unwrap();
    // The keepers inherit this pipe, too: end of file means that they have exited.
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(folders.iter().all(|folder| !folder.exists()), "{signal} left a folder behind: {said}");
    assert!(
        servers.iter().all(|server| TcpStream::connect(server).is_err()),
        "{signal} left a server: {said}"
    );
}

#[test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
fn ctrl_c_leaves_no_server_and_no_folder() {
    check("INT");
}

#[test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
fn a_termination_leaves_no_server_and_no_folder() {
    check("TERM");
}

/// Hides the installed servers. Redis is found by the path only, except for Homebrew's.
#[cfg(target_os = "linux")]
#[test]
fn what_is_missing_is_said_with_the_command_to_run() {
    let empty = tempfile::tempdir().unwrap();
    let output = xtask(&["services", "--print-env"])
        .env("PATH", empty.path())
        .env("HOME", empty.path())
        .env_remove("XDG_CACHE_HOME")
        .env_remove("CONTEXT_PG_BIN")
        .env_remove("CONTEXT_REDIS_BIN")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("Redis; run `") && said.contains("redis-server`"), "{said}");
}
