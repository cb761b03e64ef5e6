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
        bench.ok(&format!("checkpoint notes start --delete --yes {args}"));
        bench.ok(&format!("delete notes --yes {args}"));
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
    assert_eq!(bench.run("checkpoint notes").out, "");
    let args = ["checkpoint", "notes", "start", "--workspace", "work", "--snapshots", "kept"];
    let output = context(bench.path(), &args).env("PATH", "/nowhere").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("git is not installed"), "{error}");
}

/// A process that was killed leaves a move that every other one would have to finish.
#[test]
fn an_interrupted_move_is_done_again_or_given_up() {
    for args in [&[][..], &["--abandon-move"]] {
        let bench = bench(true);
        bench.ok("checkpoint notes start --workspace work");
        bench.file("work/plan.md", "two\n");
        let path = std::env::var("PATH").expect("there is one");
        let script = "case \" $* \" in *' checkout '*) kill -9 $PPID; exit 1;; esac".to_owned();
        git_through(&bench, &format!("{script}\nPATH='{path}' exec git \"$@\"\n"));
        let restore = ["restore", "notes", "start", "--workspace", "work"];
        let mut command = context(bench.path(), &restore);
        command.env("PATH", format!("{}:{path}", bench.path().join("bin").display()));
        assert!(!command.status().expect("it runs").success());
        let other = bench.run("rewind notes m4 --workspace work");
        assert!(other.status == 1 && other.err.contains("abandon"), "{}", other.err);
        assert_eq!(plan(&bench), "two\n");
        let done = match args {
            [] => bench.run("restore notes start --workspace work"),
            _ => bench.run("rewind notes m4 --workspace work --abandon-move"),
        };
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(plan(&bench), if args.is_empty() { "one\n" } else { "two\n" });
    }
}

/// Git has begun to write files. It does not stop half way, and nobody writes beside it.
#[test]
fn the_next_call_waits_for_the_git_of_a_killed_process() {
    let bench = bench(true);
    bench.ok("checkpoint notes start --workspace work");
    bench.file("work/plan.md", "two\n");
    let (path, ended) = (std::env::var("PATH").expect("there is one"), bench.path().join("ended"));
    let script = format!(
        "PATH='{path}'\ncase \" $* \" in *' checkout '*) kill -9 $PPID; sleep 1; git \"$@\"\n\
         touch '{}'; exit;; esac\nexec git \"$@\"\n",
        ended.display()
    );
    git_through(&bench, &script);
    let mut command = context(bench.path(), &["restore", "notes", "start", "--workspace", "work"]);
    command.env("PATH", format!("{}:{path}", bench.path().join("bin").display()));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    assert!(!command.status().expect("it runs").success());
    assert!(!ended.exists() && plan(&bench) == "two\n");
    bench.ok("checkpoint notes next --workspace work");
    assert!(ended.exists());
    assert_eq!(plan(&bench), "one\n");
}

/// Settings of a user that would hide changes, or names and links.
#[test]
fn settings_of_the_user_do_not_change_a_snapshot() {
    let bench = bench(true);
    let names = ["git~1", "aux.txt", ".g\u{200c}it"];
    names.iter().for_each(|name| drop(bench.file(&format!("work/{name}"), "one\n")));
    std::os::unix::fs::symlink("plan.md", bench.path().join("work/link")).expect("a new link");
    let settings = bench.file(
        "settings",
        "[core]\nignoreStat = true\nsymlinks = false\ncheckStat = minimal\ntrustctime = false\n\
         protectNTFS = true\nprotectHFS = true\n[init]\ndefaultObjectFormat = sha256\n",
    );
    let run = |command: &str| {
        let args = [command, "notes", "start", "--workspace", "work"];
        let mut command = context(bench.path(), &args);
        let output = command.env("GIT_CONFIG_GLOBAL", &settings).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run("checkpoint");
    bench.file("work/plan.md", "changed\n");
    run("checkpoint");
    bench.file("work/plan.md", "two\n");
    for name in names.into_iter().chain(["link"]) {
        fs::remove_file(bench.path().join("work").join(name)).expect("it was there");
    }
    run("restore");
    assert_eq!(plan(&bench), "changed\n");
    for name in names {
        assert!(bench.path().join("work").join(name).is_file(), "{name}");
    }
    assert!(bench.path().join("work/link").is_symlink());
}

/// Lets commands whose path begins with the folder `bin` find this script as git.
fn git_through(bench: &Bench, script: &str) {
    use std::os::unix::fs::PermissionsExt;

    fs::create_dir(bench.path().join("bin")).expect("a folder in a new one");
    let git = bench.file("bin/git", format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("it is there");
}

/// A terminal sends the signal to all processes of the foreground group.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_does_not_reach_git() {
    let bench = bench(true);
    let log = bench.path().join("groups");
    let path = std::env::var("PATH").expect("there is one");
    let script = format!(
        "echo $$ $(cut -d' ' -f5 /proc/$$/stat) >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        log.display()
    );
    git_through(&bench, &script);
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
