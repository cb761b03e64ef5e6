//! The peers: which versions, how they are installed, how their drivers are started.
//!
//! Each has a folder of its own. A file there says which version is installed whole, so that a
//! second run installs nothing and an interrupted one begins again.

use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::bench::machine::said;
use crate::process::Cargo;

/// A library that is raced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Peer {
    Deepagents,
    OpenaiAgents,
    Langgraph,
    Adk,
}

/// A peer that can be raced.
pub(super) struct Installed {
    /// Its driver, which still wants a folder for its data.
    pub(super) command: Command,
    /// What it runs on, as a report says it.
    pub(super) runs_on: String,
}

/// The runtime that its store needs; older ones have no SQLite.
const NODE: &str = "24.21.0";

impl Peer {
    pub(super) const ALL: [Self; 4] =
        [Self::Deepagents, Self::OpenaiAgents, Self::Langgraph, Self::Adk];

    /// What `--only` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Deepagents => "deepagents",
            Self::OpenaiAgents => "openai-agents",
            Self::Langgraph => "langgraph",
            Self::Adk => "adk",
        }
    }

    /// Installs what is not there yet.
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

/// A package of npm's, and a runtime that is new enough beside it.
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
    // Packages are looked for beside the program that asks for them.
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

/// A package of PyPI's, in an environment of its own.
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
    // Nothing is left behind among the sources.
    command.arg(driver).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(Installed { command, runs_on: version })
}

/// A package of ours outside the workspace, optimised.
fn rust(source: &Path, folder: &Path) -> Result<Installed> {
    let program = Cargo::building_into(folder, source, "build")
        .args(["--quiet", "--release", "--locked"])
        .program("peer-adk")?;
    Ok(Installed { command: Command::new(program), runs_on: crate::bench::machine::compiler() })
}

/// Installs, unless this was installed before.
fn once(folder: &Path, wanted: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    Ok(fs::write(mark, wanted)?)
}

/// Runs an installer; what it says goes to standard error, where progress is shown.
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
