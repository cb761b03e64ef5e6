//! The result of a run, as data and as lines of JSON.

use std::{fmt, io};

use serde::Serialize;

use crate::case::Case;
use crate::verdict::Verdict;

/// The version of the suite. Changes when a case is added or checks something else.
pub const SUITE_VERSION: u32 = 9;

/// The outcome of all cases.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// The name of the tested store.
    pub subject: String,
    /// The seed of the random cases.
    pub seed: u64,
    /// All cases, in the order of the table.
    pub results: Vec<CaseResult>,
}

/// The outcome of one case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaseResult {
    /// The case.
    pub case: &'static Case,
    /// The outcome.
    pub verdict: Verdict,
}

impl Report {
    /// Returns the cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| matches!(result.verdict, Verdict::Fail(_)))
    }

    /// Returns the cases that were skipped.
    pub fn skips(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| matches!(result.verdict, Verdict::Skip(_)))
    }

    /// Whether no case failed.
    pub fn conforms(&self) -> bool {
        self.failures().next().is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, skipped) = (self.failures().count(), self.skips().count());
        let passed = self.results.len() - failed - skipped;
        write!(f, "{}: {passed} passed, {skipped} skipped, {failed} failed", self.subject)?;
        write!(f, " (store suite v{SUITE_VERSION}, seed {:#x})", self.seed)?;
        for result in self.failures().chain(self.skips()) {
            let reason = result.verdict.reason().unwrap_or_default();
            write!(f, "\n{} {}: {reason}", result.verdict.as_str(), result.case)?;
        }
        Ok(())
    }
}

/// A line of the report file.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    suite_version: u32,
    subject: &'a str,
    group: &'a str,
    case: &'a str,
    outcome: &'a str,
    reason: Option<&'a str>,
    seed: u64,
}

impl<'a> Line<'a> {
    pub(crate) fn new(subject: &'a str, seed: u64, case: &'a Case, verdict: &'a Verdict) -> Self {
        Self {
            suite_version: SUITE_VERSION,
            subject,
            group: case.group,
            case: case.name,
            outcome: verdict.as_str(),
            reason: verdict.reason(),
            seed,
        }
    }

    /// Describes the outcome of a check of another suite.
    pub(crate) fn of_suite(
        suite: &'a str,
        subject: &'a str,
        case: &'a str,
        outcome: &'a str,
        reason: Option<&'a str>,
        seed: u64,
    ) -> Self {
        Self { suite_version: SUITE_VERSION, subject, group: suite, case, outcome, reason, seed }
    }

    /// Writes the line in one call, so that several processes can append to one file.
    pub(crate) fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }
}
