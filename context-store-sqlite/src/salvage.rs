//! Saving what is sound of a damaged file.
//!
//! The file is read page by page, without SQLite, and nothing is written to it or beside it. Rows
//! that are sound are collected in a temporary database of their own (`rows`), and then read as
//! chats, rounds and memories (`chats`, `records`).

mod cells;
mod chats;
mod details;
mod pages;
mod pieces;
mod records;
mod rows;
mod segments;
mod tables;

use std::path::Path;

use context_core::{CancelSignal, Error};
use context_store_kit::salvage::SalvageSink;
use sqlx::Connection;

use crate::error::Result;
use crate::file::{self, FileUse};

const OPERATION: &str = "salvage";

/// Hands everything in a file that is sound to the sink, and every loss with its name, as far as it
/// is known. The file may be damaged anywhere: pages, rows, the schema, the header, its end.
/// Nothing is written to it. No program may write to it meanwhile, and this process may not have it
/// open: reading it ends the locks that the process holds on it.
///
/// Neither commit keys, leases, earlier versions of fragments, the log of references, nor the marks
/// of forgotten memories are read. A file of a version without checksums is
/// [`Unsupported`](context_core::ErrorKind::Unsupported). Checks `cancel`, and
/// [reports](CancelSignal::report) the pages that were read.
pub async fn salvage(
    path: &Path,
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<(), Error> {
    if !file::exists(path, FileUse::Read)? {
        return Err(file::absent());
    }
    let done = read(path, sink, cancel).await;
    done.map_err(|fault| fault.during(OPERATION).with("path", path.display()))
}

async fn read(path: &Path, sink: &mut dyn SalvageSink, cancel: &CancelSignal) -> Result<()> {
    let mut rescued = rows::collect(path, cancel).await?;
    rescued.losses.drain(..).for_each(|loss| sink.lose(loss));
    chats::read(&mut rescued.connection, sink, cancel).await?;
    records::rounds(&mut rescued.connection, sink, cancel).await?;
    records::memories(&mut rescued.connection, sink, cancel).await?;
    rescued.connection.close().await?;
    Ok(())
}
