//! `cargo xtask ci`: all checks of the build server, one line per step.
//!
//! Cargo unifies the features of all crates that it builds together, which hides missing features
//! of one crate. So each crate and each feature is also checked alone.
//!
//! A step that needs a tool that is not installed is skipped and its line says so, unless
//! `--with-tools` is set. Slow checks are in [`long`].

mod beside;
mod long;
mod results;
mod wasm;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use self::results::Results;

use crate::process::{Cargo, Verdict};
use crate::services::start::Services;
use crate::tools::{self, Tool};
use crate::workspace::{FACADE, KIT, Workspace};
use crate::{conformance, layers, package, test, tidy};

/// The number of random cases per property with `--long`. Some properties take minutes then.
const LONG_CASES: &str = "1000";
/// The variables of the seeds of random choices.
const SEEDS: [&str; 3] = ["CONTEXT_CONFORMANCE_SEED", "CONTEXT_FAULT_SEED", "PROPTEST_RNG_SEED"];
/// The number of random sequences, of killed writers and of checked histories per subject of the
/// conformance suite with `--long`: many times the usual.
const LONG_PROOF: [u32; 3] = [300, 1_000, 1_000];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Run many more random cases, kill many more writers, and run checks that are too large for
    /// every day
    #[arg(long)]
    long: bool,
    /// Go on where the last run stopped, such as after a failure or a power cut: steps that have
    /// passed are not run again, and the seed stays the same
    #[arg(long)]
    resume: bool,
    /// The seed of random choices [default: a new one with --long, else those of the tests]
    #[arg(long, value_name = "N", requires = "long", conflicts_with = "resume")]
    seed: Option<u64>,
    /// Print the last result of each step as a table in Markdown, and run nothing
    #[arg(long)]
    results: bool,
    /// Run only the steps whose names contain this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Fail if a check needs a tool that is not installed
    #[arg(long)]
    with_tools: bool,
}

/// The context of every step.
#[derive(Clone, Copy)]
struct Run<'a> {
    workspace: &'a Workspace,
    services: &'a Services,
    long: bool,
    with_tools: bool,
    /// The seed of random choices of a long run.
    seed: Option<u64>,
}

/// A step: its name and its function.
struct Step<'a> {
    name: String,
    run: Box<dyn Fn() -> Result<Verdict> + 'a>,
}

/// The outcome of a step.
struct StepOutcome {
    name: String,
    /// `None` if an earlier part of the run has passed it.
    verdict: Option<Verdict>,
    duration: Duration,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let mut outcomes = Vec::new();
    let outside = workspace.outside()?;
    let file = if args.long { "ci/long.json" } else { "ci/daily.json" };
    let mut results = Results::read(workspace.target_folder().join(file), workspace.root())?;
    if args.results {
        print!("{results}");
        return Ok(Verdict::Passed);
    }
    // Start the servers first, so that a missing one is reported before anything is built. Servers
    // are required, since nobody reads here which tests were skipped.
    let services = Services::start(&test::needs(workspace, &outside, &[])?, true)?;
    // Steps by name add to the results of the last run.
    let goes_on = (args.resume || !args.only.is_empty()) && results.has_run();
    if !args.list && (!goes_on || args.seed.is_some()) {
        let new = || jiff::Timestamp::now().as_second().unsigned_abs();
        results.begin(args.long.then(|| args.seed.unwrap_or_else(new)))?;
    }
    let seed = results.seed().filter(|_| args.long);
    let run =
        Run { workspace, services: &services, long: args.long, with_tools: args.with_tools, seed };
    let is_selected = |step: &Step<'_>| {
        args.only.is_empty() || args.only.iter().any(|text| step.name.contains(text))
    };
    let steps: Vec<_> = steps(run, &outside).into_iter().filter(is_selected).collect();
    ensure!(!steps.is_empty(), "no step has that in its name: --list names them");
    if args.list {
        steps.iter().for_each(|step| println!("{}", step.name));
        return Ok(Verdict::Passed);
    }
    if let Some(seed) = seed {
        println!("seed {seed:#x}");
    }
    for step in steps {
        let before = results.passed(&step.name).filter(|_| args.resume);
        if let Some(duration) = before {
            outcomes.push(StepOutcome { name: step.name, verdict: None, duration });
            continue;
        }
        println!("── {}", step.name);
        let start = Instant::now();
        // A step that cannot run has failed. The other steps still run.
        let verdict = (step.run)().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Verdict::Failed
        });
        let duration = start.elapsed();
        results.add(&step.name, verdict, duration)?;
        outcomes.push(StepOutcome { name: step.name, verdict: Some(verdict), duration });
        if verdict == Verdict::Failed && !args.keep_going {
            break;
        }
    }
    Ok(summary(&outcomes))
}

