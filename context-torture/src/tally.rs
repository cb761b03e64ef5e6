//! What came of checks.

use std::fmt;

/// How many failures of a part are printed.
const SHOWN: usize = 20;

/// What came of the checks of a part.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many held.
    pub passed: u64,
    /// What did not, in words.
    pub failed: Vec<String>,
    /// Why checks were not made.
    pub skipped: Vec<String>,
}

impl Tally {
    /// Counts a check; an error is a failure.
    pub fn count(&mut self, name: impl fmt::Display, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed.push(format!("{name}: {why}")),
        }
    }

    /// Says that something could not be asked.
    pub fn skip(&mut self, why: impl Into<String>) {
        self.skipped.push(why.into());
    }

    /// Adds another.
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
