//! Files that are written completely or not at all, also if power is lost.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Failure;

/// A file on its way. Its name is there once the file is complete, and it replaces another file
/// only if that was asked for. Dropped on the way, it leaves nothing.
pub(crate) struct OutputFile {
    path: PathBuf,
    force: bool,
    to: BufWriter<NamedTempFile>,
    bytes: u64,
}

impl OutputFile {
    /// Starts a file. Fails if there is one of that name, unless it may be replaced.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, Failure> {
        if !force && fs::symlink_metadata(path).is_ok() {
            return Err(Failure::Exists { file: path.display().to_string() });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut new = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Those of every new file, less the user's mask.
            new.permissions(fs::Permissions::from_mode(0o666));
        }
        let new = new.tempfile_in(folder.unwrap_or(Path::new(".")));
        let to = new.map_err(|source| failed(path, source))?;
        Ok(Self { path: path.to_owned(), force, to: BufWriter::new(to), bytes: 0 })
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Gives the file its name, waits until both are on the disk, and returns its length in bytes.
    pub(crate) fn finish(self) -> Result<u64, Failure> {
        let file = self.to.into_inner().map_err(|error| failed(&self.path, error.into_error()))?;
        // A device or a pipe is written to, not replaced.
        let is_special = fs::metadata(&self.path).is_ok_and(|data| !data.is_file());
        if self.force && is_special {
            let copy = || {
                let mut to = File::options().write(true).open(&self.path)?;
                io::copy(&mut file.reopen()?, &mut to)
            };
            return copy().map_err(|source| failed(&self.path, source));
        }
        // The name must not reach the disk before the content.
        file.as_file().sync_all().map_err(|source| failed(&self.path, source))?;
        let done = match self.force {
            true => file.persist(&self.path),
            false => file.persist_noclobber(&self.path),
        };
        match done {
            Ok(_) => {
                sync_name(&self.path).map_err(|source| failed(&self.path, source))?;
                Ok(self.bytes)
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Failure::Exists { file: self.path.display().to_string() })
            }
            Err(error) => Err(failed(&self.path, error.error)),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn failed(path: &Path, source: io::Error) -> Failure {
    Failure::WriteFile { file: path.display().to_string(), source }
}

/// Waits until the name of a file is on the disk, where the system supports that.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Writes a file at once.
pub(crate) fn write_file(path: &Path, force: bool, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = OutputFile::create(path, force)?;
    file.write_all(bytes).map_err(|source| failed(path, source))?;
    file.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_if_that_was_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        write_file(&path, false, b"one").expect("new");
        assert!(matches!(write_file(&path, false, b"two"), Err(Failure::Exists { .. })));
        assert_eq!(fs::read(&path).expect("there"), b"one");
        write_file(&path, true, b"three").expect("replaced");
        assert_eq!(fs::read(&path).expect("there"), b"three");
        drop(OutputFile::create(&path, true).expect("started"));
        assert_eq!(fs::read(&path).expect("there"), b"three");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        // What was made meanwhile stays.
        let late = folder.path().join("b.txt");
        let file = OutputFile::create(&late, false).expect("started");
        fs::write(&late, "other").expect("written");
        assert!(matches!(file.finish(), Err(Failure::Exists { .. })));
        assert_eq!(fs::read(&late).expect("there"), b"other");
    }
}
