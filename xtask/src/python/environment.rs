//! Virtual environments of Python, and our package in them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::Verdict;
use crate::workspace::Workspace;

/// The version of the program that builds wheels.
const MATURIN: &str = "maturin==1.16.0";

/// An installed Python that can run the package.
#[derive(Debug)]
pub(crate) struct Python(PathBuf);

impl Python {
    /// Finds Python 3.10 or newer.
    pub(crate) fn find() -> Option<Self> {
        const CHECK: &str = "import sys, venv; sys.exit(sys.version_info < (3, 10))";
        let works = |name: &&str| {
            let mut command = Command::new(name);
            command.args(["-c", CHECK]).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        ["python3", "python"].into_iter().find(works).map(|name| Self(name.into()))
    }
}

/// A virtual environment.
#[derive(Debug)]
pub(crate) struct Environment {
    folder: PathBuf,
    program: PathBuf,
}

impl Environment {
    /// Opens the environment in a folder, and makes it if there is none.
    pub(crate) fn at(python: &Python, folder: &Path) -> Result<Self> {
        let venv = folder.join("venv");
        let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let program = venv.join(inside);
        if !program.is_file() {
            let mut make = Command::new(&python.0);
            make.args(["-m", "venv", "--clear"]).arg(&venv);
            let made = run(make)? == Verdict::Passed;
            ensure!(made, "no virtual environment in {}", venv.display());
        }
        Ok(Self { folder: folder.to_owned(), program })
    }

    /// Returns a call of the environment's Python. It writes no bytecode next to sources.
    pub(crate) fn python(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Installs packages from their registry. Those that are installed need no network.
    pub(crate) fn install(&self, packages: &[impl AsRef<OsStr>]) -> Result<()> {
        let installed = run(self.pip(packages))? == Verdict::Passed;
        ensure!(installed, "pip could not install the packages: is there a network?");
        Ok(())
    }

    fn pip(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(arguments);
        pip
    }

    /// Builds our wheel and installs it with some of its extras.
    pub(crate) fn install_package(&self, workspace: &Workspace, extras: &[&str]) -> Result<()> {
        self.install(&[MATURIN])?;
        let wheels = self.folder.join("wheels");
        // An older wheel would hide that none was built.
        if wheels.is_dir() {
            fs::remove_dir_all(&wheels)?;
        }
        let mut maturin = self.python();
        maturin.current_dir(package(workspace)).env("CARGO_TARGET_DIR", workspace.target_folder());
        maturin.args(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--locked"]);
        maturin.arg("--interpreter").arg(&self.program).arg("--out").arg(&wheels);
        ensure!(run(maturin)? == Verdict::Passed, "the wheel could not be built");
        let built = fs::read_dir(&wheels)?.filter_map(Result::ok).map(|entry| entry.path());
        let wheel = built.last().context("maturin built no wheel")?;
        // The version of a wheel stays while its content changes.
        let forced = run(self.pip(&[
            OsStr::new("--force-reinstall"),
            OsStr::new("--no-deps"),
            OsStr::new("--no-index"),
            wheel.as_os_str(),
        ]))?;
        ensure!(forced == Verdict::Passed, "the wheel could not be installed");
        if extras.is_empty() {
            return Ok(());
        }
        self.install(&[format!("context-layer[{}]", extras.join(","))])
    }
}

/// Returns the folder of our package.
pub(crate) fn package(workspace: &Workspace) -> PathBuf {
    workspace.root().join("bindings").join("python")
}

/// Runs a program with inherited output streams.
pub(crate) fn run(mut command: Command) -> Result<Verdict> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    Ok(Verdict::of(status.success()))
}
