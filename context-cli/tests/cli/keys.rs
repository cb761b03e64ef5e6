//! Encrypted stores: keys from a file, a command, the environment and the configuration, and a key
//! for each user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{Bench, context};

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

fn private(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("trip.json", r#"[{"role":"user","content":"quetzalcoatlus"}]"#);
    private(&bench.file("key", format!("k1 {KEY}\n")), 0o600);
    bench
}

#[test]
fn a_store_is_written_and_read_with_the_keys_of_a_file_or_a_command() {
    let bench = bench();
    bench.ok("--key-file key import trip.json --chat trip");
    assert!(bench.ok("--key-file key log trip").contains("quetzalcoatlus"));
    let bytes = fs::read(bench.path().join("context.db")).expect("the store is there");
    assert!(!bytes.windows(14).any(|window| window == b"quetzalcoatlus"));
    let without = bench.run("log trip");
    assert!(without.status == 1 && !without.out.contains("quetzal"), "{}", without.out);
    let args = ["--key-command", "cat key", "log", "trip"];
    let output = context(bench.path(), &args).output().expect("the executable runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("quetzalcoatlus"), "{output:?}");
    for variable in [("CONTEXT_KEY_FILE", "key"), ("CONTEXT_KEY_COMMAND", "cat key")] {
        let output = context(bench.path(), &["log", "trip"]).env(variable.0, variable.1).output();
        let output = output.expect("the executable runs");
        assert!(String::from_utf8_lossy(&output.stdout).contains("quetzal"), "{output:?}");
    }
}

/// Wherever something is wrong with a key, what is written says so, and never the key.
#[test]
fn no_error_and_no_check_shows_a_key() {
    let bench = bench();
    bench.ok("--key-file key import trip.json --chat trip");
    private(&bench.file("open", format!("k1 {KEY}\n")), 0o644);
    private(&bench.file("short", format!("k1 {}\n", &KEY[1..])), 0o600);
    private(&bench.file("other", format!("k1 {OTHER}\n")), 0o600);
    for (line, status, says) in [
        ("--key-file open chats", 1, "mode is 644"),
        ("--key-file short chats", 1, "64 hexadecimal digits"),
        ("--key-file nowhere chats", 1, "cannot be read"),
        ("--key-file other log trip", 1, "cannot be decrypted"),
        ("--key-command false chats", 1, "command for the key failed"),
        ("--key-file key --key-command false chats", 2, "name one of them"),
        ("--user-keys users chats", 2, "--key-file"),
        ("--key-file open doctor", 1, "mode is 644"),
        ("--key-file key doctor", 0, ""),
        ("--key-file key verify", 0, "sound"),
        ("--key-file other verify", 1, "broken"),
    ] {
        let ran = bench.run(line);
        let shown = format!("{}{}", ran.out, ran.err);
        assert_eq!(ran.status, status, "{line}: {shown}");
        assert!(shown.contains(says), "{line}: {shown}");
        assert!(![KEY, OTHER].iter().any(|key| shown.contains(&key[1..40])), "{line}: {shown}");
    }
}

/// A file of keys is a setting like others, which the command line overrides.
#[test]
fn a_file_of_keys_can_be_a_setting() {
    let bench = bench();
    private(&bench.file("other", format!("k1 {OTHER}\n")), 0o600);
    let file = bench.file("config.toml", "key_file = \"key\"\n");
    let run = |line: &str| {
        let args: Vec<_> = line.split(' ').collect();
        let output = context(bench.path(), &args).env("CONTEXT_CONFIG", &file).output();
        let output = output.expect("the executable runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    assert_eq!(run("import trip.json --chat trip").0, Some(0));
    assert!(run("log trip").1.contains("quetzalcoatlus"));
    assert!(bench.ok("--key-file key log trip").contains("quetzalcoatlus"));
    assert_eq!(run("--key-file other log trip").0, Some(1));
    let (status, list) = run("config list");
    let line = list.lines().find(|line| line.starts_with("key_file ")).unwrap_or_default();
    assert!(status == Some(0) && line.contains("key ") && line.contains("file"), "{list}");
}

/// The backup was made before the erasure, and holds rows that nobody can read any more.
#[test]
fn an_erased_user_is_unreadable_in_an_earlier_backup() {
    let bench = bench();
    let keyed = "--key-file key --user-keys users";
    for user in ["ada", "bob"] {
        bench.ok(&format!("{keyed} --user {user} import trip.json --chat trip"));
    }
    let backup = bench.run(&format!("{keyed} backup backup.db"));
    assert_eq!(backup.status, 0, "{}", backup.err);
    let erased = bench.run(&format!("{keyed} erase ada --yes"));
    assert_eq!(erased.status, 0, "{}", erased.err);
    let of = |user: &str| bench.run(&format!("{keyed} --store backup.db --user {user} log trip"));
    let (ada, bob) = (of("ada"), of("bob"));
    assert!(ada.status == 1 && !ada.out.contains("quetzal"), "{ada:?}");
    assert!(bob.status == 0 && bob.out.contains("quetzalcoatlus"), "{bob:?}");
}
