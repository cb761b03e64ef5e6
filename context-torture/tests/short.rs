//! Checks that a short run of every part passes, so that none of them rots.

use std::process::Command;

#[test]
fn every_part_runs_and_holds() {
    let torture = |args: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_context-torture")).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = torture(&["--scale", "seconds", "--seed", "1"]);
    assert!(!said.contains("no worker") && !said.contains("fell over"), "{said}");
    for part in torture(&["--list"]).lines().filter_map(|line| line.split_whitespace().next()) {
        let output =
            said.split(&format!("\n{part}: ")).nth(1).unwrap_or_else(|| panic!("{part}: {said}"));
        let last = output.lines().find(|line| line.contains(" passed, ")).unwrap_or_default();
        assert!(last.contains(" passed, 0 failed, "), "{part}: {said}");
    }
}
