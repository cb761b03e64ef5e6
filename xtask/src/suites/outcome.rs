//! The outcome of a suite, and how it is printed.

use crate::process::Verdict;

/// The results of the tests of a suite.
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
    /// Adds the outcome of a part of the suite.
    pub(super) fn add(&mut self, part: &str, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed.into_iter().map(|test| format!("{test} on {part}")));
        let skipped = other.skipped.into_iter();
        self.skipped.extend(skipped.map(|(test, reason)| (format!("{test} on {part}"), reason)));
    }

    /// Adds the outcome of tests whose names say what they are part of.
    pub(super) fn append(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

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
