//! `cargo xtask mutants`: changes the sources in small ways, one at a time, and reports the changes
//! that no test notices.
//!
//! A missed change means a missing test, or a change without effect. `.cargo/mutants.toml` excludes
//! code, and [`survivors`] has the reasons of changes that may stay unnoticed.
//!
//! The mutants of a crate are tried in parts, see [`part`]. What a part found is kept, so the task
//! goes on where it stopped, however it stopped.

mod part;
mod survivors;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::part::{Found, Part};
use self::survivors::Survivors;
use crate::process::Verdict;
use crate::workspace::Workspace;

/// The crates whose decisions are most expensive to get wrong, and the crates whose tests ask them
/// besides their own: the suites of stores, renderers, codecs and policies.
const CRATES: [(&str, &[&str]); 10] = [
    ("context-core", &["context-conformance", "context-store-inmem", "context-trajectory"]),
    ("context-conformance", &[]),
    ("context-codec-kit", &["context-codec-anthropic", "context-codec-openai"]),
    ("context-store-kit", &["context-store-inmem", "context-store-sqlite"]),
    ("context-runtime", &[]),
    ("context-policy-microcompact", &[]),
    ("context-policy-snip", &[]),
    ("context-policy-strip-images", &[]),
    ("context-policy-summarize", &[]),
    ("context-policy-truncate-head", &[]),
];

/// The least share of viable mutants that tests have to notice, in percent.
const LEAST: f64 = 90.0;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The crates to mutate [default: core, the kits, the runtime and the policies]
    packages: Vec<String>,
    /// The number of parts into which the mutants of each crate are divided
    #[arg(long, value_name = "N", default_value_t = 256)]
    parts: usize,
    /// Only this part of each crate, from 0
    #[arg(long, value_name = "K")]
    part: Option<usize>,
    /// Begin no further part after this time
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Forget what is known of these crates, and begin again
    #[arg(long)]
    again: bool,
    /// Print what is known, and try nothing
    #[arg(long)]
    results: bool,
}

impl Args {
    /// Returns the arguments to try one part of each of the default crates.
    pub(crate) fn one_part(part: usize, parts: usize) -> Self {
        Self {
            packages: Vec::new(),
            parts,
            part: Some(part),
            minutes: None,
            again: false,
            results: false,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let survivors = Survivors::read(workspace.root())?;
    let chosen = chosen(&args.packages)?;
    let end = args.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let is_late = || end.is_some_and(|end| Instant::now() >= end);
    let parts = || args.part.map_or(0..args.parts, |part| part..part + 1);
    if args.again {
        for (name, _) in &chosen {
            Part::forget_all(workspace, name)?;
        }
    }
    // One part of each crate after the other, so that a short run is a sample of all of them.
    for number in parts().filter(|_| !args.results) {
        for (name, suites) in &chosen {
            let part = Part::new(workspace, name, number, args.parts);
            if !is_late() && !part.is_done() {
                part.run(suites)?;
            }
        }
    }
    let mut verdict = Verdict::Passed;
    println!(
        "{:<28} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}  parts",
        "crate", "mutants", "caught", "missed", "known", "unviable", "caught %"
    );
    let mut unknown = Vec::new();
    for (name, _) in &chosen {
        let (mut found, mut done) = (Found::default(), 0);
        for number in 0..args.parts {
            if let Some(of_part) = Part::new(workspace, name, number, args.parts).found()? {
                found.add(of_part);
                done += 1;
            }
        }
        let share = found.share();
        let (known, new): (Vec<_>, Vec<_>) =
            found.missed.iter().partition(|mutant| survivors.knows(mutant));
        println!(
            "{name:<28} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}  {done} of {}",
            found.total(),
            found.caught,
            found.missed.len(),
            known.len(),
            found.unviable,
            share.map_or_else(|| "-".to_owned(), |share| format!("{share:.1}")),
            args.parts
        );
        verdict = verdict.and(Verdict::of(share.is_none_or(|share| share >= LEAST)));
        unknown.extend(new.into_iter().cloned());
    }
    for mutant in &unknown {
        println!("missed, no reason is known: {mutant}");
    }
    Ok(verdict.and(Verdict::of(unknown.is_empty())))
}

/// Returns the chosen crates, with the crates whose tests ask them besides their own.
fn chosen(packages: &[String]) -> Result<Vec<(&'static str, &'static [&'static str])>> {
    if packages.is_empty() {
        return Ok(CRATES.to_vec());
    }
    let find = |name: &String| match CRATES.iter().find(|(krate, _)| krate == name) {
        Some(krate) => Ok(*krate),
        None => {
            let known: Vec<_> = CRATES.iter().map(|(name, _)| *name).collect();
            bail!("{name} is not among the crates to mutate: {}", known.join(", "))
        }
    };
    packages.iter().map(find).collect()
}
