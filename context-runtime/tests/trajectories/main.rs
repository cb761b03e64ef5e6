//! Recorded conversations as trajectories: killed anywhere and restored, each equals its run
//! without faults.
//!
//! A conversation becomes rounds, which are recorded step by step, in SQLite and in local files.
//! The run without faults is compared with others: a process stops without cleanup after any step,
//! the store fails before or after a write, the newest line of a file is cut off at any byte, a
//! process is killed from outside. The next process sees the complete rounds as of the last step
//! that was written, and continues from there. At the end all runs are the same, in every channel.
//!
//! The times of faults come from a seed, which a failure prints. The conversations are those of
//! `context_simulator::conversations`, below `CONTEXT_TEST_DATA`, else `shared` beside the
//! workspace. Without them the tests are ignored with a message.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod child;
mod fault_runs;
mod kills;
mod process;
mod run_storage;
mod script;

use std::process::ExitCode;
use std::sync::Arc;

use context_simulator::recordings;
use libtest_mimic::{Arguments, Completion, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::fault_runs::every_conversation_that_is_killed_and_restored_is_as_if_it_never_was;
use crate::script::Script;

/// The first seed.
const SEED: u64 = 0x5eed;

fn main() -> ExitCode {
    if let Some(task) = child::task() {
        return runtime().block_on(child::main(&task));
    }
    let scripts = recordings::folder().map(|folder| Arc::new(script::all(&folder)));
    let trials = vec![
        trial(
            "fault_runs::every_conversation_that_is_killed_and_restored_is_as_if_it_never_was",
            &scripts,
            |all| {
                runtime().block_on(
                    every_conversation_that_is_killed_and_restored_is_as_if_it_never_was(all),
                );
            },
        ),
        trial("kills::a_process_that_is_killed_loses_no_step", &scripts, |all| {
            runtime().block_on(kills::a_process_that_is_killed_loses_no_step(all));
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Returns a test of all conversations, ignored if there are none.
fn trial(name: &str, scripts: &Option<Arc<Vec<Script>>>, test: fn(Arc<Vec<Script>>)) -> Trial {
    let scripts = scripts.clone();
    Trial::ignorable_test(name, move || {
        let Some(scripts) = scripts else { return Ok(Completion::ignored_with("no test data")) };
        test(scripts);
        Ok(Completion::Completed)
    })
}
