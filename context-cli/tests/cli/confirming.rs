//! Removing commands ask on a terminal, and fail without one before anything is written.

use std::fs;

use serde_json::json;

use crate::harness::{Bench, on_a_terminal, values};

#[test]
fn a_person_is_asked_with_numbers_and_only_yes_removes() {
    let bench = Bench::with_sample();
    bench.ok("copy notes again");
    let Some((status, told)) = on_a_terminal(&bench, "delete notes", "y\n") else { return };
    assert_eq!(status, 1, "{told}");
    let question = "remove 1 chat, 1 branch, 17 messages, ";
    let reach = " for good; not backups, exports and logs, nor ";
    for part in [question, reach, "copies elsewhere? Type yes to go on: ", "nothing was changed"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(bench.records("chats").len(), 2);
    let (status, told) = on_a_terminal(&bench, "delete notes again", "yes\n").expect("a terminal");
    assert_eq!((status, told.contains("removed   chat again")), (0, true), "{told}");
    assert_eq!(bench.records("chats").len(), 0);
}

#[test]
fn what_is_not_there_is_said_before_the_question() {
    let bench = Bench::with_sample();
    for line in ["delete notes nothing", "redact notes m99", "redact nothing m1"] {
        let Some((status, told)) = on_a_terminal(&bench, line, "yes\n") else { return };
        assert_eq!((status, told.contains("Type yes")), (1, false), "{line}: {told}");
    }
    assert_eq!(bench.records("log notes").len(), 17);
}

/// Commands that cannot be undone, in a script that does not confirm them.
const UNCONFIRMED: [&str; 6] = [
    "redact notes m1",
    "branches notes --delete main-v2",
    "trajectory prune --keep-rounds 0",
    "retain --keep 1",
    "delete notes",
    "erase local",
];

#[test]
fn a_script_confirms_or_nothing_is_written() {
    let bench = Bench::with_sample();
    bench.file("trip.json", r#"[{"role": "user", "content": "Is the Lindenhof near here?"}]"#);
    bench.ok("import trip.json --trajectory");
    bench.ok("rewind notes m4");
    bench.ok("cherry-pick notes m1 --onto main-v2");
    bench.ok("branches notes --switch main");
    bench.ok("memory add I_fly_from_Lisbon_only");
    let before = fs::read(bench.path().join("context.db")).expect("the store");
    for line in UNCONFIRMED.iter().chain(&["memory forget --all"]) {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
        assert!(ran.err.contains("--yes") && ran.err.contains("--dry-run"), "{line}: {}", ran.err);
        let ran = bench.run(&format!("--json {line}"));
        assert_eq!((ran.status, &values(&ran.err)[0]["error"]["kind"]), (2, &json!("usage")));
        let dry = bench.run(&format!("{line} --dry-run"));
        assert_eq!((dry.status, dry.err.as_str()), (0, ""), "{line}");
        let last = dry.out.lines().last().expect("a total");
        assert!(
            last.starts_with("would go: ") && last.ends_with("; nothing was changed"),
            "{last}"
        );
        assert!(dry.out.contains("\nnot reached: "), "{line}: {}", dry.out);
    }
    let after = fs::read(bench.path().join("context.db")).expect("the store");
    assert!(before == after, "nothing is written");
    for line in UNCONFIRMED {
        let ran = bench.run(&format!("{line} --yes"));
        let last = ran.out.lines().last().expect("a total").to_owned();
        // A copy that is left is exit status 1.
        assert!(last.starts_with("removed: ") && ran.err.is_empty(), "{line}: {last} {}", ran.err);
    }
}

#[test]
fn what_others_have_of_a_user_is_listed_before_an_erasure() {
    let bench = Bench::new();
    let secret = "the pass phrase of the harbour account is quinquereme of Nineveh";
    bench.file("trip.json", format!(r#"[{{"role": "user", "content": "{secret}"}}]"#));
    for user in ["ada", "bob"] {
        bench.ok(&format!("--user {user} import trip.json"));
    }
    let told = bench.ok("erase ada --dry-run");
    let copy = "still there: message m1 of chat trip of user bob: says the same\n";
    assert!(told.contains("would go  chat trip") && told.contains(copy), "{told}");
    assert!(!told.contains("other users"), "{told}");
    let plan = &bench.records("erase ada --dry-run")[0];
    let copies = plan["copies"].as_array().expect("they were searched for");
    assert!(copies.iter().all(|copy| copy["user"] == "bob"), "{plan}");
    let proof = &bench.records("erase ada --yes")[0];
    assert!(proof.get("copies").is_none(), "{proof}");
    let others = "the same words in data of other users, which --dry-run lists";
    assert_eq!(proof["not_reached"][0], others);
    assert_eq!(bench.records("--user bob log trip").len(), 1);
}

/// A branch without messages of its own, and a checkpoint, come back with one command.
#[test]
fn what_can_be_undone_does_not_ask() {
    let bench = Bench::with_sample();
    bench.ok("fork notes --at m3 --name detour");
    bench.ok("branches notes --switch main");
    bench.ok("branches notes --delete detour");
    bench.ok("checkpoint notes asked --at m2");
    bench.ok("checkpoint notes asked --delete");
    for line in ["spill prune", "streams prune", "retain --keep 5", "memory forget --all"] {
        assert!(bench.ok(line).starts_with("removed: "), "{line}: there is nothing to remove");
    }
}

#[test]
fn a_vacuum_tells_what_it_would_free() {
    let bench = Bench::new();
    let message = "{\"role\": \"user\", \"content\": \"some words that fill the pages\"}\n";
    bench.file("long.jsonl", message.repeat(3000));
    bench.ok("import long.jsonl");
    bench.ok("delete long --yes");
    let plan = &bench.records("vacuum --dry-run")[0];
    let number = |record: &serde_json::Value, key: &str| record[key].as_u64().expect("a number");
    let (before, after) = (number(plan, "before"), number(plan, "after"));
    assert!(plan["status"] == "would_go" && after < before, "{plan}");
    let told = bench.ok("vacuum --dry-run");
    assert!(told.contains("would go: at least ") && told.contains("nothing was changed"), "{told}");
    let done = &bench.records("vacuum")[0];
    assert!(number(done, "after") <= after, "{plan} {done}");
}
