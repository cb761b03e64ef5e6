//! `cargo xtask semver`: changes of the public API since a version, and whether the version number
//! reflects them.
//!
//! Nothing is published yet, so the baseline is a folder or a revision of this repository: the last
//! tag, or before the first tag the one that `[workspace.metadata.semver]` names. Run this task
//! before a release. Between releases, breaking changes are expected.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::process::Verdict;
use crate::tools;
use crate::workspace::{COMMAND, Workspace, is_public};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The crates to check [default: all that are published, without the command]
    packages: Vec<String>,
    /// A folder with the version to compare with
    #[arg(long, conflicts_with = "rev")]
    baseline: Option<PathBuf>,
    /// The revision of this repository to compare with [default: the last tag, else the baseline
    /// in Cargo.toml]
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
    let crates = workspace.crates().into_iter().filter(|krate| is_public(krate));
    crates
        .map(|krate| krate.name.to_string())
        .filter(|name| name != COMMAND)
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
    last_tag(workspace).is_ok()
}

fn last_tag(workspace: &Workspace) -> Result<String> {
    git(workspace, &["describe", "--tags", "--abbrev=0"])
}

/// Checks a revision out into its own folder below the target folder.
fn checkout(workspace: &Workspace, rev: Option<&str>) -> Result<PathBuf> {
    let rev = match (rev, last_tag(workspace), workspace.setting("/semver/baseline")) {
        (Some(rev), ..) | (None, Err(_), Some(rev)) => rev.to_owned(),
        (None, Ok(tag), _) => tag,
        (None, Err(error), None) => {
            return Err(error.context("there is no tag: name a --rev or a --baseline"));
        }
    };
    let rev = git(workspace, &["rev-parse", "--verify", &format!("{rev}^{{commit}}")])
        .with_context(|| {
            format!("this clone has no revision {rev}: name a --rev or a --baseline")
        })?;
    println!("compared with {rev}");
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
