//! Each stumble of a first day with the command, so that nobody stumbles there again. Two more are
//! where their means are: minutes of silence in `terminal::long_work_is_shown_and_cleared`, and an
//! unknown outcome that looked like a success in
//! `unknown::a_run_shows_no_outcome_cost_or_cache_that_is_not_known`.

use std::fs;

use crate::harness::{Bench, on_a_terminal, shell_on_a_terminal};

/// Returns the standard error of a command that must fail with this status.
#[track_caller]
fn refused(bench: &Bench, line: &str, status: i32) -> String {
    let ran = bench.run(line);
    assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{line}: {}", ran.err);
    ran.err
}

/// The first thing people tried was to prepare what they had imported, and the default policies cut
/// a chat that fitted.
#[test]
fn a_healthy_chat_is_not_cut_on_the_first_run() {
    let bench = Bench::with_sample();
    let ran = bench.run("prepare notes --provider openai");
    assert_eq!(ran.status, 0);
    let body: serde_json::Value = serde_json::from_str(&ran.out).expect("a body");
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(17), "{}", ran.err);
    assert!(
        bench.ok("compact notes").contains("unchanged") || bench.records("log notes").len() == 17
    );
    assert_eq!(bench.records("prompt notes")[0]["messages"].as_array().map(Vec::len), Some(17));
}

/// One bad file once ended the import of a whole folder.
#[test]
fn a_bad_file_does_not_end_an_import() {
    let bench = Bench::new();
    bench.file("a.json", r#"[{"role": "user", "content": "one"}]"#);
    bench.file("b.json", "[{\"role\": \"user\",}]");
    bench.file("c.json", r#"[{"role": "user", "content": "two"}]"#);
    let ran = bench.run("import a.json b.json nowhere.json c.json");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("b.json") && ran.err.contains("nowhere.json"), "{}", ran.err);
    assert_eq!(bench.records("chats").len(), 2);
}

/// A model that is not in the table was once priced with zero.
#[test]
fn what_is_unknown_is_not_shown_as_a_success() {
    let bench = Bench::with_sample();
    let ran = bench.run("tokens notes --model of-a-friend");
    assert!(ran.err.contains("unknown"), "{}", ran.err);
    assert!(!ran.out.contains("$0") && !ran.out.contains("0.00"), "{}", ran.out);
}

/// `serve` was once answered with `erase`.
#[test]
fn a_wrong_word_is_answered_with_the_right_command() {
    let bench = Bench::new();
    for (word, meant) in [("list", "chats"), ("ls", "chats"), ("web", "ui"), ("server", "serve")] {
        let error = refused(&bench, word, 2);
        assert!(error.contains(&format!("did you mean `context {meant}`?")), "{error}");
    }
    for word in ["eras", "delet", "rm", "purge"] {
        let error = refused(&bench, word, 2);
        let meant = error.split("did you mean").nth(1).unwrap_or_default();
        assert!(
            !meant.contains("`context erase`") && !meant.contains("`context delete`"),
            "{error}"
        );
    }
}

#[test]
fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let bench = Bench::with_sample();
    bench.ok("checkpoint notes asked");
    for (line, meant) in [
        ("log nots", "notes"),
        ("show nots m1", "notes"),
        ("log notes --branch mian", "main"),
        ("restore notes askd", "asked"),
    ] {
        let error = refused(&bench, line, 1);
        assert!(error.contains(&format!("did you mean {meant}?")), "{line}: {error}");
    }
    let error = refused(&bench, "prepare notes --provider antropic", 2);
    assert!(error.contains("'anthropic'"), "{error}");
}

/// Help was wrapped by its author at 100 columns and by the terminal at 80: every second line
/// short.
#[test]
fn help_is_wrapped_once() {
    let bench = Bench::new();
    let Some((_, help)) = on_a_terminal(&bench, "import --help", "") else { return };
    let lines: Vec<_> = help.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("A file is a list")).expect("there");
    let (one, two) = (lines[first], lines[first + 1]);
    let next = two.split(' ').next().unwrap_or_default();
    assert!(one.len() <= 80 && one.len() + 1 + next.len() > 80, "{one}\n{two}");
}

