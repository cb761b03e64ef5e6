//! Report lines of the suites that run in ordinary tests: renderers, codecs, policies, memories.

use std::fs::OpenOptions;
use std::{env, thread};

use crate::report::Line;
use crate::settings::{CaseSettings, report_file};

/// A check of an implementation, reported when it goes out of scope: as failed if the thread
/// panics, as passed otherwise. The case in the report has the name of the running test, since one
/// implementation may be checked in several configurations.
pub(crate) struct SuiteCheck {
    suite: &'static str,
    subject: String,
    property: &'static str,
}

impl SuiteCheck {
    /// Begins a check of a suite for the implementation with this name.
    pub(crate) fn new(suite: &'static str, subject: &str, property: &'static str) -> Self {
        Self { suite, subject: subject.to_owned(), property }
    }
}

impl Drop for SuiteCheck {
    fn drop(&mut self) {
        let (outcome, reason) = match thread::panicking() {
            true => ("fail", Some("the test says why")),
            false => ("pass", None),
        };
        answer(self.suite, &self.subject, self.property, outcome, reason);
    }
}

/// Appends an outcome to the report file, if one is set. An error on writing is ignored: it only
/// leaves the line out.
pub(crate) fn answer(
    suite: &str,
    subject: &str,
    property: &str,
    outcome: &str,
    reason: Option<&str>,
) {
    let Some(path) = report_file() else { return };
    let test = thread::current().name().unwrap_or("main").to_owned();
    let case = format!("{test}: {property}");
    let seed = CaseSettings::from_env().seed;
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = Line::of_suite(suite, subject, &case, outcome, reason, seed).write(&mut file);
    }
}

/// Returns the package whose tests run, as the name of an implementation without one.
pub(crate) fn package() -> String {
    env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "memory".to_owned())
}
