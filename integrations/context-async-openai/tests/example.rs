//! The example is run, and what it prints is compared.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

#[test]
fn the_example_asks_with_the_types_of_async_openai() {
    // Cargo builds the examples of a package before its tests, beside their folder.
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples").join("openai_loop");
    let output = Command::new(example).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let expected = "\
sent: 2 messages to gpt-4o
sent: 4 messages to gpt-4o
The train leaves at 10:05.
stored: 4 messages
";
    assert_eq!(printed, expected);
}