fn summary(outcomes: &[StepOutcome]) -> Verdict {
    println!();
    for StepOutcome { name, verdict, duration } in outcomes {
        let word = match verdict {
            Some(Verdict::Passed) => "ok",
            Some(Verdict::Failed) => "FAILED",
            None => "before",
        };
        println!("{word:<7}{:>7.1} s  {name}", duration.as_secs_f64());
    }
    let total: Duration = outcomes.iter().map(|step| step.duration).sum();
    let failed = outcomes.iter().filter(|step| step.verdict == Some(Verdict::Failed));
    let failed = failed.count();
    println!("{} steps, {failed} failed, {:.0} s", outcomes.len(), total.as_secs_f64());
    Verdict::of(failed == 0)
}

fn steps<'a>(run: Run<'a>, outside: &'a [Workspace]) -> Vec<Step<'a>> {
    let Run { workspace, services, long, .. } = run;
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
    steps.push(package_step(run));
    steps.push(tool_step(run, tools::DENY, &["check", "licenses", "bans", "sources"]));
    steps.push(tool_step(run, tools::MACHETE, &[]));
    if run.with_tools || tools::HACK.find(workspace).is_some() {
        const EACH: &[&str] =
            &["check", "--locked", "--workspace", "--each-feature", "--exclude-all-features"];
        steps.push(tool_step(run, tools::HACK, EACH));
    } else {
        for krate in workspace.crates() {
            steps.push(ours("check", &["--locked", "-p", &krate.name]));
        }
        for feature in feature_sets(workspace) {
            let args = ["--locked", "-p", FACADE, "--no-default-features", "--features", &feature];
            steps.push(ours("check", &args));
        }
    }
    steps.push(wasm::step(run));
    for place in std::iter::once(workspace).chain(outside) {
        steps.push(test_step(run, place));
    }
    steps.extend(beside::steps(run));
    if workspace.krate(KIT).is_some() {
        let args = conformance::Args::of_ci(long.then_some(LONG_PROOF), run.seed);
        let prove = move || conformance::run(&args, Some(services));
        steps.push(Step { name: "conformance".into(), run: Box::new(prove) });
    }
    steps.push(Step { name: "vectors".into(), run: Box::new(move || vectors(run)) });
    if long {
        steps.extend(long::steps(run));
    }
    steps
}

fn cargo_step<'a>(
    run: Run<'a>,
    place: &'a Workspace,
    subcommand: &'a str,
    args: &[&str],
) -> Step<'a> {
    let workspace = run.workspace;
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let name = format!("{subcommand} {}{}", args.join(" "), beside_us(workspace, place));
    let step = move || {
        let cargo = Cargo::building_into(workspace.target_folder(), place.root(), subcommand);
        prepared(cargo.args(&args), run).run()
    };
    Step { name, run: Box::new(step) }
}

