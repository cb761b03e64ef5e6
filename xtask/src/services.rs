//! `cargo xtask services`, and the servers that other tasks give to tests.
//!
//! A crate says what its tests need: `needs = ["postgres", "redis"]` under
//! `[package.metadata.context-conformance]`. A task that runs them takes the address from the
//! environment, else starts a server of its own, which ends with the task; where nothing is
//! installed and root runs on Debian or Ubuntu, it installs first. What is not to be had is said,
//! and is an error only where nobody would read it.

pub(crate) mod install;
pub(crate) mod need;
pub(crate) mod start;

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Subcommand;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::need::Need;
use self::start::Services;
use crate::process::Verdict;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the `export` lines and no words beside them
    #[arg(long)]
    print_env: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what is missing, by `apt-get` as root or by `brew`
    Install,
}

pub(crate) fn run(args: &Args) -> Result<Verdict> {
    match args.task {
        Some(Task::Install) => install::run(),
        None => serve(args.print_env),
    }
}

/// Starts everything and ends it with Ctrl-C, also for whoever was started in the background, where
/// shells have it ignored.
fn serve(print_env: bool) -> Result<Verdict> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("could not listen for Ctrl-C")?;
    let services = Services::start(&Need::servers(), true)?;
    let mut out = io::stdout().lock();
    for note in services.notes() {
        writeln!(out, "# {note}").context("could not print")?;
    }
    for (name, value) in services.addresses() {
        writeln!(out, "export {name}='{value}'").context("could not print")?;
    }
    out.flush().context("could not print")?;
    if !print_env {
        eprintln!("ready: give these lines to another shell; Ctrl-C stops the servers");
    }
    let _signal = signals.forever().next();
    drop(services);
    Ok(Verdict::Passed)
}
