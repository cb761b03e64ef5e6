//! Another process: this program started again, to write and to be killed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use context_core::{ChatRef, Result};
use serde::{Deserialize, Serialize};

use crate::backend::StoreLocation;
use crate::compete::compete;
use crate::plan::Plan;
use crate::writer::Writer;

/// The environment variable that makes the program a child and holds its task.
const VARIABLE: &str = "CONTEXT_FAULTS_CHILD";
/// The maximum number of writes of a child.
const MOST_WRITES: usize = 100_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) place: StoreLocation,
    pub(crate) chat: ChatRef,
    pub(crate) work: Work,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Writes until it is killed.
    Write,
    /// Appends this many messages with its name to `main`, where others do the same.
    Compete { name: String, messages: u64 },
}

/// Returns the task of this process, if it is a child.
pub(crate) fn task() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Runs the task of a child. Prints a line for each acknowledged write, immediately.
pub(crate) async fn main(task: &str) -> ExitCode {
    let Ok(task) = serde_json::from_str::<Task>(task) else { return ExitCode::FAILURE };
    let mut line = String::new();
    let _told_to_begin = io::stdin().lock().read_line(&mut line);
    match work(task).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error {error:?}").replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

async fn work(task: Task) -> Result<()> {
    let store = task.place.open(false).await?;
    match task.work {
        Work::Write => {
            let mut writer = Writer::new(store, task.chat);
            writer.begin().await?;
            for n in 0..MOST_WRITES {
                writer.write(n).await?;
                say("done");
            }
            Ok(())
        }
        Work::Compete { name, messages } => compete(&*store, &task.chat, &name, messages).await,
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _nobody_listens = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}

/// A child that waits for the start signal. Dropping it kills it.
pub(crate) struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _status = self.0.wait();
    }
}

impl Worker {
    pub(crate) fn start(task: &Task) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(VARIABLE, serde_json::to_string(task)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.spawn().map(Self)
    }

    pub(crate) fn go(&mut self) -> io::Result<()> {
        match self.0.stdin.take() {
            // A child that has exited already is noticed by its missing output.
            Some(mut stdin) => stdin.write_all(b"go\n").or(Ok(())),
            None => Ok(()),
        }
    }

    /// Waits for its end. Returns whether it succeeded, and its output.
    pub(crate) fn ended(mut self) -> io::Result<(bool, String)> {
        let mut text = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut text)?;
        }
        Ok((self.0.wait()?.success(), text))
    }

    fn killed_after(mut self, (lines, spins): (usize, usize)) -> io::Result<String> {
        self.go()?;
        let out =
            self.0.stdout.take().ok_or_else(|| io::Error::other("a child without an output"))?;
        let mut out = BufReader::new(out);
        let mut text = String::new();
        for _ in 0..lines {
            if out.read_line(&mut text)? == 0 {
                break;
            }
        }
        (0..spins).for_each(|_| std::hint::spin_loop());
        self.0.kill()?;
        self.0.wait()?;
        out.read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Lets a child write and kills it as planned. Returns how many writes were acknowledged.
pub(crate) async fn killed(
    place: &StoreLocation,
    chat: &ChatRef,
    plan: &Plan,
) -> io::Result<usize> {
    let task = Task { place: place.clone(), chat: chat.clone(), work: Work::Write };
    let kill = plan.kill;
    let killing = move || Worker::start(&task)?.killed_after(kill);
    let text = tokio::task::spawn_blocking(killing).await.map_err(io::Error::other)??;
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    match whole.lines().find(|line| line.starts_with("error")) {
        Some(error) => Err(io::Error::other(format!("in a child: {error}"))),
        None => Ok(whole.lines().filter(|line| *line == "done").count()),
    }
}
