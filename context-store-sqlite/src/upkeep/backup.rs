//! A backup: one state of the whole store as a new file, which is complete or not there.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use context_core::{Error, ErrorKind};
use sqlx::Connection;

use crate::connections::Connections;
use crate::error::Result;
use crate::sql;

const OPERATION: &str = "backup";

/// Copies into a file beside the final one, which gets its name when it is done. Readers and writers go on.
pub(crate) async fn backup(connections: &Connections, to: &Path) -> Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(exists().into());
    }
    let partial = Partial::beside(to)?;
    let Some(path) = partial.0.to_str() else {
        return Err(Error::invalid(OPERATION, "SQLite writes only to paths that are UTF-8").into());
    };
    let mut spare = connections.spare().await?;
    sqlx::query(sql::VACUUM_INTO).bind(path).execute(&mut spare).await?;
    spare.close().await?;
    // SQLite leaves this to the system, and a name must not outlive what it names.
    partial.sync().await?;
    partial.become_final(to)?;
    Ok(())
}

fn exists() -> Error {
    Error::invalid(OPERATION, "there is a file of this name already")
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, OPERATION, "the file cannot be written").with_source(error)
}

/// A file that is not complete yet; it goes with this value.
struct Partial(PathBuf);

impl Partial {
    /// A new, empty file in the folder of the final one. Several backups to one place do not meet in it.
    fn beside(to: &Path) -> Result<Self, Error> {
        let to = std::path::absolute(to).map_err(failed)?;
        let Some(name) = to.file_name() else {
            return Err(Error::invalid(OPERATION, "the path names no file"));
        };
        for k in 0.. {
            let mut partial = OsString::from(".");
            partial.push(name);
            partial.push(format!(".partial{k}"));
            let path = to.with_file_name(partial);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Error::new(ErrorKind::Bug, OPERATION, "every name was taken"))
    }

    /// Waits until the file is on the disk.
    async fn sync(&self) -> Result<(), Error> {
        let path = self.0.clone();
        let sync = move || OpenOptions::new().write(true).open(path)?.sync_all();
        tokio::task::spawn_blocking(sync)
            .await
            .map_err(|error| failed(io::Error::other(error)))?
            .map_err(failed)
    }

    /// Gives the file its name, never in the place of another one.
    fn become_final(self, to: &Path) -> Result<(), Error> {
        match fs::hard_link(&self.0, to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
            // A file system without links.
            Err(_) if fs::symlink_metadata(to).is_ok() => Err(exists()),
            Err(_) => fs::rename(&self.0, to).map_err(failed),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already if it was renamed; otherwise there is nobody to tell.
        let _ = fs::remove_file(&self.0);
    }
}
