//! `cargo xtask conformance`: every implementation against the conformance suites, in one table.
//!
//! The task finds the subjects by the metadata of their crates (stores, renderers, codecs,
//! policies, memories), also in the workspaces next to this one that the manifest lists. It
//! provides the servers they need and runs their test programs, which append a line of JSON per
//! case to a report. Then it prints the reports. The suite itself is checked too: it must catch
//! stores with a known fault (mutants).

pub mod subjects;
pub mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use self::subjects::{Subject, subjects};
use self::table::Table;
use crate::process::{Cargo, Verdict};
use crate::services::start::Services;
use crate::workspace::{KIT, Workspace};

/// The suites other than that of stores. Their tests are ordinary ones, and each suite is one group
/// in the table.
pub(crate) const SUITES: [&str; 4] = ["renderer", "codec", "policy", "memory"];

/// The test program with the mutants.
const MUTANTS: &str = "kit_catches_mutants";

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Only this subject: the name of a crate, its end (`sqlite`, `redis`), or that of one of its
    /// programs (`redis-cluster`)
    #[arg(long)]
    subject: Option<String>,
    /// Only this group of cases of the store suite, or one of the other suites: renderer, codec,
    /// policy, memory
    #[arg(long)]
    group: Option<String>,
    /// Only cases whose name contains this text
    #[arg(long)]
    case: Option<String>,
    /// The seed of random cases, decimal or 0x…; printed with every failure
    #[arg(long)]
    seed: Option<String>,
    /// The manifest of a crate or workspace in which to look for subjects, for authors of other
    /// repositories
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// The number of random sequences per random case
    #[arg(long, value_name = "N")]
    cases: Option<u32>,
    /// The number of writing processes to kill
    #[arg(long, value_name = "N")]
    kills: Option<u32>,
}

impl Args {
    /// Returns the arguments to run everything with this many random sequences and killed
    /// processes.
    pub(crate) fn with(sequences: u32, kills: u32) -> Self {
        Self { cases: Some(sequences), kills: Some(kills), ..Self::default() }
    }

    /// Whether only some cases are selected.
    fn picks(&self) -> bool {
        self.group.is_some() || self.case.is_some()
    }

    /// Whether a suite is selected: the store suite, or the one that is named as a group. Groups
    /// and cases select within the store suite.
    fn asks(&self, suite: &str) -> bool {
        match &self.group {
            Some(group) if SUITES.contains(&group.as_str()) => suite == group,
            _ => suite == "store" || !self.picks(),
        }
    }

    /// Returns the filter for test names. The suite names its tests `group::case`, and test
    /// programs filter by a part of the name.
    fn filter(&self) -> Option<String> {
        match (&self.group, &self.case) {
            (Some(group), case) => {
                Some(format!("{group}::{}", case.as_deref().unwrap_or_default()))
            }
            (None, case) => case.clone(),
        }
    }
}

/// A line of a report: the outcome of a case.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Line {
    /// The version of the suite.
    pub suite_version: u32,
    /// The tested subject.
    pub subject: String,
    /// The group of the case.
    pub group: String,
    /// The name of the case.
    pub case: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason for a skip or a failure.
    pub reason: Option<String>,
    /// The seed of random cases.
    pub seed: u64,
}

/// The outcome of a case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The property holds.
    Pass,
    /// The subject does not claim the ability.
    Skip,
    /// The property does not hold.
    Fail,
}

/// Runs the selected subjects, with the given servers or with its own.
pub(crate) fn run(args: &Args, services: Option<&Services>) -> Result<Verdict> {
    let workspace = match &args.manifest_path {
        Some(manifest) => Workspace::at(manifest)?,
        None => Workspace::ours()?,
    };
    let outside = workspace.outside()?;
    let mut known = Vec::new();
    let mut verdict = Verdict::Passed;
    for place in std::iter::once(&workspace).chain(&outside) {
        let (subjects, forgotten) = subjects(&place.crates())?;
        for krate in &forgotten {
            println!(
                "{krate} is a plug-in without [package.metadata.context-conformance]: nothing proves it"
            );
            verdict = Verdict::Failed;
        }
        known.extend(subjects.into_iter().map(|subject| (place, subject)));
    }
    let is_picked =
        |subject: &Subject| subject.is(args.subject.as_deref()) && args.asks(&subject.suite);
    let picked: Vec<_> = known.iter().filter(|(_, subject)| is_picked(subject)).collect();
    if picked.is_empty() {
        let known: Vec<_> = known.iter().map(|(_, subject)| subject.krate.as_str()).collect();
        bail!("no such subject; known: {}", known.join(", "));
    }

    let own;
    let services = match services {
        Some(services) => services,
        None => {
            let needs = picked.iter().flat_map(|(_, subject)| &subject.needs).copied().collect();
            own = Services::start(&needs, false)?;
            &own
        }
    };
    let (mut lines, mut provisions, mut not_asked) = (Vec::new(), Vec::new(), Vec::new());
    for (place, subject) in picked {
        let Some(provision) = provision(subject, services) else {
            not_asked.push(format!("{} {}", subject.krate, subject.program));
            continue;
        };
        let cargo = Cargo::building_into(workspace.target_folder(), place.root(), "test");
        let (passed, of_subject) = prove(cargo.envs(&services.environment()), subject, args)?;
        if of_subject.is_empty() && !args.picks() {
            println!(
                "{} {} reported no case: is it made by the kit?",
                subject.krate, subject.program
            );
            verdict = Verdict::Failed;
        }
        verdict = verdict.and(passed);
        provisions.extend(of_subject.iter().map(|line| (line.subject.clone(), provision.clone())));
        lines.extend(of_subject);
    }
    let provisions =
        provisions.iter().map(|(subject, provision)| (subject.as_str(), provision.as_str()));
    let table = Table::new(&lines).provisions(provisions);
    if !lines.is_empty() {
        print!("{table}");
    }
    verdict = verdict.and(Verdict::of(!table.has_failures()));
    if let Some(missing) = services.missing().filter(|_| !not_asked.is_empty()) {
        println!("NOT ASKED {}: {missing}", not_asked.join(", "));
    }
    if !args.picks() && args.subject.is_none() && workspace.has_target(KIT, "test", MUTANTS) {
        verdict = verdict.and(catch_mutants(&workspace, args)?);
    }
    Ok(verdict)
}

