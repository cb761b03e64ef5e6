//! The file of a store: whether it exists, may be used, and is a store.
//!
//! A store is recognized by the `application_id` in the file's header. Files of earlier versions
//! have no id. They are recognized by the table of migrations together with the first tables of the
//! store, and get the id when they are opened for writing. Nothing here writes, and files are
//! opened only through SQLite: closing any other descriptor of a file would release the locks that
//! this process holds on it.

pub(crate) mod access;
pub(crate) mod partial_file;

use std::path::{Path, PathBuf};
use std::{fs, io};

use context_core::{Error, ErrorKind, Retry};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row};

use crate::error::{Fault, Result};
use crate::sql;

/// The `application_id` of stores: the letters `ctxl`.
pub(crate) const APPLICATION_ID: i64 = 0x6374_786c;

const OPERATION: &str = "open";
const OTHER_APPLICATION: &str =
    "this is a SQLite database of another application: it is left as it is";

/// The way in which a file is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileUse {
    Read,
    Write,
}

/// Returns whether the file exists. Returns an error if the name belongs to something else, or if
/// the file may not be used in this way.
pub(crate) fn exists(path: &Path, usage: FileUse) -> Result<bool, Error> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return missing(path, error).map(|()| false),
    };
    if metadata.is_dir() {
        return Err(Error::invalid(OPERATION, "this is a folder: name a file in it"));
    }
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Unsupported, OPERATION, "this is not a regular file"));
    }
    check_permission(path, usage, "the file")?;
    if usage == FileUse::Write {
        // SQLite keeps its log in the folder.
        check_permission(&folder(path), usage, "the folder of the file")?;
    }
    if metadata.len() == 0 {
        let message = "this is an empty file, not a store: remove it, or name another file";
        return Err(Error::new(ErrorKind::Unsupported, OPERATION, message));
    }
    Ok(true)
}

/// Returns the error for a file that must exist but does not.
pub(crate) fn absent() -> Error {
    Error::new(ErrorKind::NotFound, OPERATION, "there is no file of this name")
}

/// Distinguishes a file that could be created from a path that cannot be accessed.
fn missing(path: &Path, error: io::Error) -> Result<(), Error> {
    let folder = folder(path);
    match error.kind() {
        io::ErrorKind::NotFound => match fs::metadata(&folder) {
            Ok(found) if found.is_dir() => Ok(()),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                OPERATION,
                "the folder of the file does not exist: create it first",
            )
            .with("folder", folder.display())
            .with_source(error)),
        },
        io::ErrorKind::NotADirectory => {
            Err(Error::invalid(OPERATION, "a part of the path is a file, not a folder")
                .with_source(error))
        }
        _ => Err(denied("the file cannot be inspected").with_source(error)),
    }
}

/// Returns the folder of a file.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn denied(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unavailable, OPERATION, message).with_retry(Retry::Never)
}

/// Asks the system whether this process may read or write.
#[cfg(unix)]
fn check_permission(path: &Path, usage: FileUse, thing: &'static str) -> Result<(), Error> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let (access, verb) = match usage {
        FileUse::Read => (Access::READ_OK, "read"),
        FileUse::Write => (Access::READ_OK | Access::WRITE_OK, "write"),
    };
    accessat(CWD, path, access, AtFlags::EACCESS).map_err(|error| {
        let message = match error {
            rustix::io::Errno::ROFS => format!("{thing} is on a read-only file system"),
            _ => format!("no permission to {verb} {thing}: check its owner and its mode"),
        };
        denied(message).with_source(io::Error::from(error))
    })
}

/// Asks the system whether this process may write, as far as the system can tell.
#[cfg(not(unix))]
fn check_permission(path: &Path, usage: FileUse, thing: &'static str) -> Result<(), Error> {
    let metadata = fs::metadata(path)
        .map_err(|error| denied("the file cannot be inspected").with_source(error))?;
    if usage == FileUse::Write && metadata.is_file() && metadata.permissions().readonly() {
        return Err(denied(format!("no permission to write {thing}")));
    }
    Ok(())
}

/// Whether the header of a file identifies it as a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Ours,
    /// Either an older file of this store, or a file of another program.
    None,
}

/// Reads the label of a file. Only the header in the file is read, without the log and without a
/// lock.
pub(crate) async fn label(base: &SqliteConnectOptions, path: &Path) -> Result<Label> {
    let labelled: Result<i64, sqlx::Error> = async {
        let mut connection = base.clone().read_only(true).immutable(true).connect().await?;
        let row = sqlx::query(sql::APPLICATION).fetch_one(&mut connection).await?;
        let id: i64 = row.try_get(0)?;
        connection.close().await?;
        Ok(id)
    }
    .await;
    match labelled {
        Ok(APPLICATION_ID) => Ok(Label::Ours),
        Ok(0) => Ok(Label::None),
        Ok(id) => Err(foreign(OTHER_APPLICATION)
            .with("application_id", format_args!("{id:#010x}"))
            .into()),
        Err(fault) => match Fault::from(fault) {
            fault if fault.is_no_database() => Err(no_database(path).into()),
            // A process that is killed while it moves the log into the file leaves a file that is
            // complete only together with its log.
            fault if fault.is_malformed() => Ok(Label::None),
            fault => Err(fault),
        },
    }
}

/// Rejects a file without a label that does not have the tables of this store.
pub(crate) async fn check_tables(connection: &mut SqliteConnection) -> Result<()> {
    let row = sqlx::query(sql::OUR_TABLES).fetch_one(connection).await?;
    if row.try_get::<i64, _>(0)? == sql::OUR_TABLES_COUNT {
        return Ok(());
    }
    Err(foreign(OTHER_APPLICATION).into())
}

/// Gives a file its label within the running transaction.
pub(crate) async fn set_label(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::query(sql::SET_APPLICATION).execute(connection).await?;
    Ok(())
}

fn foreign(message: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, OPERATION, message)
}

/// Returns the error for a file without a SQLite header. No connection can hold a lock on such a
/// file.
fn no_database(path: &Path) -> Error {
    use io::Read as _;
    let mut begin = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(256).read_to_end(&mut begin));
    let text = match std::str::from_utf8(&begin) {
        Ok(_) => true,
        // The read limit cut a character in half.
        Err(error) => error.error_len().is_none(),
    };
    let text = text && !begin.iter().any(|byte| matches!(byte, 0..9 | 14..32 | 127));
    foreign(match read.is_ok() && text {
        true => "this is a text file, not a store: it is left as it is",
        false => {
            "this is not a SQLite database: encrypted, damaged, or of another program; it is left as it is"
        }
    })
}
