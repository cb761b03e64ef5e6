//! The parent's side of a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::child::{Task, VARIABLE};
use crate::expect::fail;
use crate::verdict::{Check, Stop};

/// A child process that has been started and waits for the signal to begin.
pub(crate) struct Worker {
    child: Child,
    /// The folder for temporary files of the child, since a killed child cleans up nothing. Removed
    /// when the worker is dropped.
    _folder: TempDir,
}

/// Kills the child, so that it does not outlive a failed case.
impl Drop for Worker {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _status = self.child.wait();
    }
}

fn broken(error: std::io::Error) -> Stop {
    Stop::Fail(format!("a child process: {error}"))
}

impl Worker {
    pub(crate) fn start(task: &Task) -> Check<Self> {
        let task = serde_json::to_string(task).map_err(|error| Stop::Fail(error.to_string()))?;
        let program = std::env::current_exe().map_err(broken)?;
        let folder = tempfile::tempdir().map_err(broken)?;
        let mut command = Command::new(program);
        command.env(VARIABLE, task).env("TMPDIR", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        Ok(Self { child: command.spawn().map_err(broken)?, _folder: folder })
    }

    /// Signals the child to begin.
    pub(crate) fn go(&mut self) -> Check {
        let mut stdin = self
            .child
            .stdin
            .take()
            .ok_or_else(|| Stop::Fail("a child without standard input".into()))?;
        // A child that has exited already is noticed by its missing output.
        let _gone = stdin.write_all(b"go\n");
        Ok(())
    }

    /// Signals the child to begin and kills it after `lines` lines and `spins` iterations of an
    /// idle loop. Returns all lines it wrote.
    pub(crate) async fn killed_after(mut self, lines: usize, spins: usize) -> Check<Vec<String>> {
        self.go()?;
        off_the_runtime(move || {
            let out = self
                .child
                .stdout
                .take()
                .ok_or_else(|| Stop::Fail("a child without standard output".into()))?;
            let mut out = BufReader::new(out);
            let mut text = String::new();
            for _ in 0..lines {
                if out.read_line(&mut text).map_err(broken)? == 0 {
                    break;
                }
            }
            (0..spins).for_each(|_| std::hint::spin_loop());
            self.child.kill().map_err(broken)?;
            self.child.wait().map_err(broken)?;
            out.read_to_string(&mut text).map_err(broken)?;
            said(&text)
        })
        .await
    }

    /// Waits for the child to exit. Returns the lines it wrote.
    pub(crate) async fn ended(mut self) -> Check<Vec<String>> {
        off_the_runtime(move || {
            let mut text = String::new();
            if let Some(mut out) = self.child.stdout.take() {
                out.read_to_string(&mut text).map_err(broken)?;
            }
            let status = self.child.wait().map_err(broken)?;
            let lines = said(&text)?;
            if status.success() {
                Ok(lines)
            } else {
                fail(format!("a child process ended with {status}"))
            }
        })
        .await
    }
}

async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Check<T> + Send + 'static,
) -> Check<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Stop::Fail(format!("waiting for a child: {error}")))?
}

/// Returns the complete lines, or a failure if one of them is an error.
fn said(text: &str) -> Check<Vec<String>> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines: Vec<_> = whole.lines().map(ToOwned::to_owned).collect();
    match lines.iter().find_map(|line| line.strip_prefix("error ")) {
        Some(error) => fail(format!("in a child process: {error}")),
        None => Ok(lines),
    }
}
