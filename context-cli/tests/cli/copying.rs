//! Copying all chats of a store to another one: reported, verified, resumable.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::Bench;

/// A store with three chats of two users.
fn filled() -> Bench {
    let bench = Bench::with_sample();
    bench.ok("rewind notes m4");
    bench.file("trip.json", r#"[{"role": "user", "content": "Is the Lindenhof near?"}]"#);
    bench.ok("import trip.json");
    bench.ok("--user eve import trip.json");
    bench
}

/// Returns records without the values that differ between runs.
fn brief(records: &[Value]) -> Vec<String> {
    records
        .iter()
        .map(|record| {
            let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("user"), text("chat"), text("status"), record["messages"])
        })
        .collect()
}

#[test]
fn chats_go_to_another_store() {
    let bench = filled();
    assert_snapshot!(
        "copying",
        bench.show(&[
            "copy sqlite:context.db sqlite:archive.db --dry-run",
            "copy sqlite:context.db sqlite:archive.db --chat trip",
            "copy sqlite:context.db sqlite:archive.db --user local --user eve",
            "--store sqlite:archive.db rewind trip m1",
            "copy sqlite:context.db sqlite:archive.db --user local --user eve",
            "copy sqlite:context.db sqlite:archive.db --user local --user eve --no-verify --dry-run",
            "--store sqlite:archive.db verify",
            "copy sqlite:context.db sqlite:archive.db --user nobody",
        ])
    );
    assert_eq!(bench.ok("--store sqlite:archive.db export notes"), bench.ok("export notes"));
    assert_eq!(
        bench.records("--store sqlite:archive.db graph notes"),
        bench.records("graph notes")
    );
}

#[test]
fn the_chats_of_everybody_go() {
    let bench = filled();
    let everybody = "copy sqlite:context.db sqlite:archive.db --all-users";
    assert_snapshot!(
        "copying_everybody",
        bench.show(&[
            &format!("{everybody} --dry-run"),
            everybody,
            &format!("{everybody} --user nobody"),
            "--store sqlite:archive.db --user eve chats",
            "erase eve --yes",
            "copy sqlite:context.db sqlite:third.db --all-users",
            "copy notes other --all-users",
            "copy notes other --to sqlite:archive.db --all-users",
            &format!("{everybody} --chat trip"),
        ])
    );
    let again = bench.records("copy sqlite:archive.db sqlite:fourth.db --all-users");
    assert_eq!(
        brief(&again),
        ["eve trip copied 1", "local trip copied 1", "local notes copied 17"]
    );
}

#[test]
fn a_dry_run_makes_no_store() {
    let bench = filled();
    let would = bench.records("copy sqlite:context.db sqlite:archive.db --dry-run");
    assert_eq!(brief(&would), ["local trip would_copy 1", "local notes would_copy 17"]);
    assert!(!bench.path().join("archive.db").exists());
}

#[test]
fn copies_have_records() {
    let bench = filled();
    let copied = bench.records("copy sqlite:context.db sqlite:archive.db");
    assert_eq!(brief(&copied), ["local trip copied 1", "local notes copied 17"]);
    let mut notes = copied[1].clone();
    let digest = notes["digest"].take();
    assert_eq!(digest.as_str().map(str::len), Some(64));
    assert_eq!(
        notes,
        json!({"v": 1, "user": "local", "chat": "notes", "status": "copied", "messages": 17, "branches": 2, "blobs": 0,
            "digest": null, "verified": true, "part": null, "diagnostics": []})
    );
    // The same chat has the same digest in every store.
    let third = bench.records("copy sqlite:archive.db sqlite:third.db --chat notes");
    assert_eq!(third[0]["digest"], digest);
    let again = bench.records("copy sqlite:context.db sqlite:archive.db");
    assert_eq!(brief(&again), ["local trip unchanged 1", "local notes unchanged 17"]);
    bench.ok("--store sqlite:archive.db rewind notes m6");
    let ran = bench.run("--json copy sqlite:context.db sqlite:archive.db --chat notes");
    assert_eq!(ran.status, 1);
    let record: Value = serde_json::from_str(&ran.out).expect("one record");
    assert_eq!((&record["status"], &record["part"]), (&json!("different"), &json!("chat")));
}

#[test]
fn what_a_copy_does_not_take() {
    let bench = filled();
    assert_snapshot!(
        "copying_usage",
        bench.show(&[
            "copy sqlite:context.db archive",
            "copy notes sqlite:archive.db",
            "copy notes other --dry-run",
            "copy notes other --user local --user eve",
            "chats --user local --user eve",
            "copy sqlite:absent.db sqlite:archive.db",
            "copy sqlite:context.db sqlite:archive.db --chat absent",
            "copy sqlite:context.db sqlite:archive.db --to sqlite:third.db --chat notes",
        ])
    );
    // With `--to`, both names are chats whatever they look like.
    bench.ok("copy notes mem:x --to sqlite:context.db");
    bench.ok("copy mem:x y --to sqlite:context.db");
}

/// Rounds, memories and streams are not copied: this must be confirmed before anything is written.
#[test]
fn what_does_not_go_along_has_to_be_named() {
    let bench = Bench::new();
    bench.file("notes.json", crate::harness::sample());
    let ran = bench.run("import notes.json --trajectory");
    assert_eq!(ran.status, 0, "{}", ran.err);
    for line in [
        "copy sqlite:context.db sqlite:archive.db",
        "copy sqlite:context.db sqlite:archive.db --chat notes",
        "copy notes notes --to sqlite:archive.db",
        "export notes --to jsonl",
        "export --all --to jsonl",
    ] {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{line}");
        assert!(
            ran.err.contains("would stay behind") && ran.err.contains("without rounds"),
            "{}",
            ran.err
        );
        let ran = bench.run(&format!("{line} --without memories,streams"));
        assert_eq!(ran.status, 1, "{line}");
        assert!(!bench.path().join("archive.db").exists(), "{line}");
    }
    let ran = bench.run("copy sqlite:context.db sqlite:archive.db --without rounds");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("left behind: ") && ran.err.contains("round"), "{}", ran.err);
    // Within one store nothing is left behind.
    bench.ok("copy notes again");
}
