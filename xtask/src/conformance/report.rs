//! The report of a test program: a line of JSON when a case begins, and one with its outcome.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A line of a report: the outcome of a case.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Line {
    /// The version of the suite.
    pub suite_version: u32,
    /// The tested subject.
    pub subject: String,
    /// The group of the case.
    pub group: String,
    /// The name of the case.
    pub case: String,
    /// The test that ran the case, where it is not a test of its own.
    #[serde(default)]
    pub test: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason for a skip or a failure.
    pub reason: Option<String>,
    /// The seed of random cases.
    pub seed: u64,
    /// The crate of the subject. Its test program does not know it.
    #[serde(skip)]
    pub krate: String,
    /// The source of the servers that the subject needs.
    #[serde(skip)]
    pub provision: String,
}

/// The outcome of a case.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The case has begun, and a later line has its outcome.
    Begin,
    /// The property holds.
    Pass,
    /// The subject does not claim the ability.
    Skip,
    /// The property does not hold.
    Fail,
}

impl Line {
    /// Whether another line is about the same run of the same case.
    fn continues(&self, other: &Self) -> bool {
        let names = |line: &Self| (line.subject.clone(), line.group.clone(), line.case.clone());
        names(self) == names(other) && self.test == other.test
    }
}

/// Reads a report file. Returns no lines if the program ended before it wrote one.
pub(crate) fn read(file: &Path) -> Result<Vec<Line>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    outcomes(&fs::read_to_string(file).context("could not read the report")?)
}

/// Returns the outcomes in a report. A case that only begins is one in which its program ended: a
/// failure.
pub fn outcomes(report: &str) -> Result<Vec<Line>> {
    let (mut begun, mut ended) = (Vec::<Line>::new(), Vec::new());
    for text in report.lines() {
        let line: Line = serde_json::from_str(text).with_context(|| {
            format!(
                "a report of another version of the kit, which this command cannot read: {text}"
            )
        })?;
        if line.outcome == Outcome::Begin {
            begun.push(line);
            continue;
        }
        if let Some(at) = begun.iter().position(|begin| begin.continues(&line)) {
            begun.remove(at);
        }
        ended.push(line);
    }
    let reason = "its program ended in this case: see its output above, for example of a stack \
                  that overflowed";
    let lost = |line| Line { outcome: Outcome::Fail, reason: Some(reason.to_owned()), ..line };
    ended.extend(begun.into_iter().map(lost));
    Ok(ended)
}