/// Returns the end of the name of a step in another workspace.
fn beside_us(workspace: &Workspace, place: &Workspace) -> String {
    let beside = place.root().strip_prefix(workspace.root()).unwrap_or(place.root());
    if beside.as_os_str().is_empty() { String::new() } else { format!(" ({})", beside.display()) }
}

/// Returns the step that runs all tests of a workspace, also those that need something that is
/// there.
fn test_step<'a>(run: Run<'a>, place: &'a Workspace) -> Step<'a> {
    let target = run.workspace.target_folder();
    let step = move || {
        let cargo = || Ok(prepared(Cargo::building_into(target, place.root(), "test"), run));
        let mut report = test::TestReport::default();
        let has = test::what_is_there(run.workspace, run.services);
        let verdict = report.run(&cargo, (place, &[]), &has);
        print!("{report}");
        verdict
    };
    let name = format!("test --workspace --all-features{}", beside_us(run.workspace, place));
    Step { name, run: Box::new(step) }
}

/// Returns the step that packs the crates. Building each from its packed form takes long.
fn package_step(run: Run<'_>) -> Step<'_> {
    let args = package::Args { no_build: !run.long };
    let name = if args.no_build { "package --no-build" } else { "package" };
    Step { name: name.into(), run: Box::new(move || package::run(run.workspace, &args)) }
}

/// Returns a step that needs a tool. Without the tool the step passes, unless tools are required,
/// and its name says that nothing was checked.
fn tool_step<'a>(run: Run<'a>, tool: Tool, args: &'static [&'static str]) -> Step<'a> {
    let said = format!("{} {}", tool.subcommand, args.join(" "));
    let call = move || {
        let cargo = tool.cargo(run.workspace, run.workspace.root())?.args(args);
        prepared(cargo, run).run()
    };
    needing(run, tool, said.trim(), call)
}

fn needing<'a>(
    run: Run<'a>,
    tool: Tool,
    name: &str,
    call: impl Fn() -> Result<Verdict> + 'a,
) -> Step<'a> {
    if run.with_tools || tool.find(run.workspace).is_some() {
        return Step { name: name.into(), run: Box::new(call) };
    }
    let pass_over = || Ok(Verdict::Passed);
    Step { name: format!("passed over: {name}: {}", tool.missing()), run: Box::new(pass_over) }
}

/// Sets the environment of a step: snapshots are compared but never written, debug information is
/// small, and the test data and the servers are those of `cargo xtask test`.
fn prepared(cargo: Cargo, Run { workspace, services, long, seed, .. }: Run<'_>) -> Cargo {
    let seeds = seed.into_iter().flat_map(|seed| SEEDS.map(|name| (name, seed.to_string())));
    cargo
        .envs(&seeds.collect::<Vec<_>>())
        .envs(&test::environment(workspace, services))
        .env("INSTA_UPDATE", "no")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env_if("PROPTEST_CASES", long.then_some(LONG_CASES))
}

fn doc(run: Run<'_>) -> Result<Verdict> {
    let cargo = Cargo::new(run.workspace.root(), "doc")
        .args(["--workspace", "--all-features", "--no-deps", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings");
    prepared(cargo, run).run()
}

/// Returns each feature of the facade alone, and the empty set.
fn feature_sets(workspace: &Workspace) -> Vec<String> {
    let facade = workspace.krate(FACADE);
    let features = facade.into_iter().flat_map(|facade| facade.features.keys().cloned());
    facade.map(|_| String::new()).into_iter().chain(features).collect()
}

/// Replays every recorded suite. The program reports if there is none.
fn vectors(run: Run<'_>) -> Result<Verdict> {
    if !run.workspace.has_target(FACADE, "test", "vectors") {
        println!("{FACADE} has no test program for vectors");
        return Ok(Verdict::Passed);
    }
    let args = ["--quiet", "--locked", "--all-features", "-p", FACADE, "--test", "vectors"];
    prepared(Cargo::new(run.workspace.root(), "test").args(args), Run { long: false, ..run }).run()
}
