//! A short run of every part, so that none of them rots.

use std::process::Command;

/// The parts that every run of the tests holds to; of the others it asks that they run and count.
const HOLD: [&str; 3] = ["kills", "disk", "wire"];

#[test]
fn every_part_runs_and_counts() {
    let torture = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_context-torture")).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = torture(&["--scale", "seconds", "--seed", "1", "--checks", "2"]);
    assert!(!said.contains("no worker") && !said.contains("fell over"), "{said}");
    for part in torture(&["--list"]).lines().filter_map(|line| line.split_whitespace().next()) {
        let ran = said.split(&format!("\n{part}: ")).nth(1).unwrap_or_else(|| panic!("{part}: {said}"));
        assert!(ran.contains(" passed, "), "{part}: {said}");
    }
    let held = HOLD.iter().flat_map(|part| ["--only", *part]).collect::<Vec<_>>();
    let held = torture(&[&["--scale", "seconds", "--seed", "1"], &held[..]].concat());
    let last = held.lines().last().unwrap_or_default();
    assert!(last.contains(" passed, 0 failed, "), "{held}");
}
