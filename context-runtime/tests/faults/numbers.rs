//! The numbers of runs, from the environment.

use std::env;

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The number of runs of each fault on each backend.
pub(crate) fn runs() -> u64 {
    number("CONTEXT_FAULT_RUNS", 6)
}

/// The number of times a server is killed.
pub(crate) fn restarts() -> u64 {
    number("CONTEXT_FAULT_RESTARTS", 2)
}

/// The number of messages that the processes on one branch write together.
pub(crate) fn contention() -> u64 {
    number("CONTEXT_CONTENTION", 400)
}

/// The seed of the plans.
pub(crate) fn seed() -> u64 {
    number("CONTEXT_FAULT_SEED", 0x5eed)
}
