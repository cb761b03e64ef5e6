//! `cargo xtask vectors SUITE FILE`: replays recorded behaviour through the facade's `vectors` test
//! program.
//!
//! That program judges the cases. No suite needs a server, so none is started. A server that the
//! environment names is available to the program nevertheless.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::workspace::{FACADE, Workspace};

const PROGRAM: &str = "vectors";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The suite that the file belongs to, such as deepagents-render
    suite: String,
    /// The recorded cases, relative to the current folder
    file: PathBuf,
    /// Arguments for the program: --verbose names the rule that judged each case
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let file =
        std::path::absolute(&args.file).with_context(|| format!("{:?} is no path", args.file))?;
    ensure!(file.is_file(), "there is no file {}", file.display());
    // Run the program directly, since cargo would print more after the last line if a case fails.
    let program = Cargo::new(workspace.root(), "test")
        .args(["--locked", "-p", FACADE])
        .test_program(PROGRAM)?;
    let status = Command::new(program)
        .args([args.suite.clone().into(), file.into_os_string()])
        .args(&args.args)
        .status()
        .context("could not run the test program")?;
    Ok(Verdict::of(status.success()))
}
