//! Errors name the problem, its object and the fix, and nothing is written.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{Bench, context, values};

#[test]
fn errors_say_what_to_do() {
    let bench = Bench::with_sample();
    bench.file("broken.json", "[\n  {\"role\": \"user\",}\n]");
    bench.file(
        "odd.json",
        "[{\"messages\": [{\"role\": \"user\", \"content\": \"x\"},\n{\"role\": \"robot\"}]}]",
    );
    bench.file("other.json", "{\"answer\": 42}");
    bench.file("bytes.json", b"[\n\xff]");
    bench.file("fragments.json", "[{\"name\": \"a\"},\n{\"data\": 1}]");
    assert_snapshot!(
        "errors",
        bench.show(&[
            "import broken.json",
            "import odd.json",
            "import other.json",
            "import bytes.json",
            "import nowhere.json",
            "render fragments.json",
            "log nothing",
            "log notes --branch nothing",
            "show notes m99",
            "show notes 1",
            "restore notes nothing",
            "branches notes --switch nothing",
            "delete notes nothing",
            "export nothing",
            "--store nothing chats",
            "--store elsewhere.db:x chats",
            "--store sqlite:nothing.db chats",
            "--store sqlite:notes.json chats",
        ])
    );
    assert_eq!(bench.records("chats").len(), 1);
    assert!(!bench.path().join("nothing.db").exists());
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let bench = Bench::with_sample();
    let error = |line: &str| {
        let ran = bench.run(&format!("{line} --json"));
        assert_eq!(ran.out, "");
        (ran.status, values(&ran.err).remove(0))
    };
    let expected = json!({"error": {"kind": "not_found", "message": "no such chat",
        "context": {"operation": "find", "chat": "nothing", "user": "local"}}});
    assert_eq!(error("log nothing"), (1, expected));
    let (status, record) = error("log");
    assert_eq!((status, &record["error"]["kind"]), (2, &json!("usage")));
    assert_eq!(error("import a.json b.json --chat c").0, 2);
}

#[test]
fn a_file_that_cannot_be_imported_makes_no_store() {
    let bench = Bench::new();
    bench.file("broken.json", "[");
    assert_eq!(bench.run("import broken.json").status, 1);
    assert_eq!(bench.run("chats").status, 1);
    assert!(!bench.path().join("context.db").exists());
}

/// Half a file is worse than none: the second conversation is invalid, so the first is not imported
/// either.
#[test]
fn a_bad_conversation_keeps_its_whole_file_out() {
    let bench = Bench::with_sample();
    bench.file("two.json", "[{\"messages\": []}, {\"messages\": [{\"role\": 7}]}]");
    let ran = bench.run("import two.json");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert_eq!(bench.records("chats").len(), 1);
}

#[test]
fn limits_are_named_before_anything_is_written() {
    let bench = Bench::with_sample();
    let large = "x".repeat(2 << 20);
    bench.file("large.json", format!("{{\"extra\": \"{large}\", \"messages\": []}}"));
    let ran = bench.run("--json import large.json");
    assert_eq!(ran.status, 1);
    let error = &values(&ran.err)[0]["error"];
    assert_eq!(
        (&error["kind"], &error["context"]["limit"]),
        (&json!("invalid"), &json!("1048576"))
    );
    assert_eq!(bench.records("chats").len(), 1);
}

/// An empty value is reported by its option or its variable, which is not visible on the command
/// line.
#[test]
fn an_empty_user_or_store_is_told_by_its_name() {
    let bench = Bench::new();
    for (args, variable, named) in [
        (vec!["chats", "--user", ""], None, "--user is empty"),
        (vec!["--user", "", "chats"], None, "--user is empty"),
        (vec!["chats", "--store", ""], None, "--store is empty"),
        (vec!["chats"], Some("CONTEXT_USER"), "CONTEXT_USER is empty"),
        (vec!["chats"], Some("CONTEXT_STORE"), "CONTEXT_STORE is empty"),
    ] {
        let mut command = context(bench.path(), &args);
        if let Some(variable) = variable {
            command.env(variable, "");
        }
        let output = command.output().expect("the executable runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(named), "{args:?}: {said}");
    }
}

#[test]
fn none_at_all_is_no_number_of_things_to_show() {
    let bench = Bench::with_sample();
    for line in [
        "chats -n 0",
        "log notes -n 0",
        "search weather -n 0",
        "memory list -n 0",
        "memory recall weather -n 0",
    ] {
        let ran = bench.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{line}");
        assert!(ran.err.contains("1 or more"), "{line}: {}", ran.err);
    }
}

/// An invalid command line is quoted on the terminal without control characters.
#[test]
fn what_was_typed_is_repeated_without_sequences() {
    let bench = Bench::new();
    let output =
        context(bench.path(), &["chats", "--\u{1b}]0;x\u{7}\u{202e}"]).output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains(r"\u202e") && !said.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{said:?}"
    );
}

/// The chats of Claude Code have the name of their folder, which begins with a hyphen for a slash.
/// Such a name was read as flags: `-h` of `-home` printed the help, with status 0.
#[test]
fn a_chat_whose_name_looks_like_flags_is_asked_for_behind_two_hyphens() {
    let bench = Bench::with_sample();
    for name in ["-home-ada-garden/e4c2", "-Users-ada-garden/e4c2"] {
        let ran = bench.run(&format!("log {name}"));
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.err.contains("a chat with such a name follows `--`"), "{ran:?}");
        let ran = bench.run(&format!("log -- {name}"));
        assert!(ran.err.contains("no such chat"), "{ran:?}");
    }
}

/// An editor that starts the server with a misspelt path sees no conversation, and its user looks
/// into its log.
#[test]
fn a_store_that_a_server_makes_is_told() {
    let bench = Bench::with_sample();
    assert_eq!(bench.run("mcp").err, "");
    let ran = bench.run("--store sqlite:misspelt.db mcp");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.err.contains("there was no store at sqlite:misspelt.db: it is a new one"),
        "{ran:?}"
    );
}
