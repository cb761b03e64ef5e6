//! A driver process: it reads a job from a line and prints the answer on a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The answer of a driver to a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Answer {
    pub(super) peer: String,
    #[serde(default)]
    pub(super) version: String,
    /// The version of SQLite.
    #[serde(default)]
    pub(super) sqlite: String,
    #[serde(default)]
    pub(super) journal_mode: String,
    /// `PRAGMA synchronous`: 1 is NORMAL, 2 is FULL.
    #[serde(default)]
    pub(super) synchronous: i64,
    /// The CPU time per repetition in microseconds, summed over all threads.
    #[serde(default)]
    pub(super) cpu_us: f64,
    /// The wall time per repetition in microseconds.
    #[serde(default)]
    pub(super) wall_us: f64,
    /// The reason why the job was not done.
    pub(super) skipped: Option<String>,
}

/// A running driver. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Driver {
    child: Child,
    jobs: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts the driver with inherited standard error.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", command.get_program().display()))?;
        let jobs = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("a driver without output")?);
        Ok(Self { child, jobs, answers })
    }

    /// Runs a job.
    pub(super) fn run(&mut self, case: &str, n: usize, times: usize) -> Result<Answer> {
        let jobs = self.jobs.as_mut().context("a driver without input")?;
        writeln!(jobs, "{case} {n} {times}").context("the driver has ended")?;
        jobs.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the driver ended at {case} of {n} messages");
        }
        parse(&line)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A driver exits at the end of its input.
        drop(self.jobs.take());
        let _status = self.child.wait();
    }
}

fn parse(line: &str) -> Result<Answer> {
    serde_json::from_str(line).with_context(|| format!("no answer of a driver: {}", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_answer_has_times_or_a_reason() {
        let line = r#"{"peer":"p","version":"1","sqlite":"3.46","case":"load","n":5,"cpu_us":1.5,"wall_us":2,"journal_mode":"wal","synchronous":2}"#;
        let answer = parse(line).unwrap();
        assert_eq!((answer.cpu_us, answer.wall_us, answer.synchronous), (1.5, 2.0, 2));
        let answer = parse(r#"{"peer":"p","case":"fork","n":5,"skipped":"no branches"}"#).unwrap();
        assert_eq!(answer.skipped.as_deref(), Some("no branches"));
    }

    #[test]
    fn what_is_no_answer_is_shown() {
        assert!(parse("Traceback\n").unwrap_err().to_string().ends_with("Traceback"));
    }
}
