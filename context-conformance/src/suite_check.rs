//! The cases of the suites that run in ordinary tests: renderers, codecs, policies, memories.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::report::Line;
use crate::run::panic_text;
use crate::settings::{CaseSettings, is_selected};
use crate::verdict::{Check, Stop, Verdict};

/// A run of a suite, or of a part of one, for one implementation. A case that fails does not keep
/// the next ones from running.
pub(crate) struct SuiteCheck {
    suite: &'static str,
    subject: String,
    test: String,
    seed: u64,
    failures: Vec<String>,
}

impl SuiteCheck {
    /// Begins a run of a suite for the implementation with this name.
    pub(crate) fn new(suite: &'static str, subject: &str) -> Self {
        Self {
            suite,
            subject: subject.to_owned(),
            test: thread::current().name().unwrap_or("main").to_owned(),
            seed: CaseSettings::from_env().seed,
            failures: Vec::new(),
        }
    }

    /// Runs a case, if it is selected. A panic is a failure.
    pub(crate) fn case(&mut self, name: &str, check: impl FnOnce() -> Check) {
        if !self.begin(name) {
            return;
        }
        let panicked = |panic: Box<dyn std::any::Any + Send>| {
            Err(Stop::Fail(format!("panicked: {}", panic_text(&*panic))))
        };
        let checked = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(panicked).into();
        if let Verdict::Fail(text) = &checked {
            self.failures.push(text.clone());
        }
        self.end(name, &checked);
    }

    /// Whether a case is selected. Its report then begins.
    pub(crate) fn begin(&self, name: &str) -> bool {
        let selected = is_selected(self.suite, name);
        if selected {
            self.line(name).append();
        }
        selected
    }

    /// Reports the outcome of a case that was begun.
    pub(crate) fn end(&self, name: &str, verdict: &Verdict) {
        self.line(name).end(verdict).append();
    }

    fn line<'a>(&'a self, name: &'a str) -> Line<'a> {
        Line::begin(&self.subject, self.seed, self.suite, name).in_test(&self.test)
    }

    /// Panics with all failures of [`case`](Self::case), if there are any.
    pub(crate) fn finish(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n\n"));
    }
}
