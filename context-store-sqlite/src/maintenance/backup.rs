//! A backup: one state of the whole store as a new file, which is either complete or absent.

use std::fs;
use std::path::Path;

use context_core::Error;

use crate::connections::Connections;
use crate::error::Result;
use crate::file::partial_file::PartialFile;
use crate::sql;

const OPERATION: &str = "backup";

/// Copies the store into a partial file, which gets its final name when it is complete. Readers and
/// writers are not blocked.
pub(crate) async fn backup(connections: &Connections, to: &Path) -> Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(exists().into());
    }
    let mut repeats = 0;
    let partial = loop {
        let partial = PartialFile::create(to, OPERATION)?;
        let Some(path) = partial.path().to_str() else {
            return Err(
                Error::invalid(OPERATION, "SQLite writes only to paths that are UTF-8").into()
            );
        };
        let mut spare = connections.maintenance().await?;
        let copied = sqlx::query(sql::VACUUM_INTO).bind(path).execute(&mut spare.connection).await;
        let settled = spare.settle(copied.map_err(Into::into), &mut repeats);
        spare.close().await?;
        if let Some(copied) = settled {
            copied?;
            break partial;
        }
    };
    // SQLite does not sync the copy. The final name must not reach the disk before the content.
    partial.sync().await?;
    if partial.become_final_and_synced(to).await? { Ok(()) } else { Err(exists().into()) }
}

fn exists() -> Error {
    Error::invalid(OPERATION, "there is a file of this name already")
}
