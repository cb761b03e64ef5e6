//! `cargo xtask screenshots`: pictures of the inspector, with chats that are made up.
//!
//! A test of `context-server` takes them in Chromium. Times and ids of the chats are counted, so a
//! picture changes only if the page does, or the fonts of the machine.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process::{Cargo, Verdict};
use crate::services::browser;
use crate::services::need::Need;
use crate::services::start::Services;
use crate::workspace::Workspace;

/// The crate of the inspector.
pub(crate) const SERVER: &str = "context-server";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write into [default: docs/inspector]
    folder: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let services = Services::start(&[Need::Browser].into(), true)?;
    let program = services.browser().context("there is no browser")?;
    let folder = match &args.folder {
        Some(folder) => std::path::absolute(folder).context("no such folder can be named")?,
        None => workspace.root().join("docs/inspector"),
    };
    Cargo::new(workspace.root(), "test")
        .args(["--quiet", "--locked", "-p", SERVER, "--test", "browser", "--", "pictures"])
        .envs(&browser::environment(program, workspace.target_folder()))
        .env("CONTEXT_TEST_SCREENSHOTS", folder)
        .run()
}
