//! For every command: foreign files are left alone, reading changes nothing, and no write-ahead log
//! is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::command_table::{COMMANDS, Use};
use crate::harness::{Bench, CommandOutput, values};

/// Returns every file and folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("names are text");
            (name, fs::read(entry.path()).ok())
        })
        .collect()
}

/// A SQLite 3 file of another program, with a table that has the name of one of ours.
pub(crate) fn foreign_database() -> Vec<u8> {
    // Page 1 of 512 bytes: the header, and a schema leaf with one table whose root is page 2.
    let sql = b"CREATE TABLE chat(id)";
    let mut record: Vec<u8> = vec![6, 23, 21, 21, 1, 13 + 2 * sql.len() as u8];
    record.extend(b"tablechatchat\x02");
    record.extend(sql);
    let mut cell = vec![record.len() as u8, 1];
    cell.extend(&record);
    let mut page = vec![0; 512];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..24].copy_from_slice(&[2, 0, 1, 1, 0, 64, 32, 32]);
    page[24..32].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 2]);
    page[40..48].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 4]);
    page[56..60].copy_from_slice(&[0, 0, 0, 1]);
    page[92..100].copy_from_slice(&[0, 0, 0, 1, 0, 46, 0, 0]);
    let at = 512 - cell.len();
    let place = u16::try_from(at).expect("on the page").to_be_bytes();
    page[100..108].copy_from_slice(&[13, 0, 0, 0, 1, place[0], place[1], 0]);
    page[108..110].copy_from_slice(&place);
    page[at..].copy_from_slice(&cell);
    let mut leaf = vec![0; 512];
    leaf[..8].copy_from_slice(&[13, 0, 0, 0, 0, 2, 0, 0]);
    page.extend(leaf);
    page
}

pub(crate) fn uses_a_store() -> impl Iterator<Item = &'static (&'static str, Use, &'static str)> {
    COMMANDS.iter().filter(|(_, usage, _)| *usage != Use::None)
}

pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("notes.json", crate::harness::sample());
    bench.file(
        "runs.json",
        r#"{"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a",
        "version": "1"}, "steps": [{"step_id": 1, "source": "user", "message": "hi"}]}"#,
    );
    fs::create_dir(bench.path().join("elsewhere")).expect("a folder");
    bench
}

/// Runs a command line with `--json`. Returns its exit status, and the kind and message of its
/// error.
pub(crate) fn refusal(bench: &Bench, line: &str) -> (i32, String, String) {
    let CommandOutput { status, err, .. } = bench.run(&format!("--json {line}"));
    let record = err.lines().last().map(|line| values(line).remove(0)).unwrap_or_default();
    let error = &record["error"];
    (status, error["kind"].as_str().unwrap_or_default().to_owned(), error["message"].to_string())
}

#[test]
fn every_command_leaves_files_of_others_as_they_are() {
    let bench = bench();
    for (name, bytes, says) in [
        ("a database", foreign_database(), "SQLite database of another application"),
        ("an empty file", Vec::new(), "an empty file"),
        ("a text", b"my notes\n".to_vec(), "a text file"),
        ("other bytes", vec![7; 4096], "not a SQLite database"),
    ] {
        bench.file("context.db", bytes);
        let before = contents(bench.path());
        for (_, _, line) in uses_a_store() {
            let (status, kind, message) = refusal(&bench, line);
            assert_eq!((status, kind.as_str()), (1, "unsupported"), "{line} on {name}: {message}");
            assert!(message.contains(says) && message.contains("context.db"), "{line}: {message}");
            assert!(contents(bench.path()) == before, "`{line}` changed {name}");
        }
    }
    fs::remove_file(bench.path().join("context.db")).expect("it is there");
    fs::create_dir(bench.path().join("context.db")).expect("a folder");
    let before = contents(bench.path());
    for (_, _, line) in uses_a_store() {
        let (status, kind, message) = refusal(&bench, line);
        assert_eq!((status, kind.as_str()), (1, "invalid"), "{line}: {message}");
        assert!(contents(bench.path()) == before, "{line}");
    }
}

#[test]
fn a_store_that_is_not_there_is_made_only_to_put_something_into_it() {
    let bench = bench();
    let before = contents(bench.path());
    for (_, usage, line) in uses_a_store() {
        if *usage == Use::Makes {
            continue;
        }
        let (status, kind, message) = refusal(&bench, line);
        assert_eq!((status, kind.as_str()), (1, "not_found"), "{line}: {message}");
        assert!(contents(bench.path()) == before, "`{line}` made something");
    }
}

