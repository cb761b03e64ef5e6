//! Replacing files atomically, and syncing directory entries.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use context_core::Result;

use super::failed;

/// Creates or replaces a file atomically: readers see the old or the new content, also after a
/// crash. With `sync`, the new content is on disk before it replaces the old one. Without, a power
/// failure may leave an empty file.
pub(crate) fn replace(
    operation: &'static str,
    path: &Path,
    bytes: &[u8],
    sync: bool,
) -> Result<()> {
    let failed = |error| failed(operation, path, error);
    let partial = PartialFile::create(path).map_err(failed)?;
    let mut file = &partial.file;
    file.write_all(bytes).map_err(failed)?;
    if !sync {
        return std::fs::rename(&partial.path, path).map_err(failed);
    }
    file.sync_all().map_err(failed)?;
    std::fs::rename(&partial.path, path).and_then(|()| sync_folder(path)).map_err(failed)
}

/// Writes a new file completely or not at all, also if power is lost. Fails if the file exists.
pub fn write_new(operation: &'static str, path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let partial = PartialFile::create(path)?;
        (&partial.file).write_all(bytes)?;
        partial.file.sync_all()?;
        partial.become_new(path)?;
        sync_folder(path)
    };
    write().map_err(|error| failed(operation, path, error))
}

/// Waits until a file's directory entry is on disk, where the system supports that.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        return File::open(folder.unwrap_or(Path::new(".")))?.sync_all();
    }
    Ok(())
}

/// A temporary file next to its destination, removed on drop unless it was renamed.
struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    fn create(to: &Path) -> io::Result<Self> {
        let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        for k in 0_u64.. {
            let mut partial = OsString::from(".");
            partial.push(name);
            partial.push(format!(".partial{k}"));
            let path = to.with_file_name(partial);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file its name, unless there is a file of that name.
    fn become_new(self, to: &Path) -> io::Result<()> {
        match std::fs::hard_link(&self.path, to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // The file system has no hard links.
                match std::fs::symlink_metadata(to) {
                    Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                    Err(_) => std::fs::rename(&self.path, to),
                }
            }
            linked => linked,
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Removal fails if the file was renamed. Any other failure cannot be reported from here.
        let _ = std::fs::remove_file(&self.path);
    }
}
