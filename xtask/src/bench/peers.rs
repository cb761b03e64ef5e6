//! `cargo xtask bench peers`: other libraries compared with ours on the same work, in one run.
//!
//! Each library has its own driver in `xtask/peers`. Ours is the facade's benchmark `peers`. All
//! drivers use the same line protocol ([`driver`]). Rounds are paired ([`race`]), and ours runs at
//! the durability that the other library really has. A library that cannot be installed or run is
//! reported and left out, so that its faults fail nothing here.

#[cfg(test)]
mod agent_lines;
mod driver;
mod install;
mod race;
mod table;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::Verdict;
use crate::workspace::Workspace;
use driver::Driver;
use install::{Installed, Peer};
use race::{Race, Row};
use table::Report;

/// The benchmark that is our driver.
pub(super) const PROGRAM: &str = "peers";
/// The page with the tables.
const PAGE: &str = "docs/peers.md";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Compare only this library; may be given several times [default: all]
    #[arg(long, value_name = "PEER")]
    only: Vec<Peer>,
    /// Paired rounds per row; use more on a noisy machine
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The length of the longest chat, in messages
    #[arg(long, default_value_t = 10_000)]
    max: usize,
    /// Print one JSON line per row instead of the tables
    #[arg(long)]
    json: bool,
    /// Write the tables into docs/peers.md
    #[arg(long)]
    save: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, json: bool) -> Result<Verdict> {
    eprintln!("building our driver");
    let ours = super::build(workspace, PROGRAM)?;
    let folder = workspace.target_folder().join("peers");
    let mut report = Report::new();
    for peer in
        Peer::ALL.into_iter().filter(|peer| args.only.is_empty() || args.only.contains(peer))
    {
        match race(workspace, &folder, &ours, peer, args) {
            Ok((rows, setup)) => report.add(rows, setup),
            Err(error) => {
                eprintln!("{}: left out: {error:#}", peer.name());
                report.leave_out(peer.name(), &format!("{error:#}"));
            }
        }
    }
    if json || args.json {
        report.print_lines()?;
        return Ok(Verdict::Passed);
    }
    println!("{}", report.markdown());
    if args.save {
        let page = workspace.root().join(PAGE);
        let text =
            std::fs::read_to_string(&page).with_context(|| format!("could not read {PAGE}"))?;
        let text = table::replace(&text, &report.markdown())
            .with_context(|| format!("{PAGE} has no place for tables"))?;
        std::fs::write(&page, text)?;
        eprintln!("written into {PAGE}");
    }
    Ok(Verdict::Passed)
}

/// Installs a peer and runs its race. Returns the rows, and what the peer runs on.
fn race(
    workspace: &Workspace,
    folder: &Path,
    ours: &Path,
    peer: Peer,
    args: &Args,
) -> Result<(Vec<Row>, String)> {
    let sources = workspace.root().join("xtask/peers");
    eprintln!("{}: installing", peer.name());
    let Installed { mut command, runs_on } = peer.install(&sources, &folder.join(peer.name()))?;
    let data = tempfile::Builder::new().prefix("race-").tempdir_in(folder)?;
    let place = |name: &str| -> Result<_> {
        let place = data.path().join(name);
        std::fs::create_dir(&place)?;
        Ok(place)
    };
    let theirs = Driver::start(command.arg(place("theirs")?))?;
    let us = |durability: &str| -> Result<_> {
        Driver::start(Command::new(ours).arg(place(durability)?).arg(durability))
    };
    let mut race = Race::new(theirs, us, args.rounds as usize);
    for (case, n, times) in race::plan(args.max) {
        eprintln!("{}: {case} at {n}", peer.name());
        race.row(case, n, times)?;
    }
    Ok((race.finish(), runs_on))
}
