//! `doctor` on stores that are well, and on those that are not: it reports, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{Bench, context};
use crate::server_fixture::{OwnRedis, Postgres, ServerFixture as _};

/// Replaces what differs between two runs and machines: numbers with a unit, versions, features and
/// the folder. What is said about the speed and the disk of the machine is left out.
fn steady(bench: &Bench, text: &str) -> String {
    let text = text.replace(&bench.path().display().to_string(), "(folder)");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "(version)");
    let mut out: Vec<String> = Vec::new();
    let (checks, _) = text.rsplit_once("\n\n").expect("the last line counts");
    let mut is_machine = false;
    for line in checks.lines() {
        let begins =
            ["disk", "speed"].map(|name| line.get(9..).is_some_and(|line| line.starts_with(name)));
        is_machine = begins.contains(&true) || is_machine && line.starts_with(' ');
        if is_machine {
            continue;
        }
        let line = line.split_once(", built with ").map_or(line, |(before, _)| before);
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 0..words.len() {
            let is_number = words[at].starts_with(|c: char| c.is_ascii_digit());
            let unit = words.get(at + 1).map_or("", |next| next.trim_end_matches(','));
            if is_number
                && (["B", "KiB", "MiB"].contains(&unit) || at > 0 && words[at - 1] == "SQLite")
            {
                words[at] = if words[at].ends_with(',') { "(n)," } else { "(n)" };
            }
        }
        out.push(words.join(" "));
    }
    out.join("\n")
}

