//! `cargo xtask conformance`: every implementation against the conformance suites, in one table.
//!
//! The task finds the subjects by the metadata of their crates (stores, renderers, codecs,
//! policies, memories), also in the workspaces next to this one that the manifest lists. It
//! provides the servers they need and runs their test programs, which append a line of JSON per
//! case to a report. Then it prints the reports. The suite itself is checked too: it must catch
//! stores with a known fault (mutants).
//!
//! [`Command`] does the same for another repository, with nothing of this checkout.

mod mutants;
pub mod report;
pub mod report_folder;
pub mod subjects;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::report::{Line, Outcome};
use self::report_folder::ReportFolder;
use self::subjects::{Subject, subjects};
use self::table::Table;
use crate::process::{Cargo, Verdict};
use crate::services::start::Services;
use crate::workspace::Workspace;

/// The suites other than that of stores. Their cases run in ordinary tests, and each suite is one
/// group.
pub(crate) const SUITES: [&str; 4] = ["renderer", "codec", "policy", "memory"];

/// Prove plug-ins of the context layer and print one table: stores, renderers, policies, memories
/// and codecs
///
/// A crate of the workspace takes part if its manifest has `[package.metadata.context-conformance]
/// suite = "store"` (or renderer, policy, memory, codec) and a test target named `conformance`, or
/// those that it lists as `tests`. `needs = ["postgres"]` names the servers that they need (also
/// redis and s3): those at CONTEXT_TEST_POSTGRES_URL and others, else one that is installed here.
/// Exit status: 0 passed, 1 failed, 2 wrong usage.
///
/// Example: context-conformance --manifest-path Cargo.toml --subject my-renderer
#[derive(Debug, clap::Parser)]
#[command(name = "context-conformance", version)]
pub struct Command {
    #[command(flatten)]
    args: Args,
}

impl Command {
    /// Proves the plug-ins of the workspace in the current folder, or of that of the manifest.
    pub fn run(self) -> Result<Verdict> {
        run(&Args { installed: true, ..self.args }, None)
    }
}

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
    /// Only cases whose name contains this text, of all suites
    #[arg(long)]
    case: Option<String>,
    /// The seed of random cases, decimal or 0x…; printed with every failure
    #[arg(long)]
    seed: Option<String>,
    /// The manifest of a crate or workspace in which to look for subjects, for authors of other
    /// repositories
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// The number of random sequences, trees or conversations per random case
    #[arg(long, value_name = "N")]
    cases: Option<u32>,
    /// The number of writing processes to kill
    #[arg(long, value_name = "N")]
    kills: Option<u32>,
    /// Write the results into this folder as well: `report.html` for people, `report.json` for
    /// programs, and `badge.svg` for a README
    #[arg(long, value_name = "FOLDER")]
    report: Option<PathBuf>,
    /// The number of checked histories of many clients, per case that checks them
    #[arg(long, value_name = "N")]
    histories: Option<u32>,
    /// Only a row per group, not one per case
    #[arg(long)]
    brief: bool,
    /// Whether this is the command of another repository.
    #[arg(skip)]
    installed: bool,
}

impl Args {
    /// Returns the arguments to run everything, with these many random sequences, killed processes
    /// and checked histories and this seed if they are given, and to print little.
    pub(crate) fn of_ci(numbers: Option<[u32; 3]>, seed: Option<u64>) -> Self {
        let [cases, kills, histories] = numbers.map_or([None; 3], |numbers| numbers.map(Some));
        let seed = seed.map(|seed| seed.to_string());
        Self { seed, cases, kills, histories, brief: true, ..Self::default() }
    }

    /// Whether only some cases are selected.
    fn picks(&self) -> bool {
        self.group.is_some() || self.case.is_some()
    }

    /// Whether a suite is selected. A group is another suite, or of the store suite.
    fn asks(&self, suite: &str) -> bool {
        let Some(group) = &self.group else { return true };
        if SUITES.contains(&group.as_str()) { suite == group } else { suite == "store" }
    }

    fn manifest(&self) -> Option<&Path> {
        self.manifest_path.as_deref().or(self.installed.then_some(Path::new("Cargo.toml")))
    }

    /// Returns the begin of a command that repeats a case.
    fn again(&self) -> String {
        let mut again =
            if self.installed { "context-conformance" } else { "cargo xtask conformance" }
                .to_owned();
        if let Some(path) = &self.manifest_path {
            again += &format!(" --manifest-path {}", path.display());
        }
        for (option, number) in
            [("--cases", self.cases), ("--kills", self.kills), ("--histories", self.histories)]
        {
            again.extend(number.map(|number| format!(" {option} {number}")));
        }
        again
    }
}

