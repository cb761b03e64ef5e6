//! `cargo xtask torture`: damaged files, killed writers, full disks and hostile input against the
//! whole command.
//!
//! The checks are in `context-torture`, which links the command. This task builds that crate, the
//! command and the program that writes request bodies, finds a Python for the checker of those
//! bodies, and runs the checks.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process::{Cargo, Verdict};
use crate::workspace::{KIT, TORTURE, Workspace};

/// The packages that the checker of bodies needs, by their names in the package index.
const PACKAGES: [&str; 4] = ["openai", "anthropic", "google-genai", "pydantic"];
const PYTHON: &str = "CONTEXT_PYTHON";

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Run for hours instead of minutes
    #[arg(long)]
    long: bool,
    /// The seed of random checks, printed with every run [default: a new one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run only these parts; may be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// The number of checks of repeated kinds, such as damaged files [default: as many as the time
    /// allows]
    #[arg(long, value_name = "N")]
    checks: Option<u64>,
    /// List the parts
    #[arg(long)]
    list: bool,
}

impl Args {
    /// Returns the arguments to run all parts for hours.
    pub(crate) fn hours(seed: Option<u64>) -> Self {
        Self { long: true, seed, ..Self::default() }
    }

    /// Returns the same arguments for the program, except for the scale.
    fn given(&self) -> Vec<String> {
        let number = |name: &str, given: Option<u64>| {
            given.map(|given| [name.to_owned(), given.to_string()])
        };
        let mut all: Vec<String> = number("--seed", self.seed).into_iter().flatten().collect();
        all.extend(number("--checks", self.checks).into_iter().flatten());
        all.extend(self.only.iter().flat_map(|part| ["--only".to_owned(), part.clone()]));
        all.extend(self.list.then(|| "--list".to_owned()));
        all
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let build = |package: &str, kind: &str, name: &str| {
        let cargo = Cargo::new(workspace.root(), "build");
        cargo.args(["--quiet", "--all-features", "--package", package, kind, name]).program(name)
    };
    let torture = build(TORTURE, "--bin", TORTURE)?;
    let mut program = Command::new(torture);
    program.args(["--scale", if args.long { "hours" } else { "minutes" }]).args(args.given());
    if !args.list {
        program.env("CONTEXT_TORTURE_COMMAND", build("context-cli", "--bin", "context")?);
        let is_wanted = args.only.is_empty() || args.only.iter().any(|part| part == "wire");
        if is_wanted {
            program.env("CONTEXT_TORTURE_BODIES", build(KIT, "--example", "wire_bodies")?);
            if let Some(python) = python(workspace) {
                program.env(PYTHON, python);
            }
        }
    }
    let status = program.status().context("the program of the checks does not run")?;
    Ok(Verdict::of(status.success()))
}

/// Returns a Python with the packages of the providers: the one that the environment names, else
/// one that is created below the target folder. Returns `None` if that fails.
fn python(workspace: &Workspace) -> Option<PathBuf> {
    if let Some(named) = env::var_os(PYTHON).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folder = workspace.target_folder().join("torture/python");
    let python = folder.join("bin/python");
    let done = |command: &mut Command| {
        command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let has_packages = |python: &PathBuf| {
        done(
            Command::new(python)
                .args(["-c", "import openai, anthropic, google.genai"])
                .stderr(Stdio::null()),
        )
    };
    if has_packages(&python) {
        return Some(python);
    }
    let made = done(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && done(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES));
    made.then_some(python)
}