#[test]
fn looking_changes_nothing_and_no_command_leaves_a_log_behind() {
    let bench = bench();
    bench.ok("import notes.json");
    let whole = contents(bench.path());
    assert!(
        whole.contains_key("context.db") && !whole.keys().any(|name| name.contains("db-")),
        "{whole:?}"
    );
    for (_, usage, line) in uses_a_store() {
        let store = fs::read(bench.path().join("context.db")).expect("the store");
        let ran = bench.run(line);
        assert!(matches!(ran.status, 0 | 1), "{line}: {ran:?}");
        let now = contents(bench.path());
        assert_eq!(
            now.keys().collect::<Vec<_>>(),
            whole.keys().collect::<Vec<_>>(),
            "`{line}`: {ran:?}"
        );
        if *usage == Use::Looks {
            assert!(now["context.db"].as_deref() == Some(&store), "`{line}` only looks");
        }
    }
}

#[test]
fn a_store_of_an_older_version_is_looked_at_after_an_upgrade() {
    let bench = bench();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-store-sqlite/tests/old/v6.db");
    let old = fs::read(old).expect("an old file is in the repository");
    bench.file("context.db", &old);
    let (status, kind, message) = refusal(&bench, "chats --user ada");
    assert_eq!((status, kind.as_str()), (1, "unsupported"));
    assert!(message.contains("context upgrade"), "{message}");
    assert!(contents(bench.path())["context.db"].as_deref() == Some(&old));
    let upgraded = bench.records("upgrade").remove(0);
    assert_eq!(
        (&upgraded["status"], &upgraded["from"]),
        (&"upgraded".into(), &"6".into()),
        "{upgraded}"
    );
    assert_eq!(bench.records("chats --user ada").len(), 2);
    let again = bench.records("upgrade").remove(0);
    assert_eq!((&again["status"], &again["from"]), (&"unchanged".into(), &serde_json::Value::Null));
    assert!(!contents(bench.path()).keys().any(|name| name.contains("db-")));
}

#[test]
fn a_backup_may_be_named_by_the_url_of_a_file_and_of_nothing_else() {
    let bench = bench();
    bench.ok("import notes.json");
    bench.ok("backup sqlite:copy.db");
    assert_eq!(bench.records("--store sqlite:copy.db chats").len(), 1);
    for line in
        ["backup sqlite:x.db?create=true", "backup mem:", "backup postgres://u:hunter2@host/db"]
    {
        let ran = bench.run(line);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(!ran.err.contains("hunter2"));
    }
    assert!(!contents(bench.path()).keys().any(|name| name.contains(':')));
}

#[test]
fn a_secret_in_a_url_is_not_repeated() {
    let bench = bench();
    for url in ["sqlite:u:hunter2@host/x.db", "sqlite:x.db?key=hunter2", "sqlite:x.db?hunter2"] {
        for line in ["chats", "import notes.json", "copy notes other --to"] {
            let url =
                if line.ends_with("--to") { url.to_owned() } else { format!("--store {url}") };
            for json in ["", "--json "] {
                let ran = bench.run(&format!("{json}{line} {url}"));
                assert!(ran.status > 0 && !format!("{ran:?}").contains("hunter2"), "{ran:?}");
            }
        }
    }
}

/// No retry can succeed here, and no message suggests one.
#[cfg(unix)]
#[test]
fn a_file_without_permission_is_not_called_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    let bench = bench();
    bench.ok("import notes.json");
    fs::create_dir(bench.path().join("closed")).expect("a folder");
    fs::copy(bench.path().join("context.db"), bench.path().join("closed/context.db"))
        .expect("a copy");
    let mode = |name: &str, mode| {
        let path = bench.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let ran = |line: &str| {
        let args: Vec<_> = line.split(' ').collect();
        let mut command = crate::harness::context(bench.path(), &args);
        if rustix::process::geteuid().is_root() {
            // Root may read everything, so the command runs as another user.
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().expect("the executable runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    mode("", 0o755);
    mode("closed", 0o000);
    let (status, said) = ran("--store sqlite:closed/context.db chats");
    assert!(
        status == Some(1) && said.contains("cannot be inspected") && !said.contains("again"),
        "{said}"
    );
    mode("closed", 0o755);
    mode("context.db", 0o000);
    let (status, said) = ran("chats");
    assert!(
        status == Some(1) && said.contains("no permission to read") && !said.contains("again"),
        "{said}"
    );
    mode("context.db", 0o444);
    mode("", 0o555);
    assert_eq!(
        ran("chats"),
        (Some(0), String::new()),
        "neither the file nor its folder can be written to"
    );
    assert_eq!(ran("verify"), (Some(0), String::new()));
    let (status, said) = ran("delete notes --yes");
    assert!(
        status == Some(1) && said.contains("no permission to write") && !said.contains("again"),
        "{said}"
    );
    assert!(!contents(bench.path()).keys().any(|name| name.contains("db-")));
    mode("", 0o755);
}
