//! The program that `cargo xtask torture` runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use context_torture::parts::{PARTS, work};
use context_torture::settings::{Scale, TortureSettings};
use context_torture::tally::Tally;
use context_torture::worker::limit_memory;

/// Damages files, kills writers, fills disks and passes hostile input, and reports what fails
#[derive(Debug, Parser)]
struct Args {
    /// The seed of random checks [default: a new one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Run only these parts; may be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// The approximate duration of the run
    #[arg(long, value_enum, default_value = "minutes")]
    scale: Scale,
    /// The number of checks of repeated kinds [default: depends on the scale]
    #[arg(long, value_name = "N")]
    checks: Option<u64>,
    /// List the parts
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    match args.get(1).and_then(|first| first.to_str()) {
        Some("context") => {
            limit_memory();
            let _ = args.remove(0);
            context_cli::run_with(args, io::stdout(), StderrWriter)
        }
        Some("work") => exit_code(worker(&args)),
        _ => exit_code(run(&Args::parse())),
    }
}

/// Standard error as a cloneable writer.
#[derive(Clone)]
struct StderrWriter;

impl io::Write for StderrWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn exit_code(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `work PART SEED FROM TO`.
fn worker(args: &[OsString]) -> Result<bool> {
    limit_memory();
    let text =
        |at: usize| args.get(at).and_then(|arg| arg.to_str()).context("work PART SEED FROM TO");
    let number = |at: usize| -> Result<u64> { Ok(text(at)?.parse()?) };
    work(text(2)?, number(3)?, number(4)?..number(5)?)?;
    Ok(true)
}

fn run(args: &Args) -> Result<bool> {
    if args.list {
        PARTS.iter().for_each(|part| println!("{:<12} {}", part.name, part.about));
        return Ok(true);
    }
    for name in &args.only {
        let known = PARTS.iter().any(|part| part.name == name);
        ensure!(known, "there is no part {name:?}: --list names them");
    }
    let seed = args
        .seed
        .unwrap_or_else(|| u64::from(std::process::id()) ^ context_torture::random::fresh());
    let settings = TortureSettings { seed, scale: args.scale, checks: args.checks };
    println!("seed {seed}");
    let mut all = Tally::default();
    for part in PARTS
        .iter()
        .filter(|part| args.only.is_empty() || args.only.iter().any(|name| name == part.name))
    {
        let begun = Instant::now();
        // A part that cannot run has failed. The other parts still run.
        let tally = (part.run)(&settings).unwrap_or_else(|error| Tally {
            failed: vec![format!("{}: {error:#}", part.name)],
            ..Tally::default()
        });
        println!("{}: {tally} in {:.0} s", part.name, begun.elapsed().as_secs_f64());
        all.add(tally);
    }
    println!("{} passed, {} failed, {} skipped", all.passed, all.failed.len(), all.skipped.len());
    Ok(all.failed.is_empty())
}
