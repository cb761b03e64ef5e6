//! Files put in the place of others at once, and entries of folders that are on the disk.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use context_core::Result;

use super::failed;

/// Puts a whole file in the place of another, or of none: whoever looks, and whatever breaks, sees
/// the one or the other. With `sync` it is on the disk before it takes the place; without, a loss
/// of power may leave an empty one.
pub(crate) fn replace(
    operation: &'static str,
    path: &Path,
    bytes: &[u8],
    sync: bool,
) -> Result<()> {
    let failed = |error| failed(operation, path, error);
    let partial = Partial::create(path).map_err(failed)?;
    let mut file = &partial.file;
    file.write_all(bytes).map_err(failed)?;
    if !sync {
        return std::fs::rename(&partial.path, path).map_err(failed);
    }
    file.sync_all().map_err(failed)?;
    std::fs::rename(&partial.path, path).and_then(|()| sync_folder(path)).map_err(failed)
}

/// Writes a file that must not exist, whole or not at all.
pub(crate) fn write_new(operation: &'static str, path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = File::create_new(path)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.inspect_err(|_| drop(std::fs::remove_file(path)))?;
        sync_folder(path)
    };
    write().map_err(|error| failed(operation, path, error))
}

/// Waits until a file's entry in its folder is on the disk, where the system can.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        return File::open(folder.unwrap_or(Path::new(".")))?.sync_all();
    }
    Ok(())
}

/// A file beside the one it is to become, removed unless it did.
struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
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
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already if it was renamed; otherwise there is nobody to tell.
        let _ = std::fs::remove_file(&self.path);
    }
}
