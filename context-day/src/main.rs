//! The program that runs simulated days.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use context_day::{Day, DayReport, DayStep, PlantedDefect, Subject};

/// Runs a simulated day from a seed, and tells the story of a broken invariant
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  context-day --days 10 --steps 5000        ten days of fresh seeds
  context-day --long --seed 1               a million steps
  context-day --seed 7 --tell               each step and its effect
  context-day --seed 7 --keep 3,17,40       the story that a failure printed
  context-day --seed 211 --plant changes-prefix   a planted fault, found and told

A day that breaks an invariant is shortened to a story, which takes up to 400 shorter days; --whole
leaves that out. The exit status is then 1. A seed means the same day on every machine, except on
SQLite, whose threads are not scheduled by the day.")]
struct Args {
    /// The seed [default: a new one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// The number of steps
    #[arg(long, default_value_t = 10_000)]
    steps: u64,
    /// The number of seeds to run, one after the other
    #[arg(long, default_value_t = 1)]
    days: u64,
    /// A million steps, and the memory of the process stays bounded
    #[arg(long)]
    long: bool,
    /// The store
    #[arg(long, value_enum, default_value = "inmem")]
    subject: Subject,
    /// Replay these steps of the seed alone, by their numbers
    #[arg(long, value_delimiter = ',')]
    keep: Vec<u64>,
    /// Print each step
    #[arg(long)]
    tell: bool,
    /// Do not shorten a failing day
    #[arg(long)]
    whole: bool,
    /// Plant a fault in the library, to see it noticed
    #[arg(long, value_enum)]
    plant: Option<PlantedDefect>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let first = args.seed.unwrap_or_else(fresh);
    let steps = if args.long { 1_000_000 } else { args.steps };
    let mut holds = true;
    for seed in first..first.saturating_add(args.days) {
        println!("seed {seed}");
        let day = Day { seed, steps, subject: args.subject, planted: args.plant };
        let begun = Instant::now();
        let watch = |number: u64, step: &DayStep, note: &str| {
            if args.tell {
                println!("{number}. {step}: {note}");
            }
        };
        let report = match args.keep.is_empty() {
            true => day.run(watch)?,
            false => day.replay(&args.keep, watch)?,
        };
        println!("{} in {:.1} s", told(&report), begun.elapsed().as_secs_f64());
        if let Some((number, failure)) = &report.failure {
            holds = false;
            println!("step {number}: {failure}");
            if args.keep.is_empty()
                && !args.whole
                && let Some(story) = day.story()?
            {
                println!("{story}");
            }
        }
    }
    Ok(holds)
}

fn told(report: &DayReport) -> String {
    let DayReport { steps, effective, requests, digest, resident, .. } = report;
    let memory = match resident {
        0 => String::new(),
        bytes => format!(", at most {} MiB", bytes >> 20),
    };
    let steps = format!("{steps} steps, {effective} with an effect, {requests} requests");
    format!("{steps}, digest {digest:016x}{memory}")
}

/// Returns a different seed on each call.
fn fresh() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() >> 32
}
