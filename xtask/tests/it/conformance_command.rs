//! Tests of the command `context-conformance` on workspaces whose test programs report like the
//! kit, and depend on nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A test program that reports the cases in `CASES` that are selected, and fails if one of them
/// does.
const PROGRAM: &str = r##"
use std::{env, fs::OpenOptions, io::Write};

fn main() {
    let set = |name: &str| env::var(name).ok();
    let group = set("CONTEXT_CONFORMANCE_GROUP").is_none_or(|group| group == GROUP);
    let part = set("CONTEXT_CONFORMANCE_CASE").unwrap_or_default();
    let seed = set("CONTEXT_CONFORMANCE_SEED").map_or(7, |seed| {
        u64::from_str_radix(seed.trim_start_matches("0x"), 16).unwrap()
    });
    let path = env::var("CONTEXT_CONFORMANCE_REPORT").unwrap();
    let mut report = OpenOptions::new().create(true).append(true).open(path).unwrap();
    let mut line = |case: &str, outcome: &str| writeln!(report,
        r#"{{"suite_version":1,"subject":"{SUBJECT}","group":"{GROUP}","case":"{case}","outcome":"{outcome}","reason":"because","seed":{seed}}}"#
    ).unwrap();
    for (case, outcome) in CASES.iter().filter(|(case, _)| group && case.contains(&part)) {
        line(case, "begin");
        if *outcome == "abort" {
            std::process::abort();
        }
        line(case, outcome);
    }
    if CASES.iter().any(|(case, outcome)| *outcome == "fail" && case.contains(&part)) {
        std::process::exit(1);
    }
    println!("said by {SUBJECT}");
    std::process::exit(EXIT);
}
"##;

/// A plug-in: its crate, the table in its manifest, its group, its cases, and the exit status of
/// its test program if no case fails.
type PlugIn =
    (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)], i32);

const STORE: PlugIn = (
    "context-store-fake",
    "suite = \"store\"",
    "commit",
    &[("appends", "pass"), ("forks", "skip")],
    0,
);
const RENDERER: PlugIn =
    ("my-renderer", "suite = \"renderer\"", "renderer", &[("content_is_shown", "pass")], 0);

fn workspace(plug_ins: &[PlugIn]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    for (krate, metadata, group, cases, exit) in plug_ins {
        let manifest = format!(
            "[package]\nname = \"{krate}\"\nversion = \"1.2.3\"\nedition = \"2024\"\n\n\
             [package.metadata.context-conformance]\n{metadata}\n\n\
             [[test]]\nname = \"conformance\"\nharness = false\n"
        );
        let constants = format!(
            "const SUBJECT: &str = {krate:?};\nconst GROUP: &str = {group:?};\n\
             const CASES: &[(&str, &str)] = &{cases:?};\nconst EXIT: i32 = {exit};\n"
        );
        write(&format!("crates/{krate}/Cargo.toml"), &manifest);
        write(&format!("crates/{krate}/src/lib.rs"), "");
        write(&format!("crates/{krate}/tests/conformance.rs"), &(constants + PROGRAM));
    }
    folder
}

/// Runs a program as a person in a folder would: with nothing of the cargo that runs this test.
pub(super) fn by_hand(program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    let of_cargo = |name: &str| {
        name.starts_with("CONTEXT_") || name.starts_with("CARGO") && name != "CARGO_HOME"
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_cargo) {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).env_remove("CI").env_remove("PROPTEST_CASES");
    command.env("CONTEXT_NO_INSTALL", "1").env("CARGO_NET_OFFLINE", "true");
    command
}

fn prove(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = by_hand(env!("CARGO_BIN_EXE_context-conformance"), folder.path());
    command.args(args).output().unwrap()
}