/// One command replaced a file in silence, another refused, a third had no option.
#[test]
fn a_file_is_replaced_only_with_force_in_every_command() {
    let bench = Bench::with_sample();
    bench.ok("import notes.json --trajectory");
    for line in [
        "export notes --to openai --output f",
        "export notes --to md --output f",
        "export notes --to html --output f",
        "export notes --to jsonl --without rounds --output f",
        "prepare notes --provider openai --output f",
        "graph notes --format dot --output f",
        "trajectory export notes --format atif --output f",
        "trajectory graph notes --format mermaid --output f",
        "backup f",
    ] {
        fs::write(bench.path().join("f"), "mine").expect("written");
        let error = refused(&bench, line, 1);
        assert!(error.contains("f exists") && error.contains("--force"), "{line}: {error}");
        assert_eq!(fs::read(bench.path().join("f")).expect("there"), b"mine", "{line}");
        let ran = bench.run(&format!("{line} --force"));
        assert_eq!(ran.status, 0, "{line}: {}", ran.err);
        assert_ne!(fs::read(bench.path().join("f")).expect("there"), b"mine", "{line}");
    }
    let to_stdout = bench.ok("export notes --to openai --output -");
    assert_eq!(to_stdout, bench.ok("export notes --to openai"));
    assert!(!bench.path().join("-").exists());
}

/// A command that fails leaves no half of a file.
#[test]
fn a_failed_export_leaves_no_file() {
    let bench = Bench::with_sample();
    bench.file("f", "mine");
    refused(&bench, "export nothing --output g", 1);
    refused(&bench, "export nothing --output f --force", 1);
    assert!(!bench.path().join("g").exists());
    assert_eq!(fs::read(bench.path().join("f")).expect("there"), b"mine");
}

/// An empty listing answers no question, and looked as if there was nothing.
#[test]
fn a_limit_of_zero_is_refused_everywhere() {
    let bench = Bench::with_sample();
    for line in [
        "chats -n 0",
        "log notes -n 0",
        "graph notes -n 0",
        "search venue -n 0",
        "memory list -n 0",
    ] {
        assert!(refused(&bench, line, 2).contains("write 1 or more"), "{line}");
    }
}

/// A restored branch was once `try-v2-v2`, and the next one `try-v2-v2-v2`.
#[test]
fn names_of_branches_do_not_grow() {
    let bench = Bench::with_sample();
    bench.ok("fork notes --name try --switch");
    bench.ok("checkpoint notes here");
    for name in ["try-v2", "try-v3", "try-v4"] {
        assert_eq!(bench.records("restore notes here")[0]["branch"], name);
    }
}

/// A missing folder was once answered with `nothing was changed; try again`.
#[test]
fn a_missing_folder_is_named_and_not_to_be_tried_again() {
    let bench = Bench::with_sample();
    for line in [
        "--store sqlite:no/such/folder/chats.db import notes.json",
        "--store no/such/folder/chats.db chats",
        "import no/such/folder",
        "watch no/such/folder --once",
        "backup no/such/folder/new.db",
        "export notes --output no/such/folder/notes.json",
    ] {
        let error = refused(&bench, line, 1);
        assert!(
            error.contains("no/such/folder") && !error.contains("try again"),
            "{line}: {error}"
        );
    }
}

/// `--store chats.db` was once refused: only a URL was taken.
#[test]
fn a_store_is_named_by_its_file() {
    let bench = Bench::with_sample();
    let chats = bench.ok("chats --full-time");
    assert_eq!(bench.ok("--store context.db chats --full-time"), chats);
    assert_eq!(bench.ok("--store ./context.db chats --full-time"), chats);
    let error = refused(&bench, "--store mysql://here/chats chats", 1);
    assert!(error.contains("sqlite") && error.contains("postgres"), "{error}");
}

/// Everything was once an absolute time in UTC, in lines that were longer than the terminal.
#[test]
fn a_list_fits_the_terminal_and_tells_the_time_by_its_distance() {
    let bench = Bench::new();
    let long = "words that go on and on ".repeat(20);
    let file = format!(r#"[{{"role": "user", "content": "{long}"}}]"#);
    bench.file("a-name-that-is-longer-than-most-names-of-chats-are.json", file);
    bench.ok("import a-name-that-is-longer-than-most-names-of-chats-are.json");
    let Some((_, shown)) = on_a_terminal(&bench, "chats", "") else { return };
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("words that go on") && !shown.contains("T0"), "{shown}");
    let full = bench.ok("chats --full-time");
    assert!(full.trim_end().ends_with('Z') && full.contains(&long[..50]), "{full}");
}

/// Nothing said what `delete` would take with it, and it did not ask.
#[test]
fn what_removes_shows_it_first_and_asks() {
    let bench = Bench::with_sample();
    for line in ["delete notes", "redact notes m4", "erase local", "retain --keep 0"] {
        let shown = bench.run(&format!("{line} --dry-run"));
        assert!(
            shown.out.contains("nothing was changed") || line.contains("retain"),
            "{line}: {}",
            shown.out
        );
    }
    for line in ["delete notes", "redact notes m4", "erase local"] {
        assert!(refused(&bench, line, 2).contains("--yes"), "{line}");
    }
    assert_eq!(bench.records("log notes").len(), 17);
}

