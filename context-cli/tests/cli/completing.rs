//! Candidates that a shell is offered at Tab, on stores as they are.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Bench, context};

/// Returns what the executable writes when a shell asks. `words` are what is behind `--`.
#[track_caller]
fn asked(bench: &Bench, shell: &str, index: usize, words: &[&str]) -> String {
    let args = [&["--"], words].concat();
    let mut command = context(bench.path(), &args);
    command.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", index.to_string());
    let output = command.env("_CLAP_IFS", "\n").output().expect("the executable runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    String::from_utf8(output.stdout).expect("candidates are text")
}

/// Returns the candidates at the end of a line, without options.
#[track_caller]
fn fish(bench: &Bench, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let shown = asked(bench, "fish", 0, &words);
    let values = shown.lines().map(|line| line.split('\t').next().unwrap_or_default());
    values.filter(|value| !value.starts_with('-')).map(str::to_owned).collect()
}

/// Imports a conversation under a name, which may have spaces.
fn import(bench: &Bench, name: &str) {
    let file = bench.file("one.json", json!([{"role": "user", "content": "hello"}]).to_string());
    let output = context(bench.path(), &["import", &format!("--chat={name}")]).arg(file).output();
    assert!(output.expect("the executable runs").status.success(), "{name}");
}

/// Completes a line in a real bash, with the script of the executable.
fn bash(bench: &Bench, line: &str) -> Vec<String> {
    const DRIVER: &str = r#"
        eval "$(context completions bash)"
        COMP_LINE=$1 COMP_POINT=${#1}
        _context_complete context
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let folder = Path::new(env!("CARGO_BIN_EXE_context")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", DRIVER, "bash", line]).env("PATH", path);
    let command = command.current_dir(bench.path()).env_remove("CONTEXT_STORE");
    let Output { stdout, stderr, .. } = command.output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&stderr), "", "{line}");
    let shown = String::from_utf8(stdout).expect("candidates are text");
    shown.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// A store with chats, branches and a checkpoint.
fn bench() -> Bench {
    let bench = Bench::with_sample();
    for line in ["checkpoint notes paid", "fork notes --at m2 --name second", "copy notes other"] {
        bench.ok(line);
    }
    bench
}

#[test]
fn names_come_from_the_store() {
    let bench = bench();
    assert_eq!(fish(&bench, "context log "), ["other", "notes"]);
    assert_eq!(fish(&bench, "context log no"), ["notes"]);
    for command in ["show", "graph", "prompt", "export", "delete", "trajectory record"] {
        assert_eq!(fish(&bench, &format!("context {command} n")), ["notes"], "{command}");
    }
    assert_eq!(fish(&bench, "context log notes --branch "), ["main", "second"]);
    let before = asked(&bench, "zsh", 3, &["context", "log", "--branch", "s", "notes"]);
    assert_eq!(before, "second", "the chat may follow");
    assert_eq!(fish(&bench, "context diff notes main "), ["main", "second"]);
    assert_eq!(fish(&bench, "context restore notes "), ["paid"]);
    assert_eq!(fish(&bench, "context rewind notes m1").first().map(String::as_str), Some("m17"));
    assert_eq!(fish(&bench, "context erase "), ["local"]);
    assert_eq!(
        fish(&bench, "context tokens notes --model claude-sonnet-4-5"),
        ["claude-sonnet-4-5"]
    );
    assert_eq!(fish(&bench, "context prepare notes --provider op"), ["openai", "openai-responses"]);
    assert_eq!(fish(&bench, "context prepare no"), ["notes", "notes.json"]);
    assert_eq!(fish(&bench, "context --store sqlite:cont"), ["sqlite:context.db"]);
    assert_eq!(fish(&bench, "context --store sqlite:other.db log "), [""; 0]);
    assert_eq!(fish(&bench, "context --user ada log "), [""; 0]);
}

#[test]
fn each_shell_gets_its_form() {
    let bench = bench();
    let fish = asked(&bench, "fish", 0, &["context", "show", "notes", "m1"]);
    let (id, help) = fish.lines().last().and_then(|line| line.split_once('\t')).expect("a help");
    assert!(id == "m1" && help.starts_with("system: "), "{fish}");
    let zsh = asked(&bench, "zsh", 3, &["context", "show", "'notes'"]);
    assert!(zsh.lines().any(|line| line.starts_with("m2:user: ")), "{zsh}");
    for shell in ["elvish", "powershell"] {
        assert!(asked(&bench, shell, 2, &["context", "log", "no"]).starts_with("notes"), "{shell}");
    }
    let line = |line| asked(&bench, "bash", 0, &[line, ":="]);
    assert_eq!(line("context --store=sqlite:context.db log no"), "notes\n");
    assert_eq!(line("context --store=sqlite:con"), "context.db\n");
    let before = asked(&bench, "bash", 0, &["context log --branch s", ":=", " notes"]);
    assert_eq!(before, "second\n", "the chat may follow");
}

#[test]
fn a_name_is_written_so_that_it_means_itself_or_is_left_out() {
    let bench = Bench::new();
    for name in ["my $(rm x) chat", "my:own", "my\u{1b}[2J", "-my", "it's"] {
        import(&bench, name);
    }
    assert_eq!(bash(&bench, "context log my"), ["my:own", r"my\ \$\(rm\ x\)\ chat"]);
    assert_eq!(bash(&bench, "context log my:"), ["own"]);
    assert_eq!(bash(&bench, "context log 'my "), ["my $(rm x) chat"]);
    assert_eq!(bash(&bench, "context log it"), [r"it\'s"]);
    assert_eq!(bash(&bench, "context log -- -m"), ["-my"]);
    assert!(!bash(&bench, "context log -").contains(&"-my".to_owned()), "it would be an option");
    assert_eq!(fish(&bench, "context log m"), ["my:own", "my $(rm x) chat"]);
    let zsh = asked(&bench, "zsh", 2, &["context", "log", r"my\ "]);
    assert!(zsh.starts_with("my $(rm x) chat:"), "{zsh}");
    assert!(asked(&bench, "zsh", 2, &["context", "log", "my"]).starts_with(r"my\:own:"));
    let powershell = asked(&bench, "powershell", 2, &["context", "log", "m"]);
    assert!(powershell.starts_with("my:own\t") && powershell.lines().count() == 1, "{powershell}");
}

#[test]
fn a_real_bash_completes_with_the_script() {
    let bench = bench();
    assert_eq!(bash(&bench, "context log no"), ["notes"]);
    assert_eq!(bash(&bench, "context log notes --branch=s"), ["second"]);
    assert_eq!(bash(&bench, "context lo"), ["log"]);
    let script = context(bench.path(), &[]).env("COMPLETE", "bash").output().expect("it runs");
    let script = String::from_utf8(script.stdout).expect("a script");
    assert_eq!(
        script.replace(env!("CARGO_BIN_EXE_context"), "context"),
        bench.ok("completions bash")
    );
}

#[test]
fn a_store_that_does_not_answer_gives_no_candidates_and_no_noise() {
    let bench = Bench::new();
    bench.file("text.db", "not a database");
    let before = std::fs::read_dir(bench.path()).expect("a folder").count();
    // A server that takes the connection and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let urls = [
        "sqlite:missing.db".to_owned(),
        "sqlite:text.db".to_owned(),
        "mem:".to_owned(),
        "nonsense".to_owned(),
        format!("redis://127.0.0.1:{port}/"),
        format!("postgres://ada@127.0.0.1:{port}/chats"),
        "redis://127.0.0.1:1/".to_owned(),
    ];
    for url in urls {
        let started = Instant::now();
        assert_eq!(fish(&bench, &format!("context --store {url} log ")), [""; 0], "{url}");
        assert!(started.elapsed() < Duration::from_secs(5), "{url}");
    }
    let after = std::fs::read_dir(bench.path()).expect("a folder").count();
    assert_eq!(after, before, "nothing is created");
    let unknown = context(bench.path(), &[]).env("COMPLETE", "tcsh").output().expect("it runs");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("unknown shell `tcsh`"));
    assert_eq!(unknown.status.code(), Some(2));
}

/// Offers few of many names, so that the answer is there at once.
#[test]
#[ignore = "takes a minute; cargo xtask ci --long runs it"]
fn large_of_100_000_chats_some_are_offered() {
    let bench = Bench::new();
    let chat = |n| json!({"messages": [{"role": "user", "content": format!("question {n}")}]});
    let lines: Vec<String> = (0..100_000).map(|n| chat(n).to_string()).collect();
    bench.file("many.jsonl", lines.join("\n"));
    // It tells how far it is, so that standard error is not empty.
    let import = context(bench.path(), &["import", "many.jsonl"]).output();
    assert!(import.expect("the executable runs").status.success());
    for (line, offered) in [("context log ", 200), ("context log many", 200), ("context log z", 0)]
    {
        let names = fish(&bench, line);
        assert_eq!(names.len(), offered, "{line}: {names:?}");
        assert!(names.iter().all(|name| name.starts_with("many")), "{line}: {names:?}");
    }
}