/// Returns where a subject gets its servers from, or `None` if one of them is missing.
fn provision(subject: &Subject, services: &Services) -> Option<String> {
    let from: Option<Vec<_>> = subject.needs.iter().map(|need| services.provision(*need)).collect();
    from.map(|from| if from.is_empty() { "-".to_owned() } else { from.join(", ") })
}

/// Runs the test program of a subject and reads its report. The program's output is shown only if
/// it fails.
fn prove(cargo: Cargo, subject: &Subject, args: &Args) -> Result<(Verdict, Vec<Line>)> {
    let folder = tempfile::tempdir().context("no folder for the report")?;
    let report = folder.path().join("report.jsonl");
    println!("{} {} ({})", subject.krate, subject.program, subject.suite);
    let filter = if subject.suite == "store" { args.filter() } else { subject.filter.clone() };
    let output = cargo
        .env_if("CONTEXT_CONFORMANCE_SEED", args.seed.as_ref())
        .env_if("CONTEXT_CONFORMANCE_CASES", args.cases.map(|cases| cases.to_string()))
        .env_if("CONTEXT_CONFORMANCE_KILLS", args.kills.map(|kills| kills.to_string()))
        .args([
            "--quiet",
            "--package",
            &subject.krate,
            "--all-features",
            "--test",
            &subject.program,
            "--",
        ])
        .args(filter)
        .env("CONTEXT_CONFORMANCE_REPORT", &report)
        .output()?;
    let lines = read(&report)?;
    // A failed case is listed below the table. The reason of any other failure is only in the
    // output.
    if !output.status.success() && !lines.iter().any(|line| line.outcome == Outcome::Fail) {
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    Ok((Verdict::of(output.status.success()), lines))
}

/// Reads a report. Returns no lines if the program ended before it wrote a report.
fn read(report: &Path) -> Result<Vec<Line>> {
    if !report.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(report).context("could not read the report")?;
    let parse =
        |line| serde_json::from_str(line).with_context(|| format!("no report line: {line}"));
    text.lines().map(parse).collect()
}

/// Checks the suite itself: one test per mutant.
fn catch_mutants(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let cargo =
        Cargo::new(workspace.root(), "test").env_if("CONTEXT_CONFORMANCE_SEED", args.seed.as_ref());
    let output = cargo.args(["--package", KIT, "--test", MUTANTS]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (caught, escaped) = mutants(&text);
    println!("\nmutants: {} of {} caught", caught, caught + escaped.len());
    for name in &escaped {
        println!("ESCAPED {name}");
    }
    if !output.status.success() && escaped.is_empty() {
        print!("{text}");
    }
    Ok(Verdict::of(output.status.success()))
}

/// Counts the caught mutants in the output of the tests, and returns the names of the others. The
/// test of a mutant has the name of its fault, which is a type. The other tests of that program
/// check the suite itself.
fn mutants(output: &str) -> (usize, Vec<String>) {
    let tests = output.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let tests = tests.filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let (mut caught, mut escaped) = (0, Vec::new());
    for (name, result) in tests {
        match result.trim() {
            "ok" => caught += 1,
            "FAILED" => escaped.push(name.trim().to_string()),
            _ => {}
        }
    }
    (caught, escaped)
}

#[cfg(test)]
mod tests {
    use super::{Args, mutants};

    #[test]
    fn mutants_are_counted_by_test() {
        let output = "running 3 tests\ntest ShowsStale ... ok\ntest Leaks ... FAILED\ntest Truncates       ... ok\n\
                      test a_sound_store_passes ... ok\n\ntest result: FAILED. 3 passed";
        assert_eq!(mutants(output), (2, vec!["Leaks".to_string()]));
    }

    #[test]
    fn a_filter_is_a_part_of_the_test_name() {
        let filter = |group: Option<&str>, case: Option<&str>| {
            Args { group: group.map(Into::into), case: case.map(Into::into), ..Args::default() }
                .filter()
        };
        assert_eq!(filter(None, None), None);
        assert_eq!(filter(Some("commit"), None), Some("commit::".into()));
        assert_eq!(filter(Some("commit"), Some("stale")), Some("commit::stale".into()));
        assert_eq!(filter(None, Some("stale")), Some("stale".into()));
    }
}
