//! `cargo xtask tools`: the programs that some checks need, in versions that are known to work.
//!
//! A tool on the `PATH` is used as it is, else the one in `target/tools`, where this task installs
//! it. Nothing is installed without a request, and `cargo xtask test` needs none of these tools.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::{Cargo, Verdict};
use crate::workspace::Workspace;

/// A cargo subcommand that is installed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The name of the subcommand.
    pub(crate) subcommand: &'static str,
    version: &'static str,
}

pub(crate) const AUDIT: Tool = Tool { subcommand: "audit", version: "0.22.2" };
pub(crate) const DENY: Tool = Tool { subcommand: "deny", version: "0.20.2" };
pub(crate) const HACK: Tool = Tool { subcommand: "hack", version: "0.6.46" };
pub(crate) const MACHETE: Tool = Tool { subcommand: "machete", version: "0.9.2" };
pub(crate) const SEMVER: Tool = Tool { subcommand: "semver-checks", version: "0.51.0" };
pub(crate) const COVERAGE: Tool = Tool { subcommand: "llvm-cov", version: "0.9.1" };
pub(crate) const MUTANTS: Tool = Tool { subcommand: "mutants", version: "27.1.0" };

/// All tools. Those that build quickly come first.
const TOOLS: [Tool; 7] = [MACHETE, AUDIT, HACK, COVERAGE, MUTANTS, DENY, SEMVER];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tools to install, such as deny or mutants [default: all]
    tools: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    for name in &args.tools {
        if !TOOLS.iter().any(|tool| tool.subcommand == name) {
            bail!(
                "no check needs {name:?}; there are {}",
                TOOLS.map(|tool| tool.subcommand).join(", ")
            );
        }
    }
    let wanted = |tool: &&Tool| {
        args.tools.is_empty() || args.tools.iter().any(|name| name == tool.subcommand)
    };
    let mut verdict = Verdict::Passed;
    for tool in TOOLS.iter().filter(wanted) {
        verdict = verdict.and(tool.install(workspace)?);
    }
    Ok(verdict)
}

impl Tool {
    /// Returns the name of the package, which is the name of the program as well.
    pub(crate) fn package(&self) -> String {
        format!("cargo-{}", self.subcommand)
    }

    /// Returns the path of the program, if it is installed.
    pub(crate) fn find(&self, workspace: &Workspace) -> Option<PathBuf> {
        let program = format!("{}{}", self.package(), env::consts::EXE_SUFFIX);
        folders(workspace)
            .into_iter()
            .map(|folder| folder.join(&program))
            .find(|path| path.is_file())
    }

    /// Returns a call of the tool in a folder. If the tool is missing, the error contains the
    /// installation command.
    pub(crate) fn cargo(&self, workspace: &Workspace, folder: &Path) -> Result<Cargo> {
        self.find(workspace).with_context(|| self.missing())?;
        let path = env::join_paths(folders(workspace)).context("the PATH cannot be written")?;
        Ok(Cargo::new(folder, self.subcommand).env("PATH", path))
    }

    /// Returns the message that the tool is not installed, with the installation command.
    pub(crate) fn missing(&self) -> String {
        format!("{} is not installed: cargo xtask tools {}", self.package(), self.subcommand)
    }

    fn install(&self, workspace: &Workspace) -> Result<Verdict> {
        if let Some(path) = self.find(workspace) {
            println!("{} is there: {}", self.package(), path.display());
            return Ok(Verdict::Passed);
        }
        let root: OsString = workspace.target_folder().join("tools").into();
        Cargo::new(workspace.root(), "install")
            .args(["--locked", "--version", self.version, &self.package(), "--root"])
            .args([root])
            .run()
    }
}

/// Returns the folders to search for programs: the `PATH`, then the folder of this task.
fn folders(workspace: &Workspace) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain([workspace.target_folder().join("tools/bin")]).collect()
}
