//! A store file is searched, cleaned and copied by several processes in turn.

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::Bench;

#[test]
fn scripts_complete_the_command() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bench.ok(&format!("completions {shell}"));
        assert!(script.contains("COMPLETE") && script.contains("context"), "{shell}");
    }
    let record = &bench.records("completions fish")[0];
    assert_eq!(record["text"], bench.ok("completions fish"));
    assert!(!bench.path().join("context.db").exists());
}

/// Each page is formatted by the program that shows it, if it is there.
#[test]
fn the_manual_has_a_page_for_each_command() {
    let bench = Bench::new();
    let told = bench.ok("man --output share/man1");
    let folder = bench.path().join("share/man1");
    let pages: Vec<_> = fs::read_dir(&folder).unwrap().map(|page| page.unwrap().path()).collect();
    assert_eq!(told.trim(), format!("{} pages in share/man1", pages.len()));
    assert!(pages.len() > 50 && folder.join("context-memory-add.1").is_file());
    // A second time they are replaced, and each is told.
    let records = bench.records("man --output share/man1");
    assert_eq!(records.len(), pages.len());
    let main = fs::read_to_string(folder.join("context.1")).unwrap();
    assert_eq!(main, bench.ok("man"));
    assert_eq!(bench.records("man")[0]["text"], *main);

    let groff = |page: &Path| {
        let all = ["-man", "-Kutf8", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u"];
        Command::new("groff").args(all).arg(page).output()
    };
    if groff(&folder.join("context.1")).is_err() {
        eprintln!("there is no groff: the pages of the manual are not formatted");
        return;
    }
    for page in pages {
        let shown = groff(&page).unwrap();
        let warnings = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success() && warnings.is_empty(), "{}: {warnings}", page.display());
        let text = String::from_utf8_lossy(&shown.stdout);
        let sections =
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "GLOBAL OPTIONS", "ENVIRONMENT"];
        for section in sections {
            assert!(text.lines().any(|line| line == section), "{section} in {text}");
        }
        // A command line is in one line, as in the help.
        if page.ends_with("context-log.1") {
            let command = "context log support-7 --branch main-v2 -n 20";
            assert!(text.lines().any(|line| line.trim() == command), "{text}");
        }
    }
}

#[test]
fn wrong_usage_says_what_would_be_right() {
    let bench = Bench::with_sample();
    bench.file("there.db", "");
    assert_snapshot!(
        "usage",
        bench.show(&[
            "retain",
            "retain --older-than soon",
            "retain --max-bytes many",
            "search",
            "search x --branch main",
            "search x --role robot",
            "branches notes --rename main",
            "branches notes --switch main --delete main",
            "cherry-pick notes m1",
            "erase local",
            "erase local --json",
            "backup there.db",
            "completions tcsh",
            "--store sqlite:nothing.db erase local --yes",
            "--store sqlite:nothing.db search x",
        ])
    );
    assert_eq!(bench.records("chats").len(), 1);
}

#[test]
fn a_chat_goes_to_another_store_and_back() {
    let bench = Bench::with_sample();
    bench.ok("rewind notes m4");
    bench.ok("copy notes notes --to sqlite:archive.db");
    assert_eq!(bench.ok("--store sqlite:archive.db export notes"), bench.ok("export notes"));
    assert_eq!(
        bench.records("--store sqlite:archive.db graph notes"),
        bench.records("graph notes")
    );
    assert_eq!(bench.records("--store sqlite:archive.db verify")[0]["findings"], json!([]));
}

/// Returns whether the file of a store, or its write-ahead log, contains these words.
fn holds(bench: &Bench, file: &str, words: &str) -> bool {
    let files = ["", "-wal"].map(|end| std::fs::read(bench.path().join(format!("{file}{end}"))));
    files
        .iter()
        .flatten()
        .any(|bytes| bytes.windows(words.len()).any(|part| part == words.as_bytes()))
}

