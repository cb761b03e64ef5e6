//! The results of the cases and their report.

use std::fmt;

pub(crate) type BoxError = Box<dyn std::error::Error>;

/// A case and its result.
pub(crate) struct Judged {
    pub(crate) id: String,
    pub(crate) outcome: Outcome,
}

/// The result of a case.
pub(crate) enum Outcome {
    /// Our result is correct, by this rule.
    Passed(String),
    /// Our result is not correct.
    Failed(Difference),
    /// The case needs something that is missing or cannot be expressed.
    Skipped(String),
}

/// Both values of a failed case, and the rule it failed.
pub(crate) struct Difference {
    rule: String,
    expected: String,
    ours: String,
}

impl Difference {
    pub(crate) fn new(
        rule: impl Into<String>,
        expected: impl fmt::Display,
        ours: impl fmt::Display,
    ) -> Self {
        Self { rule: rule.into(), expected: expected.to_string(), ours: ours.to_string() }
    }

    /// Returns the same difference, located at a step of the case.
    pub(crate) fn at(mut self, step: impl fmt::Display) -> Self {
        self.rule = format!("{} at {step}", self.rule);
        self
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  rule: {}", self.rule)?;
        for (title, value) in [("expected", &self.expected), ("ours", &self.ours)] {
            writeln!(f, "  {title}:")?;
            value.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}

impl Outcome {
    pub(crate) fn of(checked: Result<String, Difference>) -> Self {
        match checked {
            Ok(rule) => Self::Passed(rule),
            Err(difference) => Self::Failed(difference),
        }
    }
}

/// All cases of a file.
pub(crate) struct Report(Vec<Judged>);

impl Report {
    pub(crate) fn new(cases: Vec<Judged>) -> Self {
        Self(cases)
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.0.iter().filter(|case| is(&case.outcome)).count()
    }

    /// Prints failures with both values, the totals, and with `verbose` the judgement of every
    /// other case.
    pub(crate) fn print(&self, verbose: bool) {
        for Judged { id, outcome } in &self.0 {
            match outcome {
                Outcome::Failed(difference) => print!("FAILED {id}\n{difference}"),
                Outcome::Passed(rule) if verbose => println!("passed {id}: {rule}"),
                Outcome::Skipped(reason) if verbose => println!("skipped {id}: {reason}"),
                _ => {}
            }
        }
        let passed = self.count(|outcome| matches!(outcome, Outcome::Passed(_)));
        let skipped = self.0.len() - passed - self.failed();
        println!("{passed} passed, {} failed, {skipped} skipped", self.failed());
    }
}
