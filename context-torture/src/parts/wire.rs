//! Request bodies of damaged histories and media, checked by a second checker.

use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::settings::TortureSettings;
use crate::tally::Tally;

/// The program that writes bodies.
const BODIES: &str = "CONTEXT_TORTURE_BODIES";
/// A Python with the packages of the providers.
const PYTHON: &str = "CONTEXT_PYTHON";
/// The folder of data from outside the repository.
const DATA: &str = "CONTEXT_TEST_DATA";

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    let Some(bodies) = env::var_os(BODIES) else {
        tally.skip(format!("wire: {BODIES} names no program; `cargo xtask torture` builds it"));
        return Ok(tally);
    };
    let (media, histories) =
        (settings.checks([200, 6_000, 60_000]), settings.checks([200, 20_000, 200_000]));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bodies.jsonl");
    let mut command = Command::new(bodies);
    for (name, number) in
        [("--seed", settings.seed), ("--media", media), ("--histories", histories)]
    {
        command.args([name, &number.to_string()]);
    }
    let written = command.stdout(File::create(&path)?).stderr(Stdio::piped()).output()?;
    let said = String::from_utf8_lossy(&written.stderr).into_owned();
    tally.passed += media + histories;
    if !written.status.success() {
        let broken: Vec<&str> = said.lines().collect();
        tally.failed.extend(broken.iter().map(|line| format!("wire: {line}")));
        tally.passed = tally.passed.saturating_sub(broken.len() as u64);
    }
    let checker = data().join("tools/validate_wire.py");
    match env::var_os(PYTHON).filter(|_| checker.is_file()) {
        Some(python) => {
            check_with_official_clients(&mut tally, Command::new(python).arg(checker).arg(&path))?
        }
        None => tally
            .skip(format!("wire: {PYTHON} names no Python, or {} is not there", checker.display())),
    }
    Ok(tally)
}

fn data() -> PathBuf {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    env::var_os(DATA).map_or_else(beside, PathBuf::from)
}

/// Runs the second checker and counts its results.
fn check_with_official_clients(tally: &mut Tally, command: &mut Command) -> Result<()> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the checker did not end well: {}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout).context("the checker's report")?;
    let count = |key: &str| report[key].as_u64().unwrap_or_default();
    let bad = count("refused_by_types") + count("bad_pairing");
    tally.passed += count("bodies").saturating_sub(bad);
    for complaint in report["first"].as_array().into_iter().flatten() {
        tally.failed.push(format!("wire: {complaint}"));
    }
    let more = bad.saturating_sub(report["first"].as_array().map_or(0, Vec::len) as u64);
    tally
        .failed
        .extend((0..more).map(|_| "wire: another body that the checker refuses".to_owned()));
    Ok(())
}
