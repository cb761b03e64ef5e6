//! Turns of processes that are killed at any point: nothing that was acknowledged is lost, the
//! history is valid, and the next process continues the turn or closes it.
//!
//! The points come from a seed, which a failure prints. The model is simulated, the stores are
//! real: SQLite, and PostgreSQL where there is a server.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail, and says what it saw"
)]

mod agent;
mod child;
mod kills;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::kills::Database;

fn main() -> ExitCode {
    if let Some(task) = child::task() {
        return runtime().block_on(child::main(&task));
    }
    let trials = vec![
        trial("kills::a_killed_turn_loses_nothing_on_sqlite", Database::Sqlite, 20, false),
        trial("kills::a_killed_turn_loses_nothing_on_postgres", Database::Postgres, 10, false),
        trial("kills::large_a_thousand_killed_turns_on_sqlite", Database::Sqlite, 1_000, true),
        trial("kills::large_killed_turns_on_postgres", Database::Postgres, 200, true),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Returns a test of this many kills, ignored where there is no server.
fn trial(name: &str, database: Database, kills: usize, is_long: bool) -> Trial {
    let trial = Trial::ignorable_test(name, move || {
        match runtime().block_on(kills::a_killed_turn_loses_nothing(database, kills)) {
            Ok(counts) => {
                eprintln!("{counts}");
                Ok(Completion::Completed)
            }
            Err(missing) => Ok(Completion::ignored_with(missing)),
        }
    });
    if is_long { trial.with_ignored_flag(true) } else { trial }
}
