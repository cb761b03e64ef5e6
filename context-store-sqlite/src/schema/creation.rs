//! Creation of a new store under a temporary name, so that nobody sees an incomplete one.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use crate::error::Result;
use crate::file::partial_file::PartialFile;
use crate::{file, schema};

/// The bytes of an empty store, without and with full text, half a megabyte each. They are built
/// once per process, because running all migrations takes a tenth of a second in a debug build, and
/// a program with one file per user creates many stores.
static EMPTY: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];

/// Creates the file, unless another process creates it first.
pub(crate) async fn create(
    options: &SqliteConnectOptions,
    path: &Path,
    full_text: Option<bool>,
) -> Result<()> {
    let partial = PartialFile::create(path, "open")?;
    let empty = &EMPTY[usize::from(full_text != Some(false))];
    if empty.get().is_none() {
        migrate(options, &partial, full_text).await?;
    }
    let fill = |file: &Path| match empty.get() {
        Some(bytes) => fs::write(file, bytes),
        None => fs::read(file).map(|bytes| drop(empty.set(bytes))),
    };
    partial.with(fill).await?;
    partial.sync().await?;
    partial.become_final(path)?;
    Ok(())
}

/// Creates an empty store in a file.
async fn migrate(
    options: &SqliteConnectOptions,
    partial: &PartialFile,
    full_text: Option<bool>,
) -> Result<()> {
    // The file is synced as a whole before it is renamed.
    let options = options.clone().filename(partial.path()).synchronous(SqliteSynchronous::Off);
    let mut connection = options.connect().await?;
    // The label comes first, so that it is in the header of the file itself and not only in the
    // log.
    file::set_label(&mut connection).await?;
    schema::use_wal(&mut connection).await?;
    schema::migrate(&mut connection, full_text).await?;
    connection.close().await?;
    Ok(())
}
