//! The outcome of a suite, and how it is printed.

use crate::process::Verdict;

/// What the tests of a suite said.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The number of tests that passed.
    pub(super) passed: usize,
    /// The names of those that failed. The suite has printed why.
    pub(super) failed: Vec<String>,
    /// The names of those that did not run, each with its reason.
    pub(super) skipped: Vec<(String, String)>,
}

impl Outcome {
    /// Prints the tests that failed and were skipped, and the counts on the last line. A suite of
    /// which no test ran has not passed.
    pub(super) fn print(&self) -> Verdict {
        for (test, reason) in &self.skipped {
            println!("skipped: {test}: {reason}");
        }
        for test in &self.failed {
            println!("failed: {test}");
        }
        let Self { passed, failed, skipped } = self;
        println!("{passed} passed, {} failed, {} skipped", failed.len(), skipped.len());
        Verdict::of(failed.is_empty() && *passed > 0)
    }
}
