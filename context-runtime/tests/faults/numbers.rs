//! How much is tried, as the environment says.

use std::env;

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How often each fault is tried on each backend.
pub(crate) fn runs() -> u64 {
    number("CONTEXT_FAULT_RUNS", 6)
}

/// How often a server is killed.
pub(crate) fn restarts() -> u64 {
    number("CONTEXT_FAULT_RESTARTS", 2)
}

/// How many messages the processes on one branch write together.
pub(crate) fn contention() -> u64 {
    number("CONTEXT_CONTENTION", 400)
}

/// Where plans begin.
pub(crate) fn seed() -> u64 {
    number("CONTEXT_FAULT_SEED", 0x5eed)
}
