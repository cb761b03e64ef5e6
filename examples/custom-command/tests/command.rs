//! The command on a store that `context` itself does not know.

use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_custom-command"));
    command.current_dir(folder).args(line.split(' ')).env("CONTEXT_CONFIG", "");
    command.env("CONTEXT_STORE", "redb:chats.redb").env_remove("CONTEXT_USER");
    command.output().expect("it runs")
}

#[test]
fn commands_work_on_a_store_of_a_third_party() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ran = |line: &str| {
        let output = run(folder.path(), line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {error}");
        String::from_utf8(output.stdout).expect("text")
    };
    let missing = run(folder.path(), "chats");
    assert_eq!(missing.status.code(), Some(1));
    assert!(!folder.path().join("chats.redb").exists());
    let messages = r#"[{"role": "user", "content": "Two tickets to Lisbon, please."}]"#;
    std::fs::write(folder.path().join("trip.json"), messages).expect("written");
    ran("import trip.json");
    assert!(ran("chats").contains("Two tickets to Lisbon"));
    assert!(ran("fork trip --name rather-porto").contains("rather-porto"));
    assert!(ran("graph trip").contains("rather-porto"));
    assert!(ran("search lisbon").contains("trip"));
    ran("verify");
    ran("copy redb:chats.redb sqlite:chats.db");
    assert!(ran("--store chats.db chats").contains("Two tickets to Lisbon"));
}
