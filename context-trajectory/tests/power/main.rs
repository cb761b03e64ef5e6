//! Loss of power: the files of rounds and of messages are opened in every state in which a disk may
//! be afterwards.
//!
//! The program is also the process that is recorded.

mod channel;
mod messages;
mod rounds;

use std::process::ExitCode;
use std::sync::Arc;

use context_conformance::power::{self, PowerOutcome, PowerTest};

fn main() -> ExitCode {
    let tests: [Arc<dyn PowerTest>; 6] = [
        Arc::new(channel::each_round_loses_only_its_newest_commits()),
        Arc::new(channel::commits_of_a_synced_channel_outlive_a_loss_of_power()),
        Arc::new(channel::so_do_those_after_a_crash()),
        Arc::new(messages::a_log_without_syncs_loses_only_the_newest()),
        Arc::new(messages::appended_messages_outlive_a_loss_of_power()),
        Arc::new(messages::a_new_file_is_complete_or_absent()),
    ];
    power::main(tests)
}

/// Runs the asynchronous part of a test.
fn block_on(work: impl Future<Output = PowerOutcome>) -> PowerOutcome {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
