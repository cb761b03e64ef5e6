//! The command of the workspace with a store of its own, and a service over it.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::Cargo;
use crate::workspace::Workspace;

/// The crate of the command, and its program.
const CRATE: &str = "context-cli";
const PROGRAM: &str = "context";

/// The command, with an empty store in a temporary folder.
pub(super) struct Ours {
    program: PathBuf,
    folder: TempDir,
}

impl Ours {
    /// Builds the command.
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let program = Cargo::new(workspace.root(), "build")
            .args(["--quiet", "--locked", "-p", CRATE, "--bin", PROGRAM])
            .program(PROGRAM)?;
        Ok(Self { program, folder: tempfile::tempdir()? })
    }

    /// Returns the same command with another empty store.
    pub(super) fn with_new_store(&self) -> Result<Self> {
        Ok(Self { program: self.program.clone(), folder: tempfile::tempdir()? })
    }

    /// Returns the program and the arguments that select the store.
    pub(super) fn words(&self) -> Vec<String> {
        let store = format!("sqlite:{}", self.folder.path().join("store.db").display());
        vec![self.program.display().to_string(), "--json".to_owned(), "--store".to_owned(), store]
    }

    /// Returns a call of the command with the store.
    pub(super) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut words = self.words().into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(args);
        command
    }

    /// Runs the command and returns what it wrote.
    pub(super) fn output(&self, args: &[&str]) -> Result<String> {
        let output = self.command(args).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "context {} failed", args.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Makes a token of a user, and adds its line to the file of tokens.
    pub(super) fn new_token(&self, user: &str) -> Result<String> {
        let made: Value = serde_json::from_str(&self.output(&["serve", "--new-token", user])?)?;
        let field = |name: &str| {
            let text = made[name].as_str();
            text.with_context(|| format!("the token has no {name}")).map(ToOwned::to_owned)
        };
        let mut file = OpenOptions::new().create(true).append(true).open(self.tokens())?;
        writeln!(file, "{}", field("line")?)?;
        field("token")
    }

    fn tokens(&self) -> PathBuf {
        self.folder.path().join("tokens")
    }

    /// Starts a service on a free port, with the tokens that were made.
    pub(super) fn serve(&self) -> Result<Served> {
        let tokens = self.tokens();
        let mut command = self.command(["serve"]);
        if tokens.exists() {
            command.arg("--tokens").arg(&tokens);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take();
        let mut served = Served { child, url: String::new() };
        let mut line = String::new();
        BufReader::new(out.context("the service has no output")?).read_line(&mut line)?;
        let record: Value = serde_json::from_str(&line).context("the service did not start")?;
        served.url = record["url"].as_str().context("the service has no address")?.to_owned();
        Ok(served)
    }
}

/// A running service, which ends with this value.
pub(super) struct Served {
    child: Child,
    pub(super) url: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // As an operator ends it. There is nobody left to tell about a failure.
        let asked = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
