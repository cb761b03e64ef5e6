//! `cargo xtask ci`: everything the build server asks, one line per step.
//!
//! Cargo unites the features of all crates it builds together, which hides what is missing in one of them; so
//! each crate and each feature of the facade is also checked alone.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{Cargo, Verdict};
use crate::services::start::Services;
use crate::workspace::{FACADE, KIT, Workspace};
use crate::{conformance, layers, test, tidy};

/// How many random cases `--long` asks for.
const LONG_CASES: &str = "2000";
/// Tests that are ignored because they are large: package, test program, and what is part of their names.
const LARGE: [(&str, &str, &str); 4] = [
    ("context-runtime", "it", "large"),
    ("context-store-sqlite", "life", "scale"),
    ("context-trajectory", "it", "read_back"),
    ("context-trajectory", "it", "browser"),
];
/// Tests whose random cases are many more in `--long`, or which say whether another checker is there: package, test
/// program, module, and how many cases each property has.
const WIRE: [(&str, &str, &str, &str); 3] = [
    ("context-runtime", "it", "wire_properties", "10000"),
    ("context-runtime", "it", "recorded_chats", "1"),
    ("context-conformance", "wire", "differential", LONG_CASES),
];
/// How many writing processes `--long` kills.
const LONG_KILLS: &str = "10000";
/// The facade's test program of faults and of writers that compete, and how much of both `--long` asks for.
const FAULTS: &str = "faults";
const LONG_FAULTS: [(&str, &str); 3] =
    [("CONTEXT_FAULT_RUNS", "1000"), ("CONTEXT_FAULT_RESTARTS", "50"), ("CONTEXT_CONTENTION", "10000")];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Try many more random cases, kill many more writers, and run what is too large for every day
    #[arg(long)]
    long: bool,
}

/// What every step is about.
#[derive(Clone, Copy)]
struct Run<'a> {
    workspace: &'a Workspace,
    services: &'a Services,
    long: bool,
}

/// A step: its name, and what it does.
struct Step<'a> {
    name: String,
    run: Box<dyn Fn() -> Result<Verdict> + 'a>,
}

struct Done {
    name: String,
    verdict: Verdict,
    took: Duration,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let mut done = Vec::new();
    let outside = workspace.outside()?;
    // At once, so that a missing server is known before anything is built. Nobody reads here what was skipped.
    let services = Services::start(&test::needs(workspace, &outside, &[])?, true)?;
    for step in steps(Run { workspace, services: &services, long: args.long }, &outside) {
        println!("── {}", step.name);
        let start = Instant::now();
        // A step that cannot run has failed; the others still may.
        let verdict = (step.run)().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Verdict::Failed
        });
        done.push(Done { name: step.name, verdict, took: start.elapsed() });
        if verdict == Verdict::Failed && !args.keep_going {
            break;
        }
    }
    Ok(summary(&done))
}

fn summary(done: &[Done]) -> Verdict {
    println!();
    for Done { name, verdict, took } in done {
        let word = if *verdict == Verdict::Passed { "ok" } else { "FAILED" };
        println!("{word:<7}{:>7.1} s  {name}", took.as_secs_f64());
    }
    let total: Duration = done.iter().map(|step| step.took).sum();
    let failed = done.iter().filter(|step| step.verdict == Verdict::Failed).count();
    println!("{} steps, {failed} failed, {:.0} s", done.len(), total.as_secs_f64());
    Verdict::of(failed == 0)
}

