//! Running the git program: arguments, environment, errors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use context_core::base::display::clean;
use context_core::{Error, ErrorKind, Result, Retry};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::files::{native, shown};

/// Settings for every call, which win over those of the user: no hook and no monitor is run, and
/// no line ending is converted. Whether a file changed is seen by all that the system says of it.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    // Names and links that only other systems do not have.
    #[cfg(unix)]
    "core.symlinks=true",
    #[cfg(unix)]
    "core.protectNTFS=false",
    #[cfg(unix)]
    "core.protectHFS=false",
    "gc.autoDetach=false",
];

/// Variables of the caller that stay. All others of git would redirect the calls, for example if
/// the program runs in a hook.
const INHERITED: [&str; 4] =
    ["GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// The longest part of git's message in an error, in bytes.
const LONGEST_MESSAGE: usize = 500;

/// A repository as git is told of it.
#[derive(Clone, Debug)]
pub(super) struct Git {
    /// The folder in which git runs.
    pub(super) folder: PathBuf,
    /// Further variables, such as `GIT_DIR`.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Returns git in a folder, which finds the repository of the folder.
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new() }
    }

    /// Adds a variable.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs a command and returns its output.
    pub(super) async fn run(&self, operation: &'static str, args: &[&str]) -> Result<Vec<u8>> {
        self.feed(operation, args, Vec::new()).await
    }

    /// Returns a value of `rev-parse`, such as a path.
    pub(super) async fn path(&self, operation: &'static str, what: &[&str]) -> Result<PathBuf> {
        let args = [&["rev-parse"], what].concat();
        let output = self.run(operation, &args).await?;
        let value = output.strip_suffix(b"\n").unwrap_or(&output);
        native(value).ok_or_else(|| {
            Error::invalid(operation, "a path of the repository is not Unicode")
                .with("path", shown(value))
        })
    }

    /// Runs a command with an input and returns its output.
    pub(super) async fn feed(
        &self,
        operation: &'static str,
        args: &[&str],
        input: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let output = self.output(operation, args, input).await?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(failed(operation, args, &output))
    }

    /// Runs a command and returns its output, its messages and its status.
    pub(super) async fn output(
        &self,
        operation: &'static str,
        args: &[&str],
        input: Vec<u8>,
    ) -> Result<Output> {
        let mut child = self.spawn(operation, args, Stdio::piped())?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // If git ends before it has read everything, its status and message say why.
                let _ = stdin.write_all(&input).await;
            }
        };
        let ((), output) = tokio::join!(feed, wait(operation, child));
        output
    }

    /// Starts a command. It goes on if the child is dropped.
    pub(super) fn spawn(
        &self,
        operation: &'static str,
        args: &[&str],
        stdin: Stdio,
    ) -> Result<Child> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let of_git = name.to_str().is_some_and(|name| name.starts_with("GIT_"));
            if of_git && !INHERITED.iter().any(|kept| name == *kept) {
                command.env_remove(&name);
            }
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.folder).env("LC_ALL", "C");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in a terminal is for the caller alone: git is not to stop half way.
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let (kind, text) = match missing && self.folder.is_dir() {
                true => {
                    (ErrorKind::Unsupported, "the program git is not installed, or not in PATH")
                }
                false => (ErrorKind::Unavailable, "the program git cannot be started"),
            };
            let retry = Retry::of_io(&error);
            Error::new(kind, operation, text).with_retry(retry).with_source(error)
        })
    }
}

/// Waits until a command ends.
pub(super) async fn wait(operation: &'static str, child: Child) -> Result<Output> {
    child.wait_with_output().await.map_err(|error| {
        Error::new(ErrorKind::Unavailable, operation, "the program git was lost").with_source(error)
    })
}

/// Returns the error of a command that failed.
pub(super) fn failed(operation: &'static str, args: &[&str], output: &Output) -> Error {
    let command = args.first().copied().unwrap_or_default();
    Error::new(ErrorKind::Unavailable, operation, "git refused")
        .with_retry(Retry::Never)
        .with("command", command)
        .with("message", message(output))
}

/// Returns the messages of a command on one line.
pub(super) fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let mut line = clean(&line.join("; ")).to_string();
    if line.len() > LONGEST_MESSAGE {
        line.truncate(line.floor_char_boundary(LONGEST_MESSAGE));
        line.push('…');
    }
    line
}
