//! The example is run, and what it prints is compared.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

#[test]
fn the_example_remembers_searches_and_goes_back() {
    // Cargo builds the examples of a package before its tests, beside their folder.
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples").join("rig_agent");
    let output = Command::new(example).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let expected = "\
ada: Two tickets to Lisbon.
agent: Window or aisle?
ada: Window, please.
agent: Booked: two window seats.
found: 1 message
back on: main-v2
ada: Aisle!
agent: Booked: two aisle seats.
messages in each request: [1, 3, 3]
";
    assert_eq!(printed, expected);
}