/// Runs the command without the variables of this machine.
#[track_caller]
fn doctor(bench: &Bench, line: &str) -> (i32, String) {
    let args: Vec<_> = line.split_whitespace().chain(["doctor"]).collect();
    let mut command = context(bench.path(), &args);
    for (name, _) in std::env::vars() {
        if ["PG", "AWS_", "TZ", "NO_COLOR", "TERM"].iter().any(|begin| name.starts_with(begin)) {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("the executable runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    let shown = String::from_utf8(output.stdout).expect("text");
    (output.status.code().expect("no signal"), shown)
}

/// Returns the checks by name, and the exit status.
#[track_caller]
fn checks(bench: &Bench, line: &str) -> (i32, BTreeMap<String, Value>) {
    let (status, shown) = doctor(bench, &format!("--json {line}"));
    let record: Value = serde_json::from_str(&shown).expect("one record");
    let checks = record["checks"].as_array().expect("a list").clone();
    let problems = checks.iter().filter(|check| check["status"] == "problem").count();
    assert_eq!(record["problems"], problems, "{shown}");
    assert_eq!(status, i32::from(problems > 0), "{shown}");
    for check in &checks {
        let said = check["advice"].as_str().unwrap_or_default();
        assert!(!["delete", "erase", "redact"].iter().any(|word| said.contains(word)), "{said}");
    }
    let named = |check: Value| (check["name"].as_str().expect("a name").to_owned(), check);
    (status, checks.into_iter().map(named).collect())
}

/// Checks that the store cannot be opened, and returns why and what to do.
#[track_caller]
fn problem(bench: &Bench, line: &str) -> String {
    let before = contents(bench.path());
    let (status, checks) = checks(bench, line);
    assert_eq!((status, &checks["open"]["status"]), (1, &Value::from("problem")), "{checks:?}");
    assert!(!checks.contains_key("chats"), "what cannot be read is not reported");
    assert!(contents(bench.path()) == before, "`doctor` changed something");
    let text = |name: &str| checks["open"][name].as_str().expect("a text").to_owned();
    format!("{} → {}", text("detail"), text("advice"))
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let files = files.filter(|file| file.path().is_file());
    files
        .map(|file| {
            let bytes = fs::read(file.path()).expect("it can be read");
            (file.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

#[test]
fn a_sound_store_is_well() {
    let bench = Bench::with_sample();
    let before = contents(bench.path());
    let (status, shown) = doctor(&bench, "");
    assert_eq!(status, 0, "{shown}");
    assert!(contents(bench.path()) == before);
    assert_snapshot!(steady(&bench, &shown));
}

#[test]
fn the_record_has_every_check_with_a_verdict() {
    let bench = Bench::with_sample();
    let (_, checks) = checks(&bench, "--user ada");
    let names = ["program", "store", "user", "variables", "file", "disk", "open", "durability"];
    for name in names.iter().chain(&["size", "speed", "chats", "search"]) {
        assert!(
            checks[*name]["detail"].as_str().is_some_and(|detail| !detail.is_empty()),
            "{name}"
        );
    }
    assert_eq!(checks["user"]["detail"], "ada (from --user)");
    assert_eq!(checks["store"]["detail"], "sqlite:context.db (the default)");
    assert!(checks["chats"]["detail"].as_str().is_some_and(|detail| detail.starts_with("0 chats")));
}

#[test]
fn a_store_that_cannot_be_used_is_a_finding() {
    let bench = Bench::new();
    assert!(problem(&bench, "").contains("there is no store"));
    assert!(problem(&bench, "").contains("`context import FILE` creates one"));
    bench.file("text.db", "not a database");
    assert!(problem(&bench, "--store sqlite:text.db").contains("not a store"));
    assert!(problem(&bench, "--store nonsense").contains("there is no store"));
    assert!(problem(&bench, "--store ftp://x").contains("no store of this scheme"));
    assert!(problem(&bench, "--store sqlite:x.db?mode=ro").contains("unknown option"));
    fs::create_dir(bench.path().join("folder.db")).expect("a folder");
    problem(&bench, "--store sqlite:folder.db");
}

#[test]
fn damage_and_other_versions_are_told_apart() {
    let bench = Bench::with_sample();
    let file = bench.path().join("context.db");
    let whole = fs::read(&file).expect("the store");
    let change = |sql: &str| {
        let database = rusqlite::Connection::open(&file).expect("it opens");
        database.execute_batch(sql).expect("it is changed");
        database.close().expect("it is closed");
    };
    change("UPDATE context_migrations SET version = 99 WHERE version = 11");
    let newer = problem(&bench, "");
    assert!(newer.contains("schema version 99") && newer.contains("install a version"), "{newer}");
    fs::write(&file, &whole).expect("it is written");
    change("DELETE FROM context_migrations WHERE version > 9");
    let older = problem(&bench, "");
    assert!(older.contains("schema version 9") && older.contains("`context upgrade`"), "{older}");
    fs::write(&file, &whole).expect("it is written");
    change("DROP TABLE revision");
    let damaged = problem(&bench, "");
    assert!(damaged.contains("revision") && damaged.contains("`context verify`"), "{damaged}");
    let mut torn = whole.clone();
    torn[100..].fill(0xa5);
    fs::write(&file, torn).expect("it is written");
    problem(&bench, "");
}

#[test]
fn what_is_not_well_is_a_warning_with_advice() {
    let bench = Bench::with_sample();
    bench.file(".context.db.partial0", "");
    fs::create_dir(bench.path().join(".context.db.partialA7")).expect("it is made");
    let (status, found) = checks(&bench, "");
    assert_eq!((status, &found["leftovers"]["status"]), (0, &Value::from("warning")));
    let detail = found["leftovers"]["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("2 leftovers in "), "a file and the folder of a backup: {detail}");
    let file = bench.path().join("context.db");
    let mut permissions = fs::metadata(&file).expect("the store").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).expect("they are set");
    let (status, found) = checks(&bench, "");
    assert_eq!((status, &found["file"]["status"]), (0, &Value::from("warning")));
    assert!(found["file"]["detail"].as_str().is_some_and(|detail| detail.contains("only be read")));
    assert_eq!(found["open"]["status"], "ok", "it can be read all the same");
    let (status, found) = checks(&bench, "--store mem:");
    assert_eq!((status, &found["durability"]["status"]), (0, &Value::from("warning")));
}

#[test]
fn a_configuration_that_cannot_be_read_is_a_problem() {
    let bench = Bench::with_sample();
    let file = bench.file("config.toml", "store = 7");
    let mut command = context(bench.path(), &["doctor"]);
    let output = command.env("CONTEXT_CONFIG", &file).output().expect("the executable runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("problem  config") && shown.contains("`context config path`"),
        "{shown}"
    );
    bench.file("config.toml", "user = 'ada'");
    let output = command.output().expect("the executable runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("ada (from the configuration)"), "{shown}");
}

#[test]
fn secrets_are_hidden_and_a_server_that_is_down_is_a_problem() {
    let bench = Bench::new();
    for url in ["postgres://ada:hunter2@127.0.0.1:1/chats", "redis://:hunter2@127.0.0.1:1/0"] {
        let mut command = context(bench.path(), &["doctor"]);
        command.env("CONTEXT_STORE", url).env("PGPASSWORD", "hunter2");
        let output = command.output().expect("the executable runs");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(!shown.contains("hunter2") && shown.contains("(from CONTEXT_STORE)"), "{shown}");
        assert!(shown.contains("PGPASSWORD is set"), "{shown}");
        assert!(shown.contains("that the server runs and can be reached"), "{shown}");
    }
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn a_postgres_server_tells_its_version_size_and_time() {
    let fixture = Postgres::new("doctor");
    let bench = Bench::with_sample();
    let url = fixture.url();
    bench.run(&format!("--store {url} import notes.json"));
    let before = fixture.everything();
    let (_, found) = checks(&bench, &format!("--store {url}"));
    assert!(fixture.everything() == before, "`doctor` changed something");
    assert!(found["open"]["detail"].as_str().is_some_and(|text| text.starts_with("PostgreSQL ")));
    for name in ["size", "clock", "chats"] {
        assert_eq!(found[name]["status"], "ok", "{found:?}");
    }
    fixture.drop();
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn a_redis_server_tells_what_it_saves() {
    let fixture = OwnRedis::new();
    let bench = Bench::with_sample();
    let url = fixture.url();
    bench.run(&format!("--store {url} import notes.json"));
    let before = fixture.everything();
    let (_, found) = checks(&bench, &format!("--store {url}"));
    assert!(fixture.everything() == before, "`doctor` changed something");
    let detail = found["open"]["detail"].as_str().expect("a text");
    assert!(detail.starts_with("Redis ") || detail.starts_with("Valkey "), "{detail}");
    assert_eq!(found["clock"]["status"], "ok", "{found:?}");
    let durability = found["durability"].to_string();
    assert!(
        durability.contains("append-only") && durability.contains("appendonly yes"),
        "{durability}"
    );
}
