//! One call after the other, each with a git folder of its own.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use context_core::{Error, ErrorKind, Result};
use tokio::task::JoinError;

use super::{short_hash, unusable};

/// The time between two attempts to get the lock.
const WAIT: Duration = Duration::from_millis(20);

/// The first part of the names of the folders of calls.
const PREFIX: &str = "call-";

/// A call that reads or changes the files. No other one runs at the same time, of whatever process.
///
/// Its git folder has an index, a copy of the one that the last call left, which becomes the new
/// one if the call succeeds.
#[derive(Debug)]
pub(super) struct Call {
    lock: File,
    private: PathBuf,
    folder: PathBuf,
}

impl Call {
    /// Waits until no other call runs. Dropping this future gives the turn up.
    pub(super) async fn begin(operation: &'static str, private: &Path, key: &str) -> Result<Self> {
        let refuse = |error| unusable(operation, "the private git folder cannot be locked", error);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(private.join("lock")).map_err(refuse)?;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => tokio::time::sleep(WAIT).await,
                Err(TryLockError::Error(error)) => return Err(refuse(error)),
            }
        }
        for entry in fs::read_dir(private).map_err(refuse)? {
            let entry = entry.map_err(refuse)?;
            // Of a process that ended within a call.
            if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
                fs::remove_dir_all(entry.path()).map_err(refuse)?;
            }
        }
        let folder = private.join(format!("{PREFIX}{}", short_hash(key.as_bytes())));
        Ok(Self { lock, private: private.to_owned(), folder })
    }

    /// Begins with the index that the last call left, or an empty one. Returns its path.
    pub(super) fn index(&self, reuse: bool) -> Result<PathBuf> {
        self.new_index(reuse)
            .map_err(|error| unusable("take_snapshot", "the private index cannot be copied", error))
    }

    fn new_index(&self, reuse: bool) -> io::Result<PathBuf> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir(&self.folder)?;
        let (kept, path) = (self.private.join("index"), self.folder.join("index"));
        if let (true, Ok(found)) = (reuse, fs::metadata(&kept)) {
            fs::copy(&kept, &path)?;
            // Git compares this time with those of files, to know which it has to read again.
            File::options().write(true).open(&path)?.set_modified(found.modified()?)?;
        }
        Ok(path)
    }

    /// Makes the index that of the next call.
    pub(super) fn keep_index(&self) -> Result<()> {
        fs::rename(self.folder.join("index"), self.private.join("index"))
            .map_err(|error| unusable("take_snapshot", "the private index cannot be kept", error))
    }

    /// Returns the git folder of the call, whose `HEAD` is a commit.
    pub(super) fn head_at(&self, commit: &str) -> Result<&Path> {
        fs::write(self.folder.join("HEAD"), format!("{commit}\n")).map_err(|error| {
            unusable("restore_snapshot", "the private git folder cannot be written", error)
        })?;
        Ok(&self.folder)
    }

    /// Returns the lock as an input for a program, which has it until it ends, even if this process
    /// ends earlier.
    pub(super) fn hold(&self) -> Result<Stdio> {
        let lock = self.lock.try_clone().map_err(|error| {
            unusable("restore_snapshot", "the lock of the private git folder is lost", error)
        })?;
        Ok(lock.into())
    }

    /// Removes the git folder. A call that is dropped instead may leave a program at work in it.
    pub(super) fn end(self) {
        // The next call removes what stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Does work to its end, even if nobody waits for it any more.
pub(super) async fn to_its_end<T: Send + 'static>(
    operation: &'static str,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work).await.map_err(|error| lost(operation, error))?
}

/// Returns the error of work that the runtime did not finish.
pub(super) fn lost(operation: &'static str, error: JoinError) -> Error {
    Error::new(ErrorKind::Cancelled, operation, "the runtime was shut down").with_source(error)
}
