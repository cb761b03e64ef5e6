//! The peers: their versions, their installation, and the start of their drivers.
//!
//! Each peer has its own folder. A file there names the version that is completely installed. So a
//! second run installs nothing, and an interrupted installation starts again.

use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::bench::machine::said;
use crate::process::Cargo;

/// A library to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Peer {
    Deepagents,
    OpenaiAgents,
    Langgraph,
    Adk,
}

/// An installed peer.
pub(super) struct Installed {
    /// The command of its driver, without the folder for its data.
    pub(super) command: Command,
    /// The runtime it uses, for the report.
    pub(super) runs_on: String,
}

/// The version of Node that its store needs. Older ones have no SQLite.
const NODE: &str = "24.21.0";

impl Peer {
    pub(super) const ALL: [Self; 4] =
        [Self::Deepagents, Self::OpenaiAgents, Self::Langgraph, Self::Adk];

    /// Returns the name for `--only`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Deepagents => "deepagents",
            Self::OpenaiAgents => "openai-agents",
            Self::Langgraph => "langgraph",
            Self::Adk => "adk",
        }
    }

    /// Installs the peer, unless it is installed already.
    pub(super) fn install(self, sources: &Path, folder: &Path) -> Result<Installed> {
        fs::create_dir_all(folder)?;
        match self {
            Self::Deepagents => node(sources, folder, "@deepagents/context@0.29.1"),
            Self::OpenaiAgents => {
                python(&sources.join("drive_openai_agents.py"), folder, "openai-agents==0.24.0")
            }
            Self::Langgraph => python(
                &sources.join("drive_langgraph.py"),
                folder,
                "langgraph-checkpoint-sqlite==3.1.2",
            ),
            Self::Adk => rust(&sources.join("adk"), folder),
        }
    }
}

/// Installs an npm package, with a recent Node next to it.
fn node(sources: &Path, folder: &Path, package: &str) -> Result<Installed> {
    let runtime =
        format!("node-{}-{}", platform(), if ARCH == "aarch64" { "arm64" } else { "x64" });
    let wanted = format!("{package} {runtime}@{NODE}");
    once(folder, &wanted, || {
        let flags = [
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel",
            "error",
            "--prefix",
        ];
        done(Command::new("npm").args(flags).arg(folder).args(wanted.split(' ')))
    })?;
    // Node looks for packages next to the program that imports them.
    let driver = folder.join("drive_deepagents.mjs");
    fs::copy(sources.join("drive_deepagents.mjs"), &driver)?;
    let program =
        folder.join("node_modules").join(runtime).join("bin").join(format!("node{EXE_SUFFIX}"));
    let mut command = Command::new(program);
    command.arg(driver);
    Ok(Installed { command, runs_on: format!("Node {NODE}") })
}

fn platform() -> &'static str {
    match OS {
        "macos" => "darwin",
        "windows" => "win",
        other => other,
    }
}

/// Installs a PyPI package in its own virtual environment.
fn python(driver: &Path, folder: &Path, package: &str) -> Result<Installed> {
    let environment = folder.join("venv");
    let program: PathBuf = environment.join("bin/python");
    once(folder, package, || {
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
        done(Command::new(&program).args(pip))
    })?;
    let version =
        said(Command::new(&program).arg("--version")).unwrap_or_else(|| "Python".to_owned());
    let mut command = Command::new(program);
    // Do not write bytecode next to the sources.
    command.arg(driver).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(Installed { command, runs_on: version })
}

/// Builds our own package outside the workspace, optimised.
fn rust(source: &Path, folder: &Path) -> Result<Installed> {
    let program = Cargo::building_into(folder, source, "build")
        .args(["--quiet", "--release", "--locked"])
        .program("peer-adk")?;
    Ok(Installed { command: Command::new(program), runs_on: crate::bench::machine::compiler() })
}

/// Runs an installation, unless this version is installed already.
fn once(folder: &Path, wanted: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    Ok(fs::write(mark, wanted)?)
}

/// Runs an installer. Its progress goes to standard error.
fn done(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).status();
    let status = output.with_context(|| format!("{program} is missing"))?;
    ensure!(status.success(), "{program} failed: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Peer, once};

    #[test]
    fn what_is_installed_is_installed_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut installs = 0;
        for wanted in ["a 1", "a 1", "a 2"] {
            once(folder.path(), wanted, || {
                installs += 1;
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(installs, 2);
        assert!(once(folder.path(), "a 3", || anyhow::bail!("no network")).is_err());
        once(folder.path(), "a 3", || Ok(())).unwrap();
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        use clap::ValueEnum;
        for peer in Peer::ALL {
            assert_eq!(Peer::from_str(peer.name(), false), Ok(peer));
        }
    }
}