/// Runs the selected subjects, with the given servers or with its own.
pub(crate) fn run(args: &Args, services: Option<&Services>) -> Result<Verdict> {
    let workspace = match args.manifest() {
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
    if known.is_empty() {
        bail!(
            "no crate of {} says that it is a plug-in. Write into the Cargo.toml of yours\n\n    \
             [package.metadata.context-conformance]\n    \
             suite = \"store\"  # or renderer, codec, policy, memory\n\n\
             and test it in tests/conformance.rs with context-layer-conformance, \
             or in the test programs that `tests = [\"…\"]` names there",
            workspace.root().display()
        );
    }
    if picked.is_empty() {
        let known =
            known.iter().map(|(_, subject)| format!("{} ({})", subject.krate, subject.suite));
        bail!("no such subject; known: {}", known.collect::<Vec<_>>().join(", "));
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
    let (mut lines, mut not_asked) = (Vec::new(), Vec::new());
    for (place, subject) in picked {
        let Some(provision) = provision(subject, services) else {
            not_asked.push(format!("{} {}", subject.krate, subject.program));
            continue;
        };
        let cargo = Cargo::building_into(workspace.target_folder(), place.root(), "test");
        let (passed, of_subject) = prove(cargo.envs(&services.environment()), subject, args)?;
        verdict = verdict.and(passed);
        let krate = &subject.krate;
        lines.extend(of_subject.into_iter().map(|line| Line {
            krate: krate.clone(),
            provision: provision.clone(),
            ..line
        }));
    }
    tell_apart(&mut lines);
    if lines.is_empty() {
        println!("no case was run, so nothing is proved");
        verdict = Verdict::Failed;
    } else {
        print!("{}", Table::new(&lines).brief(args.brief).again(args.again()));
        if let Some(folder) = &args.report {
            let day = jiff::Timestamp::now().strftime("%F").to_string();
            ReportFolder::new(&lines, &day).write(folder)?;
            println!("report: {}", folder.join("report.html").display());
        }
    }
    if let Some(missing) = services.missing().filter(|_| !not_asked.is_empty()) {
        println!("NOT ASKED {}: {missing}", not_asked.join(", "));
    }
    if !args.picks() && args.subject.is_none() && mutants::are_in(&workspace) {
        verdict = verdict.and(mutants::run(&workspace, args)?);
    }
    Ok(verdict)
}

/// Returns where a subject gets its servers from, or `None` if one of them is missing.
fn provision(subject: &Subject, services: &Services) -> Option<String> {
    let from: Option<Vec<_>> = subject.needs.iter().map(|need| services.provision(*need)).collect();
    from.map(|from| if from.is_empty() { "-".to_owned() } else { from.join(", ") })
}

/// Runs the test program of a subject and reads its report. The program's output is shown only if
/// it fails and no case says why.
fn prove(cargo: Cargo, subject: &Subject, args: &Args) -> Result<(Verdict, Vec<Line>)> {
    let folder = tempfile::tempdir().context("no folder for the report")?;
    let report = folder.path().join("report.jsonl");
    let Subject { krate, program, suite, .. } = subject;
    println!("{krate} {program} ({suite})");
    let cases = args.cases.map(|cases| cases.to_string());
    let output = cargo
        .env_if("CONTEXT_CONFORMANCE_GROUP", args.group.as_ref())
        .env_if("CONTEXT_CONFORMANCE_CASE", args.case.as_ref())
        .env_if("CONTEXT_CONFORMANCE_SEED", args.seed.as_ref())
        .env_if("CONTEXT_CONFORMANCE_CASES", cases.as_ref())
        .env_if("PROPTEST_CASES", cases.as_ref())
        .env_if("CONTEXT_CONFORMANCE_KILLS", args.kills.map(|kills| kills.to_string()))
        .env_if("CONTEXT_CONFORMANCE_HISTORIES", args.histories.map(|n| n.to_string()))
        .args(["--quiet", "--package", &subject.package, "--all-features", "--test", program, "--"])
        .args(subject.filter.as_ref().filter(|_| suite != "store"))
        .env("CONTEXT_CONFORMANCE_REPORT", &report)
        .output()?;
    let lines = report::read(&report)?;
    if lines.iter().any(|line| line.outcome == Outcome::Fail) {
        return Ok((Verdict::Failed, lines));
    }
    // A test may demand more than its cases, such as a plan of a policy. If only some of them ran,
    // that means nothing.
    let passed = output.status.success() || args.picks() && !lines.is_empty();
    if !passed {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        println!("{krate} {program} failed outside of its cases: see above");
    } else if lines.is_empty() && !args.picks() {
        println!("{krate} {program} reported no case: is it made by the kit?");
        return Ok((Verdict::Failed, lines));
    }
    Ok((Verdict::of(passed), lines))
}

/// Puts the crate before the names of subjects that several crates use.
fn tell_apart(lines: &mut [Line]) {
    let mut crates = BTreeMap::<String, BTreeSet<String>>::new();
    for line in lines.iter() {
        crates.entry(line.subject.clone()).or_default().insert(line.krate.clone());
    }
    for line in lines {
        if crates[&line.subject].len() > 1 {
            line.subject = format!("{}/{}", line.krate, line.subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Args, SUITES};

    #[test]
    fn a_group_is_another_suite_or_one_of_stores() {
        let asked = |group: Option<&str>| {
            let args = Args { group: group.map(Into::into), ..Args::default() };
            let suites = ["store"].into_iter().chain(SUITES);
            suites.filter(|suite| args.asks(suite)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(asked(None), "store renderer codec policy memory");
        assert_eq!(asked(Some("commit")), "store");
        assert_eq!(asked(Some("policy")), "policy");
    }
}
