//! The result of a run, as data and as lines of JSON.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;

use serde::Serialize;

use crate::case::Case;
use crate::settings::report_file;
use crate::verdict::Verdict;

/// The version of the suite. Changes when a case is added or checks something else.
pub const SUITE_VERSION: u32 = 12;

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

/// A line of the report file: that a case begins, or its outcome.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    suite_version: u32,
    subject: &'a str,
    group: &'a str,
    case: &'a str,
    /// The test that runs the case, where it is not a test of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<&'a str>,
    outcome: &'a str,
    reason: Option<&'a str>,
    seed: u64,
}

impl<'a> Line<'a> {
    /// Describes the begin of a case. A report in which the outcome is missing tells in which case
    /// the program ended.
    pub(crate) fn begin(subject: &'a str, seed: u64, group: &'a str, case: &'a str) -> Self {
        let (outcome, reason) = ("begin", None);
        Self {
            suite_version: SUITE_VERSION,
            subject,
            group,
            case,
            test: None,
            outcome,
            reason,
            seed,
        }
    }

    /// Describes the end of the same case.
    pub(crate) fn end(self, verdict: &'a Verdict) -> Self {
        Self { outcome: verdict.as_str(), reason: verdict.reason(), ..self }
    }

    /// Names the test that runs the case.
    pub(crate) fn in_test(self, test: &'a str) -> Self {
        Self { test: Some(test), ..self }
    }

    /// Appends the line to the report file, if one is set, in one call, so that several processes
    /// can append to one file. An error on writing is ignored: without its lines, a report counts
    /// as failed.
    pub(crate) fn append(&self) {
        let Some(path) = report_file() else { return };
        let Ok(mut line) = serde_json::to_vec(self) else { return };
        line.push(b'\n');
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
            let _ = file.write_all(&line);
        }
    }
}