#[test]
fn what_is_redacted_leaves_the_file() {
    let bench = Bench::new();
    bench.file(
        "card.json",
        r#"[{"role": "user", "content": "my card is 4242-4242"}, {"role": "assistant", "content": "thanks"}]"#,
    );
    bench.ok("import card.json");
    let ran = bench.run("redact card m1 --yes");
    let told = "removed   content of message m1 of chat card\nwith      1 title\n\
        not reached: local files of trajectories; snapshots of a workspace; backups and exports; \
        logs; what running programs and model providers keep; unused space of the store's files, \
        until `context vacuum`\nremoved: 1 message, 1 title, 71 B\n";
    assert_eq!((ran.status, ran.out.as_str()), (0, told));
    assert!(bench.ok("vacuum").contains("freed"));
    assert!(!holds(&bench, "context.db", "4242-4242"));
    assert_eq!(bench.records("log card")[0]["preview"], "[redacted]");
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn what_an_operator_of_a_file_does() {
    let bench = Bench::with_sample();
    bench.ok("copy notes small");
    let large = bench.records("retain --max-bytes 1B --branches-older-than 0s --dry-run");
    assert_eq!((large.len(), &large[0]["reason"]), (1, &json!("bytes")));
    bench.ok("delete small --yes");
    assert_snapshot!(
        "operating",
        bench.show(&[
            "rewind notes m4",
            "branches notes --rename main-v2 shorter",
            "diff notes shorter shorter",
            "branches notes --switch main",
            "branches notes --delete shorter",
            "copy notes again",
            "retain --keep 1 --dry-run --full-time",
            "retain --keep 1",
            "retain --keep 1 --yes --full-time",
            "verify",
        ])
    );
    bench.ok("backup copy.db");
    let erased = json!({"v": 1, "user": "local", "chats": 1, "messages": 17, "blobs": 0, "streams": 0, "rounds": 0, "memories": 0, "remaining": 0});
    let mut proof = bench.records("erase local --yes").remove(0);
    assert_eq!(proof["status"], "removed");
    let record = proof.as_object_mut().expect("a record");
    record.retain(|key, _| !["status", "not_reached"].contains(&key.as_str()));
    assert_eq!(proof, erased);
    assert_eq!(bench.records("--store sqlite:copy.db verify")[0]["messages"], 17);
    assert!(!holds(&bench, "context.db", "Lindenhof") && holds(&bench, "copy.db", "Lindenhof"));
    let sizes = &bench.records("vacuum")[0];
    assert!(sizes["after"].as_u64().is_some_and(|after| after > 0), "{sizes}");
    let written = &bench.records("backup later.db")[0];
    let bytes =
        std::fs::metadata(bench.path().join("later.db")).expect("the backup is there").len();
    assert_eq!(*written, json!({"v": 1, "file": "later.db", "bytes": bytes}));
}

#[test]
fn a_file_is_searched() {
    let bench = Bench::with_sample();
    bench.file("trip.json", r#"[{"role": "user", "content": "Is the Lindenhof near 北京?"}]"#);
    bench.ok("import trip.json");
    bench.ok("rewind notes m4");
    assert_snapshot!(
        "search",
        bench.show(&[
            "search lindenhof near",
            "search 北京",
            "search deposit --chat notes --branch main --role user",
            "search deposit --chat notes --branch main-v2",
            "search lindenh",
            "search linden --prefix --chat trip",
            "--user eve search lindenhof",
        ])
    );
    let all = bench.records("search lindenhof");
    let mut page = bench.records("search lindenhof -n 1");
    let next = page.pop().map(|end| end["next"].as_str().expect("a cursor").to_owned());
    page.extend(bench.records(&format!("search lindenhof --after {}", next.expect("an end"))));
    assert_eq!(page, all);
    assert_eq!(bench.records("redact trip m1 --yes")[0]["status"], "redacted");
    assert_eq!(bench.records("search near --chat trip").len(), 1);
}
