//! `cargo xtask bench`: costs compared with baselines, counted in instructions, and compared with
//! other libraries.
//!
//! An area is one of the facade's benchmarks, or one of the command's: the inspector, the HTTP API.
//! The benchmark defines its measurements, and its baselines or targets.
//! Two names are not areas of this kind: [`instructions`] counts the instructions of hot paths,
//! [`peers`] compares other libraries.

mod instructions;
mod machine;
mod peers;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use anyhow::{Result, bail};

use crate::process::{Cargo, Verdict};
use crate::services::need::Need;
use crate::services::start::Services;
use crate::workspace::{FACADE, Workspace, targets};

/// The areas that measure stores, on every available server.
const ON_SERVERS: [&str; 5] = ["graft", "load", "scale", "stores", "streams"];
/// The area that measures the inspector in a browser: it is a benchmark of the command, which it
/// runs.
const INSPECTOR: &str = "inspector";
/// The area that loads the HTTP API, which the command serves.
const SERVE: &str = "serve";
/// The areas that are benchmarks of the command.
const OF_COMMAND: [&str; 2] = [INSPECTOR, SERVE];
/// The crate of the command.
const COMMAND: &str = "context-cli";

#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "AREA", subcommand_help_heading = "Areas")]
pub(crate) struct Args {
    /// Print one JSON line per row instead of a table
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a ratio misses its target. Without an area, check all areas, and warn about
    /// paths that execute more instructions
    #[arg(long)]
    check: bool,
    #[command(subcommand)]
    area: Option<Area>,
}

#[derive(Debug, clap::Subcommand)]
enum Area {
    /// Count the instructions of hot paths and compare them with the saved counts
    ///
    /// valgrind's callgrind makes the counts. Unlike times, they hardly depend on the load of the
    /// machine. They are saved in context-runtime/benches/instructions/counts.toml. A path that
    /// executes more than 5 % above its count causes a warning. The first line of the warning tells
    /// how to find the cause. `--save` accepts the new counts.
    Instructions(instructions::Args),
    /// Compare with other libraries on the same work, in one run
    ///
    /// Installs the libraries from their registries into target/peers. npm, pip and cargo must be
    /// installed. A second run reuses the first installation. Each library does the same work on a
    /// SQLite file: append, load, fork, resolve, a turn. Rounds are paired, ours and theirs
    /// alternating, and ours runs at the durability of the other library. A library that cannot be
    /// installed or run is reported and left out. `--save` writes the tables into docs/peers.md.
    Peers(peers::Args),
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    match &args.area {
        Some(Area::Instructions(own)) => instructions::run(workspace, own),
        Some(Area::Peers(own)) => peers::run(workspace, own, args.json),
        Some(Area::Program(words)) => match words.split_first() {
            Some((area, rest)) => program(workspace, area, rest, args),
            None => Ok(list(workspace)),
        },
        None if args.check => check(workspace, args),
        None => Ok(list(workspace)),
    }
}

/// Returns the benchmarks that are areas.
fn areas(workspace: &Workspace) -> BTreeSet<String> {
    let mut areas =
        workspace.krate(FACADE).map(|facade| targets(facade, "bench")).unwrap_or_default();
    areas.retain(|area| ![instructions::PROGRAM, peers::PROGRAM].contains(&area.as_str()));
    let of_command = OF_COMMAND.iter().filter(|area| workspace.has_target(COMMAND, "bench", area));
    areas.extend(of_command.map(|area| (*area).to_owned()));
    areas
}

fn list(workspace: &Workspace) -> Verdict {
    println!("Areas, each measured beside a floor that does the same work with the bare library:");
    areas(workspace).iter().for_each(|area| println!("  cargo xtask bench {area}"));
    println!(
        "Instructions of hot paths, beside the counts that are kept:\n  cargo xtask bench instructions"
    );
    println!("Other libraries, on the same work:\n  cargo xtask bench peers");
    println!("All areas and the instructions, judged:\n  cargo xtask bench --check");
    Verdict::Passed
}

/// Checks every area with targets.
fn check(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    // More instructions only cause a warning. The verdict depends on ratios.
    let _warned = instructions::run(workspace, &instructions::Args::ALL)?;
    let mut verdict = Verdict::Passed;
    for area in areas(workspace) {
        println!("\n{area}");
        verdict = verdict.and(program(workspace, area.as_ref(), &[], args)?);
    }
    Ok(verdict)
}

fn program(workspace: &Workspace, area: &OsStr, rest: &[OsString], args: &Args) -> Result<Verdict> {
    let areas = areas(workspace);
    let Some(area) = area.to_str().filter(|area| areas.contains(*area)) else {
        let known: Vec<_> = areas.iter().map(String::as_str).collect();
        bail!("nothing measures {area:?}; known areas: {}, instructions, peers", known.join(", "));
    };
    let needs = match area {
        _ if ON_SERVERS.contains(&area) => Need::servers(),
        INSPECTOR => [Need::Browser].into(),
        SERVE => [Need::Postgres].into(),
        _ => Default::default(),
    };
    let krate = if OF_COMMAND.contains(&area) { COMMAND } else { FACADE };
    let services = Services::start(&needs, false)?;
    if let Some(missing) = services.missing() {
        eprintln!("{missing}");
    }
    let flags = [("--json", args.json), ("--check", args.check)];
    Cargo::new(workspace.root(), "bench")
        .args(["--quiet", "--locked", "--all-features", "-p", krate, "--bench", area, "--"])
        .args(flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag))
        .args(rest)
        .envs(&crate::test::environment(workspace, &services))
        .run()
}

/// Builds a benchmark of the facade and returns its path.
fn build(workspace: &Workspace, name: &str) -> Result<std::path::PathBuf> {
    let build = ["--locked", "--all-features", "-p", FACADE];
    Cargo::new(workspace.root(), "bench").args(build).bench_program(name)
}
