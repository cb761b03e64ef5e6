//! `cargo xtask bench AREA`: runs one of the facade's measuring programs.
//!
//! What is measured, and against which floor, is that program's business.

use std::ffi::OsString;

use anyhow::{Result, bail};

use crate::process::{Cargo, Verdict};
use crate::services::need::Need;
use crate::services::start::Services;
use crate::workspace::{FACADE, Workspace, targets};

/// The area that measures stores, on every server there is.
const STORES: &str = "stores";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to measure; a wrong name lists what there is
    area: String,
    /// One JSON line per row instead of a table
    #[arg(long)]
    json: bool,
    /// Exit 1 when a ratio misses its target
    #[arg(long)]
    check: bool,
    /// Handed to the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let areas = workspace.krate(FACADE).map(|facade| targets(facade, "bench")).unwrap_or_default();
    if !areas.contains(&args.area) {
        let known: Vec<_> = areas.iter().map(String::as_str).collect();
        bail!("nothing measures {:?}; known areas: {}", args.area, known.join(", "));
    }
    let needs = if args.area == STORES { Need::servers() } else { Default::default() };
    let services = Services::start(&needs, false)?;
    if let Some(missing) = services.missing() {
        eprintln!("{missing}");
    }
    let flags = [("--json", args.json), ("--check", args.check)];
    Cargo::new(workspace.root(), "bench")
        .args(["--quiet", "--locked", "--all-features", "-p", FACADE, "--bench", &args.area, "--"])
        .args(flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag))
        .args(&args.args)
        .envs(&services.environment())
        .run()
}
