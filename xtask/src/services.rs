//! `cargo xtask services`, and the servers that other tasks provide to tests.
//!
//! A crate declares the needs of its tests as `needs = ["postgres", "redis"]` under
//! `[package.metadata.context-conformance]`. A task that runs the tests takes the address from the
//! environment, or else starts its own server, which ends with the task. If a server is not
//! installed and the user is root on Debian or Ubuntu, the task installs it first. A missing server
//! is reported. It is an error only where nobody would read the report. `browser` is a need like a
//! server: it is not started here, but found or installed. Moto, the S3 server, comes from PyPI.

pub(crate) mod browser;
pub(crate) mod install;
pub(crate) mod moto;
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
    /// Print only the `export` lines, without comments
    #[arg(long)]
    print_env: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install missing servers, with `apt-get` as root or with `brew`
    Install,
}

pub(crate) fn run(args: &Args) -> Result<Verdict> {
    match args.task {
        Some(Task::Install) => install::run(),
        None => serve(args.print_env),
    }
}

/// Starts all servers and ends them on Ctrl-C. That also works for a background job, in which
/// shells ignore Ctrl-C.
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
