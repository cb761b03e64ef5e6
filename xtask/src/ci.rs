//! `cargo xtask ci`: everything the build server asks, one line per step.
//!
//! Cargo unites the features of all crates it builds together, which hides what is missing in one of them; so
//! each crate and each feature of the facade is also checked alone.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{Cargo, Verdict};
use crate::workspace::{FACADE, KIT, Workspace};
use crate::{conformance, layers, test, tidy};

/// How many random cases `--long` asks for.
const LONG_CASES: &str = "2000";
/// Tests that are ignored because they are large: package, test program, and what is part of their names.
const LARGE: [(&str, &str, &str); 2] =
    [("context-runtime", "it", "large"), ("context-store-sqlite", "life", "scale")];
/// Tests whose random cases are many more in `--long`, or which say whether another checker is there: package, test
/// program, module, and how many cases each property has.
const WIRE: [(&str, &str, &str, &str); 3] = [
    ("context-runtime", "it", "wire_properties", "10000"),
    ("context-runtime", "it", "recorded_chats", "1"),
    ("context-conformance", "wire", "differential", LONG_CASES),
];
/// How many writing processes `--long` kills.
const LONG_KILLS: &str = "10000";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Try many more random cases, kill many more writers, and run what is too large for every day
    #[arg(long)]
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
    for step in steps(workspace, &outside, args.long) {
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

fn steps<'a>(workspace: &'a Workspace, outside: &'a [Workspace], long: bool) -> Vec<Step<'a>> {
    const CLIPPY: &[&str] =
        &["--workspace", "--all-targets", "--all-features", "--locked", "--", "-D", "warnings"];
    let ours = |subcommand: &'a str, args: &[&str]| cargo_step(workspace, workspace, subcommand, args, long);
    let mut steps = Vec::new();
    for place in std::iter::once(workspace).chain(outside) {
        steps.push(cargo_step(workspace, place, "fmt", &["--all", "--check"], long));
        steps.push(cargo_step(workspace, place, "clippy", CLIPPY, long));
    }
    steps.push(Step { name: "doc".into(), run: Box::new(|| doc(workspace)) });
    steps.push(Step { name: "layers".into(), run: Box::new(|| layers::run(workspace)) });
    steps.push(Step { name: "tidy".into(), run: Box::new(|| tidy::run(workspace)) });
    for krate in workspace.crates() {
        steps.push(ours("check", &["--locked", "-p", &krate.name]));
    }
    for feature in feature_sets(workspace) {
        let args = ["--locked", "-p", FACADE, "--no-default-features", "--features", &feature];
        steps.push(ours("check", &args));
    }
    // The packages outside are tested by the step `conformance`, which is their only test.
    steps.push(ours("test", &["--workspace", "--all-features", "--locked", "--no-fail-fast"]));
    if workspace.krate(KIT).is_some() {
        let run = move || {
            let cases = long.then(|| LONG_CASES.to_string());
            conformance::run(&conformance::Args::with_cases(cases))
        };
        steps.push(Step { name: "conformance".into(), run: Box::new(run) });
    }
    steps.push(Step { name: "vectors".into(), run: Box::new(|| vectors(workspace)) });
    for (package, test, module) in LARGE.iter().filter(|_| long) {
        let which = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
        steps.push(ours("test", &[&which[..], &["--", "--ignored", "--test-threads=1"]].concat()));
    }
    for (package, test, module, cases) in WIRE.iter().filter(|_| long) {
        steps.push(wire_step(workspace, [package, test, module], cases));
    }
    steps
}

fn cargo_step<'a>(
    workspace: &'a Workspace,
    place: &'a Workspace,
    subcommand: &'a str,
    args: &[&str],
    long: bool,
) -> Step<'a> {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let beside = place.root().strip_prefix(workspace.root()).unwrap_or(place.root()).display().to_string();
    let place_name = if beside.is_empty() { beside } else { format!(" ({beside})") };
    let name = format!("{subcommand} {}{place_name}", args.join(" "));
    let run = move || {
        let cargo = Cargo::building_into(workspace.target_folder(), place.root(), subcommand);
        prepared(cargo.args(&args), workspace, long).run()
    };
    Step { name, run: Box::new(run) }
}

/// Asks a module of a test program so many cases, and shows what it says of itself.
fn wire_step<'a>(
    workspace: &'a Workspace,
    [package, test, module]: [&'a str; 3],
    cases: &'a str,
) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
    let run = move || {
        let cargo = Cargo::new(workspace.root(), "test").args(args).args(["--", "--nocapture"]);
        prepared(cargo, workspace, true).env("PROPTEST_CASES", cases).run()
    };
    Step { name: format!("test {package} {module}, {cases} cases"), run: Box::new(run) }
}

/// The environment of every step: snapshots are compared and never written, debug information is lean, and the
/// test data is where `cargo xtask test` looks for it.
fn prepared(cargo: Cargo, workspace: &Workspace, long: bool) -> Cargo {
    let cases = long.then_some(LONG_CASES);
    test::environment(workspace)
        .into_iter()
        .fold(cargo, |cargo, (name, value)| cargo.env(name, value))
        .env("INSTA_UPDATE", "no")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env_if("CONTEXT_CONFORMANCE_CASES", cases)
        .env_if("CONTEXT_CONFORMANCE_KILLS", long.then_some(LONG_KILLS))
        .env_if("PROPTEST_CASES", cases)
}

fn doc(workspace: &Workspace) -> Result<Verdict> {
    let cargo = Cargo::new(workspace.root(), "doc")
        .args(["--workspace", "--all-features", "--no-deps", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings");
    prepared(cargo, workspace, false).run()
}

/// Each feature of the facade alone, and none of them.
fn feature_sets(workspace: &Workspace) -> Vec<String> {
    let facade = workspace.krate(FACADE);
    let features = facade.into_iter().flat_map(|facade| facade.features.keys().cloned());
    facade.map(|_| String::new()).into_iter().chain(features).collect()
}

/// Replays every recorded suite there is; the program says so if there is none.
fn vectors(workspace: &Workspace) -> Result<Verdict> {
    if !workspace.has_target(FACADE, "test", "vectors") {
        println!("{FACADE} has no test program for vectors");
        return Ok(Verdict::Passed);
    }
    let args = ["--quiet", "--locked", "--all-features", "-p", FACADE, "--test", "vectors"];
    prepared(Cargo::new(workspace.root(), "test").args(args), workspace, false).run()
}
