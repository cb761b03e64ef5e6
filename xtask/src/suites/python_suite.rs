//! The parts that the suites of Python systems share: an environment with our package, and the
//! outcomes of tests as lines of JSON.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Outcome, Run};
use crate::python::environment::{Environment, Python, package, run};

/// A suite that runs in an environment of its own.
pub(super) struct PythonSuite {
    pub(super) environment: Environment,
    /// The folder of the suite.
    pub(super) folder: PathBuf,
    /// The folder of the programs that hand our classes to suites.
    programs: PathBuf,
    report: PathBuf,
}

/// A line of the report.
#[derive(Deserialize)]
struct Line {
    test: String,
    outcome: String,
    reason: String,
}

impl PythonSuite {
    /// Makes the environment of a suite, with these packages and ours.
    pub(super) fn prepare(suite: &Run<'_>, name: &str, packages: &[&str]) -> Result<Self> {
        let python = Python::find().context("the suite needs Python 3.10 or newer")?;
        let folder = suite.folder.join(name);
        let environment = Environment::at(&python, &folder)?;
        environment.install(packages)?;
        environment.install_package(suite.workspace, &[])?;
        let report = folder.join("report.jsonl");
        if report.exists() {
            fs::remove_file(&report)?;
        }
        let programs = package(suite.workspace).join("suites");
        Ok(Self { environment, folder, programs, report })
    }

    /// Returns a call of Python that finds our programs and reports.
    pub(super) fn python(&self) -> Command {
        let mut python = self.environment.python();
        python.env("PYTHONPATH", &self.programs).env("CONTEXT_SUITE_REPORT", &self.report);
        python
    }

    /// Returns the path of one of our programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Runs the suite and reads the outcomes. Its exit status is that of its failed tests, which
    /// are among the outcomes.
    pub(super) fn outcome(&self, suite: Command) -> Result<Outcome> {
        let _status = run(suite)?;
        let text = fs::read_to_string(&self.report).context("the suite reported no test")?;
        outcome_of(&text)
    }
}

/// Reads the outcomes of a report.
fn outcome_of(report: &str) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for line in report.lines() {
        let Line { test, outcome: said, reason } = serde_json::from_str(line)?;
        match said.as_str() {
            "passed" => outcome.passed += 1,
            "skipped" => outcome.skipped.push((test, reason)),
            _ => outcome.failed.push(test),
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::outcome_of;

    #[test]
    fn outcomes_are_counted_and_an_unknown_one_has_failed() {
        let report = [
            r#"{"test": "a", "outcome": "passed", "reason": ""}"#,
            r#"{"test": "b", "outcome": "skipped", "reason": "needs a table"}"#,
            r#"{"test": "c", "outcome": "failed", "reason": ""}"#,
            r#"{"test": "d", "outcome": "crashed", "reason": ""}"#,
        ];
        let outcome = outcome_of(&report.join("\n")).expect("a report");
        assert_eq!(outcome.passed, 1);
        assert_eq!(outcome.skipped, [("b".to_owned(), "needs a table".to_owned())]);
        assert_eq!(outcome.failed, ["c", "d"]);
        assert!(outcome_of("not a line").is_err());
    }
}
