//! The results of checks.

use std::fmt;

/// The maximum number of failures that are printed per part.
const SHOWN: usize = 20;

/// The results of the checks of a part.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of passed checks.
    pub passed: u64,
    /// The failures, as texts.
    pub failed: Vec<String>,
    /// The reasons for skipped checks.
    pub skipped: Vec<String>,
}

impl Tally {
    /// Counts a check. An error is a failure.
    pub fn count(&mut self, name: impl fmt::Display, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed.push(format!("{name}: {why}")),
        }
    }

    /// Records a skipped check with its reason.
    pub fn skip(&mut self, why: impl Into<String>) {
        self.skipped.push(why.into());
    }

    /// Adds other results.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for why in self.failed.iter().take(SHOWN) {
            writeln!(f, "  FAILED {why}")?;
        }
        if self.failed.len() > SHOWN {
            writeln!(f, "  and {} more failures", self.failed.len() - SHOWN)?;
        }
        for why in &self.skipped {
            writeln!(f, "  skipped {why}")?;
        }
        let (failed, skipped) = (self.failed.len(), self.skipped.len());
        write!(f, "{} passed, {failed} failed, {skipped} skipped", self.passed)
    }
}
