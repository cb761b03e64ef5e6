//! A file that gets its final name when it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use context_core::{Error, ErrorKind, Retry};

/// An incomplete file. Dropping the value deletes the file.
pub(crate) struct PartialFile {
    path: PathBuf,
    operation: &'static str,
}

impl PartialFile {
    /// Creates a new, empty file in the folder of the final one. Each partial file has a name of
    /// its own, even if several have the same final name.
    pub(crate) fn create(to: &Path, operation: &'static str) -> Result<Self, Error> {
        let failed = |error| failed(operation, error);
        let to = std::path::absolute(to).map_err(failed)?;
        let Some(name) = to.file_name() else {
            return Err(Error::invalid(operation, "the path names no file"));
        };
        for k in 0.. {
            let mut partial = OsString::from(".");
            partial.push(name);
            partial.push(format!(".partial{k}"));
            let path = to.with_file_name(partial);
            match options().open(&path) {
                Ok(_) => return Ok(Self { path, operation }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Error::new(ErrorKind::Bug, operation, "every temporary name of the file is taken"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the file is on the disk.
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        self.with(|path| OpenOptions::new().write(true).open(path)?.sync_all()).await
    }

    /// Gives the file its final name and waits until the name is on the disk. Returns false if a
    /// file of that name exists, which is never replaced.
    pub(crate) async fn become_final_and_synced(self, to: &Path) -> Result<bool, Error> {
        let operation = self.operation;
        if !self.become_final(to)? {
            return Ok(false);
        }
        let to = to.to_owned();
        let synced = tokio::task::spawn_blocking(move || sync_folder(&to)).await;
        let synced = synced.map_err(io::Error::other).and_then(|synced| synced);
        synced.map(|()| true).map_err(|error| failed(operation, error))
    }

    /// Runs a function on the file in a blocking thread.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.map_err(io::Error::other)
            .and_then(|done| done)
            .map_err(|error| failed(self.operation, error))
    }

    /// Gives the file its final name. Returns false if a file of that name exists, which is never
    /// replaced.
    pub(crate) fn become_final(self, to: &Path) -> Result<bool, Error> {
        match fs::hard_link(&self.path, to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // The file system has no hard links.
            Err(_) if fs::symlink_metadata(to).is_ok() => Ok(false),
            Err(_) => fs::rename(&self.path, to)
                .map(|()| true)
                .map_err(|error| failed(self.operation, error)),
        }
    }
}

/// Returns options for a new file with the permissions that SQLite gives its files.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options
}

/// Waits until the names in the folder of a file are on the disk, where the system supports that.
fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

fn failed(operation: &'static str, error: io::Error) -> Error {
    let (retry, message) = match error.kind() {
        io::ErrorKind::PermissionDenied => (Retry::Never, "no permission to write in this folder"),
        io::ErrorKind::NotFound => (Retry::Never, "the folder does not exist: create it first"),
        io::ErrorKind::ReadOnlyFilesystem => (Retry::Never, "the file system is read-only"),
        io::ErrorKind::StorageFull => (Retry::Never, "the disk is full"),
        _ => (Retry::Never, "the file cannot be written"),
    };
    Error::new(ErrorKind::Unavailable, operation, message).with_retry(retry).with_source(error)
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Removal fails if the file was renamed. Any other failure cannot be reported from here.
        let _ = fs::remove_file(&self.path);
    }
}
