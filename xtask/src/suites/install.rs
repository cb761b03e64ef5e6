//! Programs and packages of other ecosystems, installed from their registries for one suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The oldest Node that all suites run on.
const NODE: u32 = 22;

/// A folder with npm packages, and the Node that runs them.
pub(super) struct Npm {
    /// The folder that has `node_modules`.
    pub(super) folder: PathBuf,
    node: PathBuf,
}

impl Npm {
    /// Installs packages, named with their versions. An old Node gets a newer one as a package.
    pub(super) fn install(folder: &Path, packages: &[&str]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let is_new = node_version()? >= NODE;
        let newer = format!("node@{NODE}");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-fund", "--no-audit", "--loglevel=error", "--save-exact"])
            .arg("--prefix")
            .arg(folder)
            .args(packages)
            .args((!is_new).then_some(newer));
        finish(&mut npm, "the npm packages could not be installed: is there a network?")?;
        let node = match is_new {
            true => PathBuf::from("node"),
            false => folder.join("node_modules/.bin/node"),
        };
        Ok(Self { folder: folder.to_path_buf(), node })
    }

    /// Returns a call of Node in the folder.
    pub(super) fn node(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.node);
        command.current_dir(&self.folder).arg(script);
        command
    }

    /// Returns the path of a file of the packages.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(path)
    }
}

/// Returns the first number of the version of Node.
fn node_version() -> Result<u32> {
    let output = Command::new("node").arg("--version").output();
    let output = output.context("Node.js could not be run: this suite needs it, with npm")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.trim().trim_start_matches('v').split('.').next();
    first.and_then(|first| first.parse().ok()).with_context(|| format!("no version: {said}"))
}

/// Makes a virtual environment of Python in a folder, and installs packages, named with their
/// versions. Returns the folder of its programs.
pub(super) fn python(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    let environment = folder.join("venv");
    let programs = environment.join("bin");
    if !programs.join("pip").exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&environment);
        finish(&mut make, "Python could not make a virtual environment: is there python3-venv?")?;
    }
    let mut pip = Command::new(programs.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    finish(&mut pip, "the Python packages could not be installed: is there a network?")?;
    Ok(programs)
}

/// Runs a program that must succeed.
pub(super) fn finish(command: &mut Command, otherwise: &'static str) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{name} could not be run"))?;
    ensure!(status.success(), otherwise);
    Ok(())
}