pub(super) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn check(plug_ins: &[PlugIn], args: &[&str], status: i32, expect: &str) {
    let output = prove(&workspace(plug_ins), args);
    assert_eq!(stdout(&output), expect, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{expect}");
}

#[test]
fn every_case_of_every_suite_is_a_row() {
    let expect = "\
context-store-fake conformance (store)
my-renderer conformance (renderer)
suite v1            context-store-fake  my-renderer
commit                        1+1 skip            -
  appends                           ok            -
  forks                           skip            -
renderer                             -            1
  content_is_shown                   -           ok
total                         1+1 skip            1
provision                            -            -
skipped by context-store-fake (because): forks
";
    check(&[STORE, RENDERER], &[], 0, expect);
}

#[test]
fn a_failure_is_listed_with_its_reason_and_how_to_repeat_it() {
    let broken: PlugIn =
        ("my-renderer", RENDERER.1, "renderer", &[("deep", "pass"), ("marks", "fail")], 0);
    let folder = workspace(&[STORE, broken]);
    let whole =
        prove(&folder, &["--seed", "0x9", "--manifest-path", "crates/my-renderer/Cargo.toml"]);
    assert_eq!(whole.status.code(), Some(1));
    let again = "--subject my-renderer --group renderer --case marks --seed 0x9";
    let listed = format!(
        "FAILED my-renderer renderer::marks: because\n  again: context-conformance --manifest-path crates/my-renderer/Cargo.toml {again}\n"
    );
    let said = stdout(&whole);
    assert!(said.ends_with(&listed) && said.contains("appends"), "{said}");

    let alone = prove(&folder, &again.split(' ').collect::<Vec<_>>());
    assert_eq!(alone.status.code(), Some(1));
    let said = stdout(&alone);
    assert!(
        said.contains("marks") && !said.contains("deep") && !said.contains("appends"),
        "{said}"
    );
    let sound = prove(&folder, &["--case", "deep"]);
    assert_eq!(sound.status.code(), Some(0), "{}", stdout(&sound));
}

#[test]
fn a_program_that_ends_in_a_case_has_failed_in_it() {
    let recurses: PlugIn =
        ("my-renderer", RENDERER.1, "renderer", &[("shown", "pass"), ("deep", "abort")], 0);
    let output = prove(&workspace(&[recurses]), &[]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("FAILED my-renderer renderer::deep: its program ended in this case"),
        "{said}"
    );
}

#[test]
fn a_plug_in_without_cases_has_failed() {
    let silent: PlugIn = ("my-renderer", RENDERER.1, "renderer", &[], 0);
    let expect = "\
my-renderer conformance (renderer)
my-renderer conformance reported no case: is it made by the kit?
no case was run, so nothing is proved
";
    check(&[silent], &[], 1, expect);
    let expect = "\
context-store-fake conformance (store)
no case was run, so nothing is proved
";
    check(&[STORE], &["--group", "comit"], 1, expect);
}

#[test]
fn a_test_that_fails_outside_of_its_cases_is_shown() {
    let demands: PlugIn =
        ("my-policy", "suite = \"policy\"", "policy", &[("no_message", "pass")], 3);
    let output = prove(&workspace(&[demands]), &[]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("said by my-policy\nmy-policy conformance failed outside of its cases"),
        "{said}"
    );
    let alone = prove(&workspace(&[demands]), &["--case", "no_message"]);
    assert_eq!(alone.status.code(), Some(0), "the other cases may be what the test is about");
}

#[test]
fn a_server_that_is_missing_is_said() {
    let needs: PlugIn = ("my-store", "suite = \"store\"\nneeds = [\"s3\"]", "commit", STORE.3, 0);
    let folder = workspace(&[needs, RENDERER]);
    // The server may be in a folder beside the program, or in the cache of the user.
    let program = folder.path().join("bin/context-conformance");
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_context-conformance"), &program).unwrap();
    let mut command = by_hand(program, folder.path());
    let output = command.env("XDG_CACHE_HOME", folder.path()).output().unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let is_there = said.contains(" local moto\n");
    assert!(is_there || said.contains("\nNOT ASKED my-store conformance: SKIPPED"), "{said}");
}

#[track_caller]
fn refused(plug_ins: &[PlugIn], args: &[&str], expect: &str) {
    let output = prove(&workspace(plug_ins), args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(expect), "{said}");
}

#[test]
fn what_a_manifest_lacks_is_said() {
    let plain: PlugIn = ("plain", "", "", &[], 0);
    refused(&[plain], &[], "    [package.metadata.context-conformance]\n    suite = \"store\"");
    let odd: PlugIn = ("odd", "suite = \"stores\"", "", &[], 0);
    refused(&[odd], &[], "known are store, renderer, codec, policy, memory");
    let other: PlugIn = ("other", "suite = \"codec\"\ntests = [\"it\"]", "", &[], 0);
    refused(&[other], &[], "other has no test program \"it\"");
    refused(&[STORE], &["--subject", "redis"], "known: context-store-fake (store)");
}
