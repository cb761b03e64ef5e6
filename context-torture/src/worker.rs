//! Workers: processes that run a range of checks each, so that a hang, a crash or a memory leak
//! affects only one check.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::settings::TortureSettings;
use crate::tally::Tally;

/// The time after which a silent worker counts as hanging.
const SILENCE: Duration = Duration::from_secs(60);
/// The memory limit of a process, in bytes of address space.
const MEMORY: u64 = 4 << 30;

/// Limits the memory of this process.
pub fn limit_memory() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Where memory cannot be limited, the time limit remains.
    let _ = setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) });
}

/// Runs the checks of a range in this process and prints a line for each.
pub fn work(
    range: std::ops::Range<u64>,
    check: impl Fn(u64) -> Result<(), String>,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for number in range {
        match check(number) {
            Ok(()) => writeln!(out, "{number} ok")?,
            Err(why) => writeln!(out, "{number} {}", why.replace('\n', " · "))?,
        }
        out.flush()?;
    }
    Ok(())
}

/// Distributes the checks of a part over workers, one per processor.
pub fn share(part: &str, settings: &TortureSettings, checks: u64) -> Tally {
    let workers = thread::available_parallelism().map_or(2, |n| n.get() as u64).min(checks.max(1));
    let each = checks.div_ceil(workers.max(1));
    let mut all = Tally::default();
    thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|n| (n * each)..((n + 1) * each).min(checks))
            .map(|range| scope.spawn(|| watch(part, settings.seed, range)))
            .collect();
        for worker in started {
            match worker.join() {
                Ok(tally) => all.add(tally),
                Err(_) => all.failed.push(format!("{part}: the watcher fell over")),
            }
        }
    });
    all
}

/// Runs workers for a range. If one ends early, the next continues after the failed check.
fn watch(part: &str, seed: u64, range: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    let mut next = range.start;
    while next < range.end {
        let before = next;
        let ended = run_worker(part, seed, next..range.end, |number, result| {
            tally.count(format_args!("{part} {number} (seed {seed})"), result);
            next = number + 1;
        });
        if let Err(why) = ended {
            tally.count(format_args!("{part} {next} (seed {seed})"), Err(why));
            next += 1;
        } else if next < range.end {
            tally.failed.push(format!("{part}: a worker ended at {next}"));
            next = next.max(before) + 1;
        }
    }
    tally
}

/// Runs a worker until it exits. The error is the reason of an abnormal end.
fn run_worker(
    part: &str,
    seed: u64,
    range: std::ops::Range<u64>,
    mut on_result: impl FnMut(u64, Result<(), String>),
) -> Result<(), String> {
    let text = |error: io::Error| format!("no worker: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(text)?);
    command
        .args(["work", part])
        .args([seed, range.start, range.end].map(|number| number.to_string()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(text)?;
    let Some(out) = child.stdout.take() else { return Err("no worker: no pipe".to_owned()) };
    let (send, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let ended = loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                if let Some((number, result)) = line.split_once(' ')
                    && let Ok(number) = number.parse()
                {
                    on_result(number, if result == "ok" { Ok(()) } else { Err(result.to_owned()) });
                }
            }
            Err(RecvTimeoutError::Disconnected) => break status(&mut child),
            Err(RecvTimeoutError::Timeout) => {
                // The process may be gone already.
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("hangs: no end within {} s", SILENCE.as_secs()));
            }
        }
    };
    drop(reader.join());
    ended
}

fn status(child: &mut Child) -> Result<(), String> {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the process died: {status}")),
        Err(error) => Err(format!("the process is lost: {error}")),
    }
}
