//! The report of suites that are asked from ordinary tests: renderers, codecs, policies, memories.

use std::fs::OpenOptions;
use std::{env, thread};

use crate::report::Line;
use crate::settings::{Settings, report_file};

/// A question to an implementor, reported when it goes out of scope: failed if a panic ends it. The
/// case is the name of the test that asks, since one implementor may be asked in several
/// configurations.
pub(crate) struct Question {
    suite: &'static str,
    subject: String,
    what: &'static str,
}

impl Question {
    /// A question of a suite to an implementor of this name.
    pub(crate) fn new(suite: &'static str, subject: &str, what: &'static str) -> Self {
        Self { suite, subject: subject.to_owned(), what }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let (outcome, reason) = match thread::panicking() {
            true => ("fail", Some("the test says why")),
            false => ("pass", None),
        };
        answer(self.suite, &self.subject, self.what, outcome, reason);
    }
}

/// Appends an answer to the report, if there is to be one. A report that cannot be written fails no
/// test: who reads it finds nothing.
pub(crate) fn answer(suite: &str, subject: &str, what: &str, outcome: &str, reason: Option<&str>) {
    let Some(path) = report_file() else { return };
    let test = thread::current().name().unwrap_or("main").to_owned();
    let case = format!("{test}: {what}");
    let seed = Settings::from_env().seed;
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = Line::of_suite(suite, subject, &case, outcome, reason, seed).write(&mut file);
    }
}

/// The name of an implementor that has none: the package whose tests run.
pub(crate) fn package() -> String {
    env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "memory".to_owned())
}
