//! `cargo xtask semver`: changes of the public API since a version, and whether the version number
//! reflects them.
//!
//! Nothing is published yet, so the baseline is a folder or a revision of this repository. Run this
//! task before a release. Between releases, breaking changes are expected.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::process::Verdict;
use crate::tools;
use crate::workspace::{FUZZ, KIT, Workspace};

/// Crates for internal use. The public API of the conformance crate is checked nevertheless, since
/// authors of other repositories use it.
const OURS_ALONE: [&str; 4] = ["context-cli", "context-servers", FUZZ, "xtask"];

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The crates to check [default: all that others depend on]
    packages: Vec<String>,
    /// A folder with the version to compare with
    #[arg(long, conflicts_with = "rev")]
    baseline: Option<PathBuf>,
    /// The revision of this repository to compare with [default: the last tag]
    #[arg(long)]
    rev: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let mut cargo = tools::SEMVER.cargo(workspace, workspace.root())?;
    let baseline = match &args.baseline {
        Some(folder) => std::path::absolute(folder)?,
        None => checkout(workspace, args.rev.as_deref())?,
    };
    cargo = cargo.args(["--baseline-root".as_ref(), baseline.as_os_str()]);
    // A separate target folder: the check builds the documentation of two versions. In a shared
    // folder it would wait for other builds and invalidate their results.
    cargo = cargo.env("CARGO_TARGET_DIR", workspace.target_folder().join("semver/build"));
    for name in packages(workspace, &baseline, &args.packages) {
        cargo = cargo.args(["--package", &name]);
    }
    cargo.run()
}

/// Returns the crates to compare. A new crate has no API to break.
fn packages(workspace: &Workspace, baseline: &Path, named: &[String]) -> Vec<String> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let crates = workspace.crates().into_iter().map(|krate| krate.name.to_string());
    crates
        .filter(|name| !OURS_ALONE.contains(&name.as_str()) || name == KIT)
        .filter(|name| {
            let known = baseline.join(name).join("Cargo.toml").is_file();
            if !known {
                println!("{name} is new");
            }
            known
        })
        .collect()
}

/// Whether there is a tagged version to compare with.
pub(crate) fn has_tag(workspace: &Workspace) -> bool {
    git(workspace, &["describe", "--tags", "--abbrev=0"]).is_ok()
}

/// Checks a revision out into its own folder below the target folder.
fn checkout(workspace: &Workspace, rev: Option<&str>) -> Result<PathBuf> {
    let rev = match rev {
        Some(rev) => rev.to_owned(),
        None => git(workspace, &["describe", "--tags", "--abbrev=0"])
            .context("there is no tag to compare with: name a --rev or a --baseline")?,
    };
    let rev = git(workspace, &["rev-parse", "--verify", &format!("{rev}^{{commit}}")])?;
    let folder = workspace.target_folder().join("semver").join(&rev);
    if !folder.join("Cargo.toml").is_file() {
        let path = folder.to_str().context("the target folder's name is no text")?;
        git(workspace, &["worktree", "prune"])?;
        git(workspace, &["worktree", "add", "--force", "--detach", path, &rev])?;
    }
    Ok(folder)
}

fn git(workspace: &Workspace, args: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(workspace.root()).args(args);
    let Output { status, stdout, stderr } = command.output().context("git does not run")?;
    ensure!(
        status.success(),
        "git {} failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&stderr).trim()
    );
    Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
}
