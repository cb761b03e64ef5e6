//! The protocol between `cargo xtask bench peers` and a driver: a job on a line, an answer on a
//! line.
//!
//! A job is `CASE N TIMES`: run this case TIMES times on a chat of N messages. An answer is a JSON
//! object: the cost per run, or the reason why it is not run. A driver prepares what it needs
//! before it begins to measure, and keeps it for the next job. Only this file is shared with the
//! driver of the peer in Rust, so it depends on neither library.

use std::io::{BufRead, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// A job.
pub(crate) struct Job {
    pub(crate) case: String,
    /// The messages of the chat.
    pub(crate) n: usize,
    /// The number of runs.
    pub(crate) times: usize,
}

/// The driver and its environment.
pub(crate) struct About {
    pub(crate) peer: &'static str,
    pub(crate) version: &'static str,
    /// The version of SQLite.
    pub(crate) sqlite: String,
    /// The value of `PRAGMA journal_mode`.
    pub(crate) journal_mode: String,
    /// The value of `PRAGMA synchronous`, as a number.
    pub(crate) synchronous: i64,
}

/// CPU time of all threads of this process, and wall time, since its creation.
pub(crate) struct Meter {
    cpu: Duration,
    wall: Duration,
}

/// Reads the jobs on standard input, until it is closed or a line is not a job.
pub(crate) fn jobs() -> impl Iterator<Item = Job> {
    let parse = |line: String| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let case = words.next()?;
        let mut number = || words.next()?.parse().ok();
        Some(Job { case, n: number()?, times: number()? })
    };
    std::io::stdin().lock().lines().map_while(Result::ok).map_while(parse)
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { cpu: now(ClockId::ProcessCPUTime), wall: now(ClockId::Monotonic) }
    }

    /// Answers a completed job.
    pub(crate) fn stop(self, job: &Job, about: &About) {
        let each = |clock, since| (now(clock) - since).as_secs_f64() * 1e6 / job.times as f64;
        let (cpu, wall) =
            (each(ClockId::ProcessCPUTime, self.cpu), each(ClockId::Monotonic, self.wall));
        say(&json!({
            "peer": about.peer, "version": about.version, "sqlite": about.sqlite, "case": job.case, "n": job.n,
            "cpu_us": cpu, "wall_us": wall, "journal_mode": about.journal_mode,
                "synchronous": about.synchronous,
        }));
    }
}

/// Answers a job that is not run.
pub(crate) fn skip(job: &Job, peer: &str, why: &str) {
    say(&json!({ "peer": peer, "case": job.case, "n": job.n, "skipped": why }));
}

/// Returns 400 bytes, the same in the drivers of all languages.
pub(crate) fn text(i: usize) -> String {
    let mut text = format!("Message {i}: ");
    while text.len() < 400 {
        text.push_str(
            "the train to Lisbon leaves at nine, \"ask\" before you pay, keep the receipt. ",
        );
    }
    text.truncate(400);
    text
}

fn say(answer: &serde_json::Value) {
    let mut out = std::io::stdout().lock();
    // The reader may have closed the pipe.
    let _closed = writeln!(out, "{answer}").and_then(|()| out.flush());
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
