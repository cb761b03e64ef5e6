//! Acknowledged writes take effect exactly once under faults: a table of faults and backends, and
//! many processes on one branch.
//!
//! Each cell runs a writer that does not know the fault and repeats a call only if [`Error::retry`]
//! allows it. Then a fresh handle counts. The numbers of lost writes, duplicated writes and
//! findings of the store's own check must be zero. The faults and their times come from a seed,
//! which a failure prints.
//!
//! The program starts its own servers. A backend whose server is not installed is skipped with a
//! message.
//!
//! | variable | meaning |
//! |---|---|
//! | `CONTEXT_FAULT_RUNS` | how often each fault is tried on each backend |
//! | `CONTEXT_FAULT_RESTARTS` | how often a server is killed and started again |
//! | `CONTEXT_CONTENTION` | how many messages the processes on one branch write together |
//! | `CONTEXT_FAULT_SEED` | the seed of the plans |
//! | `CONTEXT_REQUIRE_SERVICES` | fail instead of skip where a server is not installed |
//!
//! [`Error::retry`]: context_core::Error::retry

mod backend;
mod cell;
mod child;
mod compete;
mod contention;
mod error;
mod judge;
mod numbers;
mod plan;
mod restart;
mod table;
mod writer;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::backend::Backend;
use crate::error::CellError;
use crate::plan::Fault;
use crate::table::{Row, Table};

fn main() -> ExitCode {
    if let Some(task) = child::task() {
        return runtime().map_or(ExitCode::FAILURE, |runtime| runtime.block_on(child::main(&task)));
    }
    let table = Arc::new(Mutex::new(Table::default()));
    let mut trials = Vec::new();
    for backend in Backend::ALL {
        for fault in Fault::ALL.iter().copied().filter(|fault| fault.concerns(backend)) {
            let table = Arc::clone(&table);
            trials.push(Trial::ignorable_test(format!("faults::{fault}::{backend}"), move || {
                run(&table, || runtime()?.block_on(cell::run(fault, backend)))
            }));
        }
        if backend != Backend::Inmem {
            let table = Arc::clone(&table);
            trials.push(Trial::ignorable_test(format!("contention::{backend}"), move || {
                run(&table, || runtime()?.block_on(contention::run(backend)))
            }));
        }
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    table.lock().unwrap_or_else(PoisonError::into_inner).print();
    backend::stop_servers();
    conclusion.exit_code()
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Runs a cell, adds it to the table, and fails if it has any problem.
fn run(
    table: &Mutex<Table>,
    cell: impl FnOnce() -> Result<Row, CellError>,
) -> Result<Completion, Failed> {
    match cell() {
        Ok(row) => {
            let wrong = row.wrong();
            table.lock().unwrap_or_else(PoisonError::into_inner).add(row);
            wrong.map_or(Ok(Completion::Completed), |text| Err(text.into()))
        }
        Err(CellError::NoServer(why)) => Ok(Completion::ignored_with(why)),
        Err(error) => Err(error.to_string().into()),
    }
}
