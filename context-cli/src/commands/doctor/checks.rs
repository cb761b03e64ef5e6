//! Checks and the rules of their verdicts.

use schemars::JsonSchema;
use serde::Serialize;

/// The verdict of a check. What cannot be found out is unknown, and never ok.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Warning,
    Problem,
    Unknown,
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) status: Status,
    pub(super) detail: String,
    /// The thing to do, usually a command. None of them destroys anything.
    pub(super) advice: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, detail: impl Into<String>) -> Self {
        Self { name, status, detail: detail.into(), advice: None }
    }

    pub(super) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, detail)
    }

    pub(super) fn warning(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Warning, detail)
    }

    pub(super) fn problem(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Problem, detail)
    }

    pub(super) fn unknown(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Unknown, detail)
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// A megabyte, as sizes are shown.
pub(super) const MIB: u64 = 1024 * 1024;

/// Judges the free space of a disk against the size of the store on it: a vacuum and an upgrade
/// write the store once more.
pub(super) fn free_space(free: u64, store: u64) -> Status {
    match free {
        free if free < 16 * MIB => Status::Problem,
        free if free < store.max(256 * MIB) => Status::Warning,
        _ => Status::Ok,
    }
}

/// Whether a log is larger than what a store that checkpoints regularly has.
pub(super) fn is_long_log(log: u64, file: u64) -> bool {
    log > (64 * MIB).max(file)
}

/// Whether a vacuum is worth its time.
pub(super) fn wants_vacuum(unused: u64, bytes: u64) -> bool {
    unused > 64 * MIB && unused > bytes / 4
}

/// The longest that a read of something small may take, in milliseconds.
pub(super) const SLOW_CALL: f64 = 20.0;
/// The longest that opening a store, and a listing, may take, in milliseconds.
pub(super) const SLOW_LIST: f64 = 500.0;
/// The largest difference between two clocks, in seconds, without what a call takes.
pub(super) const CLOCK_SKEW: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::{MIB, Status, free_space, is_long_log, wants_vacuum};

    #[test]
    fn space_and_sizes_are_judged() {
        assert_eq!(free_space(MIB, 0), Status::Problem);
        assert_eq!(free_space(100 * MIB, MIB), Status::Warning);
        assert_eq!(free_space(900 * MIB, 1000 * MIB), Status::Warning);
        assert_eq!(free_space(300 * MIB, 100 * MIB), Status::Ok);
        assert!(is_long_log(65 * MIB, MIB) && !is_long_log(65 * MIB, 100 * MIB));
        assert!(!is_long_log(MIB, 0));
        assert!(wants_vacuum(100 * MIB, 300 * MIB));
        assert!(!wants_vacuum(100 * MIB, 500 * MIB) && !wants_vacuum(MIB, 2 * MIB));
    }
}
