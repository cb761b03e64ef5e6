//! Unreadable files next to readable ones, folders, and endless input.

use std::fs;

use serde_json::json;

use crate::harness::Bench;

const GOOD: &str = "{\"role\":\"user\",\"content\":\"x\"}\n";

#[test]
fn a_folder_is_walked_in_order_and_what_cannot_be_read_is_listed() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path().join("in/b/.git")).expect("the folder can be written to");
    fs::create_dir_all(bench.path().join("other")).expect("the folder can be written to");
    for (name, text) in [
        ("in/z.jsonl", GOOD),
        ("in/a.json", "{ no JSON"),
        ("in/notes.md", "not a transcript"),
        ("in/other.json", "{\"version\": 2}"),
        ("in/b/z.jsonl", GOOD),
        ("in/b/.git/hidden.jsonl", GOOD),
    ] {
        bench.file(name, text);
    }
    bench.file("in/b/bytes.json", [0xff, 0xfe, 0x00]);
    bench.file("other/elsewhere.jsonl", GOOD);
    #[cfg(unix)]
    for (name, target) in [("loop", ".."), ("link", "../../other")] {
        std::os::unix::fs::symlink(target, bench.path().join("in/b").join(name)).expect("a link");
    }
    let ran = bench.run("--json import in");
    assert_eq!(ran.status, 1, "{}", ran.err);
    let said: Vec<_> = crate::harness::values(&ran.out)
        .into_iter()
        .map(|record| {
            (
                record["status"].clone(),
                record["chat"].as_str().map(str::to_owned),
                record["file"].clone(),
            )
        })
        .collect();
    let failed: Vec<_> =
        said.iter().filter(|(status, ..)| status == "failed").map(|(.., file)| file).collect();
    assert_eq!(failed.iter().filter(|file| **file == "in/b/loop").count(), usize::from(cfg!(unix)));
    let failed: Vec<_> = failed.into_iter().filter(|file| *file != "in/b/loop").collect();
    assert_eq!(failed, [&json!("in/a.json"), &json!("in/b/bytes.json")]);
    let chats: Vec<_> = said.iter().filter_map(|(_, chat, _)| chat.as_deref()).collect();
    assert_eq!(chats, ["z", "b/z"]);
    let skipped = said.iter().filter(|(status, ..)| status == "skipped").count();
    assert_eq!(skipped, if cfg!(unix) { 4 } else { 3 });
    assert_eq!(bench.records("chats").len(), 2);
    bench.ok("verify");

    let ran = bench.run("import in -v");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("in/a.json: not imported"), "{}", ran.err);
    assert!(ran.err.contains("in/notes.md: passed over: not a transcript"), "{}", ran.err);
    let failed = if cfg!(unix) { "3 files not imported" } else { "2 files not imported" };
    assert!(ran.out.contains(failed), "{}", ran.out);
    #[cfg(unix)]
    {
        assert!(ran.err.contains("in/b/link: passed over: a link to a folder"), "{}", ran.err);
        assert!(ran.err.contains(
            "in/b/loop: not imported: it cannot be read: a link to a folder that it is in"
        ));
        fs::remove_file(bench.path().join("in/b/loop")).expect("it was there");
    }
    assert_eq!(bench.run("import in --chat all").status, 2);
    for broken in ["in/a.json", "in/b/bytes.json"] {
        fs::remove_file(bench.path().join(broken)).expect("it was there");
    }
    // A file found in a folder need not be a transcript, also with `--strict`.
    assert_eq!(bench.run("import in --strict --store sqlite:strict.db").status, 0);
}

#[test]
fn the_rounds_of_many_chats_are_one_line_and_those_of_a_few_a_line_each() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path().join("in")).expect("the folder can be written to");
    for number in 0..10 {
        bench.file(&format!("in/{number}.jsonl"), GOOD);
    }
    let few = bench.ok("import in --trajectory --store mem:");
    assert!(few.starts_with("imported 10 chats from 10 files · 10 messages"), "{few}");
    assert_eq!(few.matches("recorded 1 round of ").count(), 10, "{few}");
    bench.file("in/more.jsonl", GOOD);
    let many = bench.ok("import in --trajectory --store mem:");
    assert!(many.ends_with("\nrecorded 11 rounds of 11 chats\n"), "{many}");
    assert_eq!(many.lines().count(), 3, "{many}");
    assert_eq!(bench.records("import in --trajectory --store mem:").len(), 22);
}

#[test]
fn a_damaged_chat_of_a_transfer_file_is_refused_and_the_store_is_sound() {
    let bench = Bench::with_sample();
    let text = bench.ok("export notes --to jsonl");
    let damaged = text
        .replacen("\"role\":\"assistant\"", "\"role\":\"judge\"", 1)
        .replace("\"notes\"", "\"bad\"");
    let line =
        1 + damaged.lines().position(|line| line.contains("judge")).expect("there is an answer");
    bench.file("both.jsonl", format!("{damaged}{}", text.replace("\"notes\"", "\"good\"")));
    let ran = bench.run("import both.jsonl --store sqlite:new.db");
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(
        ran.out.contains("imported 1 chat") && ran.out.contains("1 chat refused"),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("both.jsonl") && ran.err.contains(&format!("line {line}")),
        "{}",
        ran.err
    );
    bench.ok("verify --store sqlite:new.db");
    let chats = bench.records("chats --store sqlite:new.db");
    assert_eq!((chats.len(), &chats[0]["chat"]), (1, &json!("good")));
    // The same through a pipe, which cannot be read twice.
    let ran = bench.run_with("import - --store sqlite:piped.db", &format!("{damaged}{text}"));
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert_eq!(bench.records("chats --store sqlite:piped.db").len(), 1);
    let ran = bench.run("import both.jsonl --strict --store sqlite:strict.db");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(!bench.path().join("strict.db").exists());
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_refused_with_the_limit() {
    let bench = Bench::with_sample();
    for line in [
        "import /dev/zero",
        "render /dev/zero",
        "prepare notes --provider openai --fragments /dev/zero",
    ] {
        let ran = bench.run(line);
        assert_eq!(ran.status, 1, "{line}");
        assert!(
            ran.err.contains("/dev/zero is larger than 268435456 bytes"),
            "{line}: {}",
            ran.err
        );
    }
}
