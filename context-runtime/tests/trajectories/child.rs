//! Another process: this program started again, to record and to be killed.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use context_simulator::faults::FaultPlan;
use serde::{Deserialize, Serialize};

use crate::process::Process;
use crate::run_storage::RunStorage;
use crate::script::Script;

/// The environment variable that makes the program a child and holds its task.
const VARIABLE: &str = "CONTEXT_TRAJECTORIES_CHILD";

/// Continues a conversation after this many steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) place: RunStorage,
    pub(crate) conversation: String,
    /// The file with its messages.
    pub(crate) messages: PathBuf,
    pub(crate) done: usize,
}

/// Returns the task of this process, if it is a child.
pub(crate) fn task() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Runs the task of a child. Prints a line for each acknowledged step, immediately.
pub(crate) async fn main(task: &str) -> ExitCode {
    let task: Task = serde_json::from_str(task).unwrap();
    let messages = serde_json::from_slice(&fs::read(task.messages).unwrap()).unwrap();
    let script = Script::of(task.conversation, messages);
    let process = Process::start(&task.place, FaultPlan::default()).await;
    for n in task.done..script.steps.len() {
        process.step(&script, n).await.unwrap();
        let mut out = io::stdout().lock();
        out.write_all(b"done\n").and_then(|()| out.flush()).unwrap();
    }
    ExitCode::SUCCESS
}

impl Task {
    /// Runs the task in a child that is killed after this many steps and then turns of an idle
    /// loop. Returns how many steps it acknowledged.
    pub(crate) fn killed_after(&self, steps: usize, spins: usize) -> usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(VARIABLE, serde_json::to_string(self).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        for _ in 0..steps {
            if out.read_line(&mut text).unwrap() == 0 {
                break;
            }
        }
        (0..spins).for_each(|_| std::hint::spin_loop());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        out.read_to_string(&mut text).unwrap();
        assert!(status.code().is_none_or(|code| code == 0), "a child failed: {status}");
        text.matches("done\n").count()
    }
}
