//! The tests of adk-session, with the session service exchanged.
//!
//! The tests are copied unchanged from the crate in cargo's registry. They are compiled over a
//! crate of the name `adk_session`, which hands on everything of the real one except the services.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Run;
use super::outcome::Outcome;
use super::rust_tests;
use crate::process::Cargo;
use crate::services::need::Need;
use crate::services::start::Services;
use crate::workspace::Workspace;

const MANIFEST: &str = include_str!("adk/manifest.toml");
const SHIM: &str = include_str!("adk/shim.rs");

/// The variable in which the crate of that name finds the store.
const STORE: &str = "CONTEXT_SUITE_STORE";

/// The test programs about a session service, which run on every backend.
const SERVICE: [&str; 4] = [
    "session_contract_inmemory",
    "inmemory_tests",
    "identity_isolation_tests",
    "encrypted_session_tests",
];

/// The test program that opens its own store.
const SQLITE: &str = "session_contract_sqlite";

/// The test programs that do not run, with the reasons.
const SKIPPED: [(&str, &str); 9] = [
    ("error_variant_property_tests", "it tests the errors of adk-core, and no service"),
    ("event_ordering_property_tests", "it tests a sort of its own, and no service"),
    ("state_utils_property_tests", "it tests functions of adk-session, and no service"),
    (
        "sqlite_tests",
        "one of its tests needs the tables of adk-session's SQLite service to compile",
    ),
    ("migration_practical_test", "it tests the migrations of adk-session's SQLite service"),
    ("redis_keys_property_tests", "it tests the keys of adk-session's Redis service"),
    ("redis_isolation_tests", "it configures adk-session's Redis service"),
    ("session_contract_vertex", "it tests the requests to a service of Google"),
    ("session_contract_vertex_live", "it needs an account at Google"),
];

pub(super) fn run(run: &Run<'_>) -> Result<Outcome> {
    let folder = run.folder.join("adk");
    install(run, &folder)?;
    let services = Services::start(&Need::servers(), false)?;
    let addresses = services.environment();
    let files = folder.join("stores");
    fs::create_dir_all(&files)?;
    let server = |variable: &str| {
        addresses.iter().find(|(name, _)| *name == variable).map(|(_, url)| url.clone())
    };
    let stores = [
        ("memory", Some("mem:".to_owned())),
        ("SQLite", Some(format!("sqlite:{}", files.display()))),
        ("PostgreSQL", server("CONTEXT_TEST_POSTGRES_URL")),
        ("Redis", server("CONTEXT_TEST_REDIS_URL")),
    ];
    let mut outcome = Outcome::default();
    for (store, url) in stores {
        let Some(url) = url else {
            let reason = services.missing().unwrap_or("there is no server").to_owned();
            outcome.skipped.push((format!("the service on {store}"), reason));
            continue;
        };
        println!("── on {store}");
        let cargo = tests(run, &folder, &SERVICE).env(STORE, &url);
        outcome.add(store, rust_tests::run(cargo)?);
    }
    outcome.add("SQLite", rust_tests::run(tests(run, &folder, &[SQLITE]).env("TMPDIR", &files))?);
    fs::remove_dir_all(&files)?;
    let skipped = SKIPPED.iter().map(|(test, reason)| ((*test).to_owned(), (*reason).to_owned()));
    outcome.skipped.extend(skipped);
    Ok(outcome)
}

/// Returns a call of `cargo test` for test programs of the suite.
fn tests(run: &Run<'_>, folder: &Path, programs: &[&str]) -> Cargo {
    Cargo::building_into(run.workspace.target_folder(), folder, "test")
        .args(["--quiet", "--no-fail-fast"])
        .args(programs.iter().flat_map(|program| ["--test", program]))
        .args(["--", "--format", "pretty"])
        .args(run.tests)
}

/// Writes the crate and copies the tests into it.
fn install(run: &Run<'_>, folder: &Path) -> Result<()> {
    let root = run.workspace.root();
    let source = match &run.path {
        Some(path) => path.clone(),
        None => source(&root.join("integrations"))?,
    };
    fs::create_dir_all(folder.join("src"))?;
    let root = root.to_str().context("the path of the workspace is no text")?;
    fs::write(folder.join("Cargo.toml"), MANIFEST.replace("ROOT", root))?;
    fs::write(folder.join("src/lib.rs"), SHIM)?;
    // The versions that the adapter is built with.
    fs::copy(Path::new(root).join("integrations/Cargo.lock"), folder.join("Cargo.lock"))?;
    let tests = folder.join("tests");
    if tests.exists() {
        fs::remove_dir_all(&tests)?;
    }
    copy(&source.join("tests"), &tests)
}

/// Returns the folder of adk-session in cargo's registry.
fn source(integrations: &Path) -> Result<PathBuf> {
    let workspace = Workspace::at(&integrations.join("Cargo.toml"))?;
    let package =
        workspace.package("adk-session").context("the adapters do not use adk-session")?;
    let folder = package.manifest_path.parent().context("a manifest is in a folder")?;
    Ok(folder.as_std_path().to_path_buf())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("no tests in {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        // Programs that are not run are not built either.
        let is_skipped =
            SKIPPED.iter().any(|(name, _)| entry.path().file_stem() == Some((*name).as_ref()));
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if !is_skipped {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
