//! Our programs over the clients that others wrote or generated. They report as Rust's tests do.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::outcome::Outcome;
use super::rust_tests::{Said, said};

/// Runs a program and counts the tests whose names contain a text. A program that ends early is an
/// error.
pub(super) fn run(command: &mut Command, pattern: Option<&str>) -> Result<Outcome> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("{name} could not be run"))?;
    let mut outcome = Outcome::default();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line?;
        println!("{line}");
        let Some((test, said)) = said(&line) else { continue };
        if pattern.is_some_and(|pattern| !test.contains(pattern)) {
            continue;
        }
        match said {
            Said::Passed => outcome.passed += 1,
            Said::Failed => outcome.failed.push(test.to_owned()),
            Said::Ignored => outcome.skipped.push((test.to_owned(), "it says so".to_owned())),
        }
    }
    ensure!(child.wait()?.success(), "{name} ended early");
    Ok(outcome)
}
