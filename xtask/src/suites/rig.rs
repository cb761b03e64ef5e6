//! The contract suite for session stores, which rig-memory has behind a feature.

use anyhow::{Result, ensure};

use super::Run;
use super::outcome::Outcome;
use super::rust_tests;
use crate::process::Cargo;
use crate::services::need::Need;
use crate::services::start::Services;

/// The tests that need a server, with the variable that holds its address.
const OF_SERVERS: [(&str, &str); 2] = [
    ("check_store_on_postgres", "CONTEXT_TEST_POSTGRES_URL"),
    ("check_store_on_redis", "CONTEXT_TEST_REDIS_URL"),
];

/// Runs `rig_memory::conformance::check_store` on every backend.
pub(super) fn run(run: &Run<'_>) -> Result<Outcome> {
    ensure!(run.path.is_none(), "the suite is a part of rig-memory, which cargo installs");
    let services = Services::start(&Need::servers(), false)?;
    let addresses = services.environment();
    let has = |variable: &str| addresses.iter().any(|(name, _)| *name == variable);
    let absent: Vec<_> = OF_SERVERS
        .into_iter()
        .filter(|(_, variable)| !has(variable))
        .map(|(test, _)| test)
        .collect();
    let skips = absent.iter().flat_map(|test| ["--skip", test]);
    let cargo = integrations(run)
        .args(["-p", "context-rig", "--test", "check_store", "--", "--include-ignored"])
        .args(run.tests)
        .args(skips)
        .envs(&addresses);
    let mut outcome = rust_tests::run(cargo)?;
    let reason = services.missing().unwrap_or("there is no server");
    outcome.skipped.extend(absent.iter().map(|test| ((*test).to_owned(), reason.to_owned())));
    Ok(outcome)
}

/// Returns a call of `cargo test` in the workspace of the adapters.
///
/// rig says that it needs a newer compiler than the workspace does, and builds with the older one.
fn integrations(run: &Run<'_>) -> Cargo {
    let folder = run.workspace.root().join("integrations");
    Cargo::building_into(run.workspace.target_folder(), &folder, "test").args([
        "--locked",
        "--ignore-rust-version",
        "--no-fail-fast",
    ])
}
