//! Files that go back together with the conversation.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Bench, context};

/// A bench with a folder `work`, which is a repository or not.
fn bench(is_repository: bool) -> Bench {
    let bench = Bench::with_sample();
    fs::create_dir(bench.path().join("work")).expect("a folder in a new one");
    if is_repository {
        let mut git = Command::new("git");
        git.args(["init", "-q", "work"]).current_dir(bench.path());
        assert!(git.status().is_ok_and(|status| status.success()));
    }
    bench.file("work/plan.md", "one\n");
    bench
}

fn plan(bench: &Bench) -> String {
    fs::read_to_string(bench.path().join("work/plan.md")).expect("the plan is there")
}

#[test]
fn a_checkpoint_brings_files_and_conversation_back() {
    for (is_repository, args) in
        [(true, "--workspace work"), (false, "--workspace work --snapshots kept")]
    {
        let bench = bench(is_repository);
        let set = bench.ok(&format!("checkpoint notes start {args}"));
        assert!(set.contains("files "), "{set}");
        bench.file("work/plan.md", "two\n");
        bench.file("work/new.md", "new\n");
        let back = bench.ok(&format!("restore notes start {args}"));
        assert!(back.contains("files: 1 written, 1 removed"), "{back}");
        assert_eq!(plan(&bench), "one\n");
        assert!(!bench.path().join("work/new.md").exists());
        bench.file("work/plan.md", "three\n");
        let moved = bench.records(&format!("rewind notes m4 {args}"));
        assert_eq!((moved[0].get("restored"), plan(&bench)), (None, "three\n".into()));
        let moved = bench.records(&format!("branches notes --switch main-v2 {args}"));
        assert_eq!(moved[0]["restored"]["written"], 0);
        bench.ok(&format!("checkpoint notes start --delete {args}"));
        bench.ok(&format!("delete notes {args}"));
        if is_repository {
            let refs = Command::new("git")
                .args(["for-each-ref"])
                .current_dir(bench.path().join("work"))
                .output();
            assert_eq!(refs.unwrap().stdout, b"");
        }
    }
}

#[test]
fn what_is_missing_is_named_with_what_helps() {
    let bench = bench(false);
    let none = bench.run("checkpoint notes start --workspace work");
    assert!(none.status == 1 && none.err.contains("--snapshots"), "{}", none.err);
    assert_eq!(bench.ok("checkpoint notes"), "");
    let args = ["checkpoint", "notes", "start", "--workspace", "work", "--snapshots", "kept"];
    let output = context(bench.path(), &args).env("PATH", "/nowhere").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("git is not installed"), "{error}");
}

/// A terminal sends the signal to all processes of the foreground group.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_does_not_reach_git() {
    use std::os::unix::fs::PermissionsExt;

    let bench = bench(true);
    let log = bench.path().join("groups");
    let path = std::env::var("PATH").expect("there is one");
    let script = format!(
        "#!/bin/sh\necho $$ $(cut -d' ' -f5 /proc/$$/stat) >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        log.display()
    );
    fs::create_dir(bench.path().join("bin")).expect("a folder in a new one");
    bench.file("bin/git", &script);
    let git = bench.path().join("bin/git");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("it is there");
    for command in ["checkpoint", "restore"] {
        let mut command =
            context(bench.path(), &[command, "notes", "start", "--workspace", "work"]);
        command.env("PATH", format!("{}:{path}", bench.path().join("bin").display()));
        assert!(command.output().expect("it runs").status.success());
    }
    let groups = fs::read_to_string(log).expect("git ran");
    for line in groups.lines() {
        let (process, group) = line.split_once(' ').expect("two numbers");
        assert_eq!(process, group, "a group of its own");
    }
}

/// Within a hook, git points its own programs to the repository of the hook.
#[test]
fn variables_of_git_do_not_lead_to_another_repository() {
    let (bench, other) = (bench(true), bench(true));
    let at = |name: &str| other.path().join("work/.git").join(name);
    let run = |args: &[&str]| {
        let mut command = context(bench.path(), args);
        command.env("GIT_DIR", at("")).env("GIT_INDEX_FILE", at("index"));
        command.env("GIT_WORK_TREE", Path::new("/"));
        assert!(command.output().unwrap().status.success(), "{args:?}");
    };
    run(&["checkpoint", "notes", "start", "--workspace", "work"]);
    bench.file("work/plan.md", "two\n");
    run(&["restore", "notes", "start", "--workspace", "work"]);
    assert_eq!(plan(&bench), "one\n");
    assert!(!at("index").exists() && !at("context").exists());
}
