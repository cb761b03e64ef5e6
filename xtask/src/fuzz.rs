//! `cargo xtask fuzz`: everything that is read from outside, asked with what nobody should send, for minutes.
//!
//! There are two kinds of targets. Those of `context-fuzz` take plain bytes: libFuzzer drives them, led by what was reached. The others need more
//! than bytes and are properties of the ordinary tests: round after round of them, with new seeds and many more cases. A finding ends the run. What
//! libFuzzer found lies in a file and becomes a test; a property shows the smallest case.
//!
//! Both run on the stable compiler. libFuzzer needs a compiler of C++; where there is none, damaged documents are tried in its place.

mod libfuzzer;
mod property;

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process::Verdict;
use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which targets, such as anthropic or xml [default: all]
    targets: Vec<String>,
    /// How long for each target
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// How many cases each property is asked in a round
    #[arg(long, default_value_t = 5_000)]
    cases: u32,
    /// Damages documents and does not measure what is reached
    #[arg(long)]
    without_libfuzzer: bool,
    /// List the targets
    #[arg(long)]
    list: bool,
}

impl Args {
    /// Every target for so long.
    pub(crate) fn all(minutes: u64) -> Self {
        Self { targets: Vec::new(), minutes, cases: 5_000, without_libfuzzer: false, list: false }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let parsers = property::parsers(workspace)?;
    let known: Vec<&str> =
        parsers.iter().map(|target| &*target.name).chain(property::TARGETS.iter().map(|t| t.name)).collect();
    if args.list {
        println!("{}", known.join("\n"));
        return Ok(Verdict::Passed);
    }
    for name in &args.targets {
        ensure!(
            known.contains(&name.as_str()),
            "there is no target {name:?}; there are {}",
            known.join(", ")
        );
    }
    let wanted = |name: &str| args.targets.is_empty() || args.targets.iter().any(|given| given == name);
    let time = Duration::from_secs(60 * args.minutes);
    let mut driver = None;
    for parser in parsers.iter().filter(|parser| wanted(&parser.name)) {
        if driver.is_none() && !args.without_libfuzzer {
            driver = libfuzzer::build(workspace)?;
        }
        let verdict = match &driver {
            Some(driver) => driver.run(&parser.name, time)?,
            None => parser.rounds(time, args.cases)?,
        };
        if verdict == Verdict::Failed {
            return Ok(verdict);
        }
    }
    for target in property::TARGETS.iter().filter(|target| wanted(target.name)) {
        if target.program(workspace)?.rounds(time, args.cases)? == Verdict::Failed {
            return Ok(Verdict::Failed);
        }
    }
    Ok(Verdict::Passed)
}
