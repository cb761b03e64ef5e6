//! The check of the suite itself: it must catch stores with a known fault.

use anyhow::Result;

use super::Args;
use crate::process::{Cargo, Verdict};
use crate::workspace::{KIT, Workspace};

/// The test program with the mutants.
const PROGRAM: &str = "kit_catches_mutants";

/// Whether a workspace is the one of the suite.
pub(super) fn are_in(workspace: &Workspace) -> bool {
    workspace.has_target(KIT, "test", PROGRAM)
}

/// Runs one test per mutant.
pub(super) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let cargo =
        Cargo::new(workspace.root(), "test").env_if("CONTEXT_CONFORMANCE_SEED", args.seed.as_ref());
    let output = cargo.args(["--package", KIT, "--test", PROGRAM]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (caught, escaped) = count(&text);
    println!("\nmutants: {} of {} caught", caught, caught + escaped.len());
    for name in &escaped {
        println!("ESCAPED {name}");
    }
    if !output.status.success() && escaped.is_empty() {
        print!("{text}");
    }
    Ok(Verdict::of(output.status.success()))
}

/// Counts the caught mutants in the output of the tests, and returns the names of the others. The
/// test of a mutant has the name of its fault, which is a type. The other tests of that program
/// check the suite itself.
fn count(output: &str) -> (usize, Vec<String>) {
    let tests = output.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let tests = tests.filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let (mut caught, mut escaped) = (0, Vec::new());
    for (name, result) in tests {
        match result.trim() {
            "ok" => caught += 1,
            "FAILED" => escaped.push(name.trim().to_string()),
            _ => {}
        }
    }
    (caught, escaped)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn mutants_are_counted_by_test() {
        let output = "running 3 tests\ntest ShowsStale ... ok\ntest Leaks ... FAILED\ntest Truncates       ... ok\n\
                      test a_sound_store_passes ... ok\n\ntest result: FAILED. 3 passed";
        assert_eq!(count(output), (2, vec!["Leaks".to_string()]));
    }
}