fn steps<'a>(run: Run<'a>, outside: &'a [Workspace]) -> Vec<Step<'a>> {
    let Run { workspace, services, long } = run;
    const CLIPPY: &[&str] =
        &["--workspace", "--all-targets", "--all-features", "--locked", "--", "-D", "warnings"];
    let ours = |subcommand: &'a str, args: &[&str]| cargo_step(run, workspace, subcommand, args);
    let mut steps = Vec::new();
    for place in std::iter::once(workspace).chain(outside) {
        steps.push(cargo_step(run, place, "fmt", &["--all", "--check"]));
        steps.push(cargo_step(run, place, "clippy", CLIPPY));
    }
    steps.push(Step { name: "doc".into(), run: Box::new(move || doc(run)) });
    steps.push(Step { name: "layers".into(), run: Box::new(move || layers::run(workspace)) });
    steps.push(Step { name: "tidy".into(), run: Box::new(move || tidy::run(workspace)) });
    for krate in workspace.crates() {
        steps.push(ours("check", &["--locked", "-p", &krate.name]));
    }
    for feature in feature_sets(workspace) {
        let args = ["--locked", "-p", FACADE, "--no-default-features", "--features", &feature];
        steps.push(ours("check", &args));
    }
    for place in std::iter::once(workspace).chain(outside) {
        let args = ["--workspace", "--all-features", "--locked", "--no-fail-fast"];
        steps.push(cargo_step(run, place, "test", &args));
    }
    if workspace.krate(KIT).is_some() {
        let prove = move || {
            let cases = long.then(|| LONG_CASES.to_string());
            conformance::run(&conformance::Args::with_cases(cases), Some(services))
        };
        steps.push(Step { name: "conformance".into(), run: Box::new(prove) });
    }
    steps.push(Step { name: "vectors".into(), run: Box::new(move || vectors(run)) });
    for (package, test, module) in LARGE.iter().filter(|_| long) {
        let which = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
        steps.push(ours("test", &[&which[..], &["--", "--ignored", "--test-threads=1"]].concat()));
    }
    for (package, test, module, cases) in WIRE.iter().filter(|_| long) {
        steps.push(wire_step(run, [package, test, module], cases));
    }
    if long && workspace.has_target(FACADE, "test", FAULTS) {
        steps.push(faults_step(run));
    }
    steps
}

fn cargo_step<'a>(run: Run<'a>, place: &'a Workspace, subcommand: &'a str, args: &[&str]) -> Step<'a> {
    let workspace = run.workspace;
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let beside = place.root().strip_prefix(workspace.root()).unwrap_or(place.root()).display().to_string();
    let place_name = if beside.is_empty() { beside } else { format!(" ({beside})") };
    let name = format!("{subcommand} {}{place_name}", args.join(" "));
    let step = move || {
        let cargo = Cargo::building_into(workspace.target_folder(), place.root(), subcommand);
        prepared(cargo.args(&args), run).run()
    };
    Step { name, run: Box::new(step) }
}

/// Asks a module of a test program so many cases, and shows what it says of itself.
fn wire_step<'a>(run: Run<'a>, [package, test, module]: [&'a str; 3], cases: &'a str) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
    let step = move || {
        let cargo = Cargo::new(run.workspace.root(), "test").args(args).args(["--", "--nocapture"]);
        prepared(cargo, run).env("PROPTEST_CASES", cases).run()
    };
    Step { name: format!("test {package} {module}, {cases} cases"), run: Box::new(step) }
}

/// Breaks every store in every way, many times, and shows the table.
fn faults_step(run: Run<'_>) -> Step<'_> {
    let args =
        ["--release", "--locked", "--all-features", "-p", FACADE, "--test", FAULTS, "--", "--nocapture"];
    let much: Vec<_> = LONG_FAULTS.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let step =
        move || prepared(Cargo::new(run.workspace.root(), "test").args(args), run).envs(&LONG_FAULTS).run();
    Step { name: format!("test {FACADE} {FAULTS}, {}", much.join(" ")), run: Box::new(step) }
}

/// The environment of every step: snapshots are compared and never written, debug information is lean, and the
/// test data and the servers are where `cargo xtask test` says they are.
fn prepared(cargo: Cargo, Run { workspace, services, long }: Run<'_>) -> Cargo {
    let cases = long.then_some(LONG_CASES);
    cargo
        .envs(&test::environment(workspace, services))
        .env("INSTA_UPDATE", "no")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env_if("CONTEXT_CONFORMANCE_CASES", cases)
        .env_if("CONTEXT_CONFORMANCE_KILLS", long.then_some(LONG_KILLS))
        .env_if("PROPTEST_CASES", cases)
}

fn doc(run: Run<'_>) -> Result<Verdict> {
    let cargo = Cargo::new(run.workspace.root(), "doc")
        .args(["--workspace", "--all-features", "--no-deps", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings");
    prepared(cargo, run).run()
}

/// Each feature of the facade alone, and none of them.
fn feature_sets(workspace: &Workspace) -> Vec<String> {
    let facade = workspace.krate(FACADE);
    let features = facade.into_iter().flat_map(|facade| facade.features.keys().cloned());
    facade.map(|_| String::new()).into_iter().chain(features).collect()
}

/// Replays every recorded suite there is; the program says so if there is none.
fn vectors(run: Run<'_>) -> Result<Verdict> {
    if !run.workspace.has_target(FACADE, "test", "vectors") {
        println!("{FACADE} has no test program for vectors");
        return Ok(Verdict::Passed);
    }
    let args = ["--quiet", "--locked", "--all-features", "-p", FACADE, "--test", "vectors"];
    prepared(Cargo::new(run.workspace.root(), "test").args(args), Run { long: false, ..run }).run()
}