/// A command that read from the terminal looked as if it hung.
#[test]
fn what_reads_from_a_terminal_says_so() {
    let bench = Bench::new();
    for line in ["render", "import -", "prepare - --provider openai"] {
        let Some((_, shown)) = on_a_terminal(&bench, line, "[]\n\u{4}\u{4}") else { return };
        assert!(shown.contains("Ctrl-D"), "{line}: {shown}");
    }
}

/// A misspelt key of the configuration was once ignored.
#[test]
fn a_wrong_configuration_is_named_with_its_line() {
    let bench = Bench::with_sample();
    let file = bench.file("config.toml", "# mine\nstor = \"chats.db\"\n");
    let run = |line: &str| {
        let args: Vec<_> = line.split(' ').collect();
        let mut command = crate::harness::context(bench.path(), &args);
        let output = command.env("CONTEXT_CONFIG", &file).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, _, error) = run("chats");
    assert_eq!(status, Some(1));
    assert!(
        error.contains("config.toml") && error.contains("line 2") && error.contains("stor"),
        "{error}"
    );
    assert!(error.contains("did you mean store?"), "{error}");
    // What helps with it works.
    assert_eq!(run("config path").0, Some(0));
    fs::write(&file, "# mine\nstore = \"context.db\" # the usual one\n").expect("written");
    assert_eq!(run("chats").0, Some(0));
    assert_eq!(run("config set model of-a-friend").0, Some(0));
    assert_eq!(run("config set prices.of-a-friend input=1,output=2").0, Some(0));
    assert_ne!(run("config set color blue").0, Some(0));
    let (status, _, error) = run("config get colour");
    assert!(status == Some(1) && error.contains("did you mean color?"), "{error}");
    let (_, _, error) = run("config set theme dark");
    let known =
        "there are store, user, key_file, key_command, user_keys, model, color, pager, prices";
    assert!(error.contains(known), "{error}");
    let (_, tokens, error) = run("tokens notes");
    assert!(tokens.contains("of-a-friend") && tokens.contains("USD"), "{tokens}{error}");
    let text = fs::read_to_string(&file).expect("there");
    assert!(text.starts_with("# mine\nstore = \"context.db\" # the usual one\n"), "{text}");
    assert!(!text.contains("blue"), "{text}");
}

/// A list of what is in use is for the eyes of whoever stands by.
#[test]
fn a_password_is_not_listed() {
    let bench = Bench::new();
    let file = bench.file("config.toml", "");
    for line in ["config", "--json config", "doctor"] {
        let args: Vec<_> = line.split(' ').collect();
        let mut command = crate::harness::context(bench.path(), &args);
        command.env("CONTEXT_CONFIG", &file).env("CONTEXT_STORE", "other://ada:topsecret@here/d");
        let output = command.output().expect("it runs");
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8(shown).expect("text");
        assert!(shown.contains("other://") && !shown.contains("topsecret"), "{line}: {shown}");
    }
}

/// `--json` once wrote all fields or none.
#[test]
fn fields_are_selected_and_unknown_ones_are_refused() {
    let bench = Bench::with_sample();
    assert_eq!(bench.ok("chats --json=chat,messages"), "{\"chat\":\"notes\",\"messages\":17}\n");
    let error = refused(&bench, "chats --json=name", 2);
    assert!(error.contains("no field name") && error.contains("title"), "{error}");
}

/// Long text once ran off the screen.
#[test]
fn long_text_is_read_in_a_pager_on_a_terminal_only() {
    let bench = Bench::with_sample();
    let rows = |rows: u16, options: &str| {
        let program = env!("CARGO_BIN_EXE_context");
        let pager = "CONTEXT_PAGER='sed s/^/paged:/'";
        let line = format!("stty cols 80 rows {rows}; {pager} {program} {options} log notes");
        shell_on_a_terminal(&bench, &line, "").map(|(_, shown)| shown)
    };
    let Some(shown) = rows(10, "") else { return };
    assert_eq!(shown.lines().filter(|line| line.starts_with("paged:")).count(), 18, "{shown}");
    assert!(!rows(50, "").expect("a terminal").contains("paged:"));
    assert!(!rows(10, "--no-pager").expect("a terminal").contains("paged:"));
    assert!(!rows(10, "--json").expect("a terminal").contains("paged:"));
}
