//! A new store: made whole under another name, so that nobody ever sees half of one.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use crate::error::Result;
use crate::partial::Partial;
use crate::{file, schema};

/// Makes the file, unless another one is faster.
pub(crate) async fn create(
    options: &SqliteConnectOptions,
    path: &Path,
    full_text: Option<bool>,
) -> Result<()> {
    let partial = Partial::beside(path, "open")?;
    // It is synced as a whole before it gets its name.
    let options = options.clone().filename(partial.path()).synchronous(SqliteSynchronous::Off);
    let mut connection = options.connect().await?;
    // First, so that the header of the file itself says whose it is.
    file::set_label(&mut connection).await?;
    schema::use_wal(&mut connection).await?;
    schema::migrate(&mut connection, full_text).await?;
    connection.close().await?;
    partial.sync().await?;
    partial.become_final(path)?;
    Ok(())
}
