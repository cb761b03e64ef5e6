//! Running cargo. Child processes inherit the terminal, so Ctrl-C reaches them, too.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;

use crate::workspace::package_name;

/// The result of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// There are no findings.
    Passed,
    /// There are findings, which have been printed.
    Failed,
}

impl Verdict {
    /// Returns [`Passed`](Self::Passed) if the condition holds.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Passed } else { Self::Failed }
    }

    /// Returns [`Passed`](Self::Passed) if both are.
    pub fn and(self, other: Self) -> Self {
        Self::of(self == Self::Passed && other == Self::Passed)
    }
}

/// A call of cargo.
#[derive(Debug)]
pub(crate) struct Cargo(Command);

impl Cargo {
    /// Creates a call of `cargo SUBCOMMAND` in a folder.
    pub(crate) fn new(folder: &Path, subcommand: &str) -> Self {
        // Cargo passes its own path, so that the selected toolchain is kept.
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(folder).arg(subcommand);
        // These are about xtask itself. The build scripts of some crates run again if they change,
        // so everything behind those crates would be built once more than without xtask. And
        // cargo-machete takes its own name for a folder if it finds them.
        let of_xtask = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        };
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_xtask)) {
            command.env_remove(name);
        }
        Self(command)
    }

    /// Creates a call of `cargo SUBCOMMAND` in a folder, with another target folder.
    pub(crate) fn building_into(target: &Path, folder: &Path, subcommand: &str) -> Self {
        Self::new(folder, subcommand).env("CARGO_TARGET_DIR", target)
    }

    /// Adds arguments. After `-p` and `--package`, a crate may stand for its package.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        for arg in args {
            let names = |last: &OsStr| last == "-p" || last == "--package";
            match arg.as_ref().to_str() {
                Some(krate) if self.0.get_args().last().is_some_and(names) => {
                    self.0.arg(package_name(krate));
                }
                _ => {
                    self.0.arg(arg);
                }
            }
        }
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Sets environment variables.
    pub(crate) fn envs<V: AsRef<OsStr>>(mut self, variables: &[(&'static str, V)]) -> Self {
        self.0.envs(variables.iter().map(|(name, value)| (name, value.as_ref())));
        self
    }

    /// Sets an environment variable if there is a value.
    pub(crate) fn env_if(self, name: &str, value: Option<impl AsRef<OsStr>>) -> Self {
        match value {
            Some(value) => self.env(name, value),
            None => self,
        }
    }

    /// Runs the call with inherited output streams.
    pub(crate) fn run(self) -> Result<Verdict> {
        Ok(Verdict::of(self.status()?.success()))
    }

    /// Runs the call with inherited output streams, and returns how it ended.
    pub(crate) fn status(mut self) -> Result<ExitStatus> {
        self.0.status().with_context(|| format!("could not run {:?}", self.0))
    }

    /// Runs the call, passes its standard output on, and hands each line to `read`.
    pub(crate) fn run_reading(mut self, mut read: impl FnMut(&str)) -> Result<Verdict> {
        self.0.stdout(Stdio::piped());
        let mut child = self.0.spawn().with_context(|| format!("could not run {:?}", self.0))?;
        if let Some(output) = child.stdout.take() {
            let mut lines = BufReader::new(output);
            let (mut line, mut out) = (Vec::new(), std::io::stdout());
            while lines.read_until(b'\n', &mut line)? > 0 {
                out.write_all(&line)?;
                read(String::from_utf8_lossy(&line).trim_end());
                line.clear();
            }
        }
        Ok(Verdict::of(child.wait()?.success()))
    }

    /// Builds the test program of this name, for a call of `cargo test` that names one package.
    /// Returns its path.
    pub(crate) fn test_program(self, name: &str) -> Result<PathBuf> {
        self.args(["--quiet", "--test", name, "--no-run"]).program(name)
    }

    /// Builds the unit tests of a package like [`test_program`](Self::test_program).
    pub(crate) fn unit_tests(self, package: &str) -> Result<PathBuf> {
        self.args(["--quiet", "--lib", "--no-run"]).program(&package.replace('-', "_"))
    }

    /// Builds the benchmark of this name, for a call of `cargo bench` that names one package.
    /// Returns its path.
    pub(crate) fn bench_program(self, name: &str) -> Result<PathBuf> {
        self.args(["--quiet", "--bench", name, "--no-run"]).program(name)
    }

    /// Builds the program of this name and returns its path.
    pub(crate) fn program(self, name: &str) -> Result<PathBuf> {
        let output = self.args(["--message-format", "json-render-diagnostics"]).output()?;
        ensure!(output.status.success(), "the program {name} does not build");
        let messages = Message::parse_stream(output.stdout.as_slice());
        let program = messages.filter_map(|message| match message {
            Ok(Message::CompilerArtifact(artifact)) if artifact.target.name == name => {
                artifact.executable
            }
            _ => None,
        });
        Ok(program.last().context("cargo named no such program")?.into_std_path_buf())
    }

    /// Runs the call and captures its standard output.
    pub(crate) fn output(mut self) -> Result<Output> {
        self.0.stderr(Stdio::inherit());
        self.0.output().with_context(|| format!("could not run {:?}", self.0))
    }
}
