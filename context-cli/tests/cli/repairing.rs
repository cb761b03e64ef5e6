//! `repair`: what is sound of a damaged store goes into a new one, and the rest is named.

use std::fs;

use crate::harness::Bench;
use crate::others_data::foreign_database;

/// Changes a byte of a text in the store, without any other change of its file.
fn damage(bench: &Bench, text: &[u8]) {
    let file = bench.path().join("context.db");
    let mut bytes = fs::read(&file).expect("the store is there");
    let mut at = 0;
    let mut hits = 0;
    while let Some(next) = bytes[at..].windows(text.len()).position(|window| window == text) {
        bytes[at + next] ^= 1;
        at += next + 1;
        hits += 1;
    }
    assert!(hits > 0, "the text is in the file");
    fs::write(&file, bytes).expect("the file can be written to");
}

#[test]
fn what_is_lost_is_named_and_the_rest_is_in_a_sound_store() {
    let bench = Bench::with_sample();
    bench.file(
        "trip.json",
        r#"[{"role":"user","content":"Lisbon?"},{"role":"assistant","content":"By train."},
            {"role":"user","content":"Which one?"}]"#,
    );
    bench.ok("import trip.json --chat trip");
    let sound = bench.records("repair context.db whole.db");
    assert_eq!(sound[0]["losses"], serde_json::json!([]));
    let export = bench.ok("export --all --to jsonl");
    assert_eq!(bench.ok("--store whole.db export --all --to jsonl"), export);

    damage(&bench, b"By train.");
    let before = fs::read(bench.path().join("context.db")).expect("the store is there");
    let repaired = bench.run("repair context.db saved.db");
    assert_eq!((repaired.status, repaired.err.as_str()), (1, ""), "{}", repaired.out);
    assert!(repaired.out.contains("lost  local/trip message m2: "), "{}", repaired.out);
    assert!(repaired.out.contains("1 loss"), "{}", repaired.out);
    assert_eq!(fs::read(bench.path().join("context.db")).expect("still there"), before);
    assert!(bench.ok("--store saved.db verify").starts_with("sound: 2 chats"));
    assert!(bench.ok("--store saved.db log trip").contains("Lisbon?"));
    let rest = bench.ok("--store saved.db log trip --branch main-rest-1");
    assert!(rest.contains("Which one?") && !rest.contains("Lisbon?"), "{rest}");
    let again = bench.run("repair context.db saved.db");
    assert!(again.status == 1 && again.err.contains("has contents already"), "{}", again.err);
}

#[test]
fn a_store_that_is_not_there_leaves_no_new_one() {
    let bench = Bench::new();
    let repaired = bench.run("repair nowhere.db new.db");
    assert!(repaired.status == 1 && repaired.err.contains("nowhere.db"), "{}", repaired.err);
    assert!(!bench.path().join("new.db").exists());
}

#[test]
fn nothing_is_saved_of_a_file_of_another_program_and_it_stays_as_it_is() {
    for (name, bytes) in [
        ("a database", foreign_database()),
        ("an empty file", Vec::new()),
        ("a text", b"my notes\n".to_vec()),
        ("other bytes", vec![7; 4096]),
    ] {
        let bench = Bench::new();
        bench.file("notes.db", &bytes);
        let repaired = bench.run("repair notes.db new.db");
        let is_told =
            ["of another program", "an empty file"].iter().any(|it| repaired.err.contains(it))
                || repaired.out.contains("saved: 0 chats, 0 messages");
        assert!(is_told, "{name}: {repaired:?}");
        assert!(fs::read(bench.path().join("notes.db")).expect("still there") == bytes, "{name}");
    }
}
