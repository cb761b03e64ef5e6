//! Loss of power: the store is opened in every state in which a disk may be afterwards. It is
//! sound, it has what the durability promises, and what was lost is the newest.
//!
//! The program is also the process that is recorded.

mod chats;
mod maintenance;
mod writers;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use context_conformance::power::{self, PowerOutcome, PowerTest};

fn main() -> ExitCode {
    let tests: [Arc<dyn PowerTest>; 8] = [
        Arc::new(writers::what_a_loss_of_power_takes_is_the_newest()),
        Arc::new(writers::full_commits_outlive_a_loss_of_power()),
        Arc::new(writers::commits_that_ask_for_more_outlive_a_loss_of_power()),
        Arc::new(writers::commits_that_ask_for_less_do_no_harm()),
        Arc::new(writers::commits_of_one_transaction_are_sound_after_a_loss_of_power()),
        Arc::new(writers::full_commits_of_one_transaction_outlive_a_loss_of_power()),
        Arc::new(maintenance::a_reported_backup_outlives_a_loss_of_power()),
        Arc::new(maintenance::an_erased_user_does_not_come_back()),
    ];
    power::main(tests)
}

/// Runs the asynchronous part of a test.
fn block_on(work: impl Future<Output = PowerOutcome>) -> PowerOutcome {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(work)
}

/// Whether SQLite maps a file for writing: the index of the log, which is made anew after a crash.
fn is_index_of_log(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with("-shm"))
}
