//! The example is run, and what it prints is compared.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

#[test]
fn the_example_books_searches_and_goes_back() {
    // Cargo builds the examples of a package before its tests, beside their folder.
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples").join("adk_agent");
    let output = Command::new(example).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let expected = "\
agent: Booked: two window seats
agent: Booked: two aisle seats
found: 1 message
after the rewind: 2 events
the user's state stays: Some(String(\"two aisle seats\"))
branches: 2
";
    assert_eq!(printed, expected);
}
