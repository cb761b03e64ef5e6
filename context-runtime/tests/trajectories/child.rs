//! Another process: this program, run by itself to record and to be killed.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use context_conformance::FaultPlan;
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::process::Process;
use crate::script::Script;

/// Tells the program that it is a child, and what it is to do.
const VARIABLE: &str = "CONTEXT_TRAJECTORIES_CHILD";

/// Goes on with a conversation after so many steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) place: Place,
    pub(crate) conversation: String,
    /// The file with its messages.
    pub(crate) messages: PathBuf,
    pub(crate) done: usize,
}

/// What this process is to do as a child, if it is one.
pub(crate) fn task() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// What it does: a line for each step that was acknowledged, at once.
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
    /// Has it done by a child that is killed after so many steps and then so many turns of an idle
    /// loop. Returns how many it acknowledged.
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
