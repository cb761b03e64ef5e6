//! A cache of small files that reads a file again only when it changed.
//!
//! The parsed value of a file is kept with the file's stamp: length, modification time and, where
//! the platform has them, inode and change time. A stamp is trusted only if the file was last
//! touched clearly before it was read, because file systems count time in steps: two writes within
//! one step leave the same stamp, and the second would never be noticed. The caller passes the time
//! of reading, so nothing here reads a clock.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_core::Timestamp;

/// The coarsest timestamp step of a file system in use (FAT), in microseconds.
const STEP_MICROS: i64 = 2_000_000;

/// The beginning of a file, and the length of the whole file.
pub(crate) struct FileHead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: u64,
}

impl FileHead {
    /// Reads at most `limit` bytes of a regular file. Other files are refused: opening a pipe would
    /// wait for its writer.
    pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Self> {
        regular(path)?;
        Self::read_from(&mut File::open(path)?, limit)
    }

    fn read_from(file: &mut File, limit: u64) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        let len = file.metadata()?.len().max(bytes.len() as u64);
        Ok(Self { bytes, len })
    }
}

/// Identifies a state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// Device, inode, and seconds and nanoseconds of the last change.
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns the time of the last touch, in microseconds. The change time is preferred, because
    /// no program can set it.
    #[cfg(unix)]
    fn touched(&self) -> Option<i64> {
        let (_, _, seconds, nanos) = self.inode;
        seconds.checked_mul(1_000_000)?.checked_add(nanos / 1000)
    }

    /// Returns the time of the last touch, in microseconds.
    #[cfg(not(unix))]
    fn touched(&self) -> Option<i64> {
        self.modified.and_then(micros)
    }

    /// Returns whether a later write cannot leave the same stamp.
    fn is_settled(&self, now: Timestamp) -> bool {
        let touched = self.touched().or_else(|| self.modified.and_then(micros));
        touched
            .and_then(|touched| touched.checked_add(STEP_MICROS))
            .is_some_and(|settled| settled <= now.as_micros())
    }
}

fn micros(time: SystemTime) -> Option<i64> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).ok()
}

struct Entry<T> {
    stamp: Stamp,
    settled: bool,
    used: bool,
    value: Arc<T>,
}

/// Parsed values of files, by path.
pub(crate) struct FileCache<T> {
    entries: HashMap<PathBuf, Entry<T>>,
    read: usize,
}

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), read: 0 }
    }
}

impl<T: PartialEq> FileCache<T> {
    /// Returns the value that `parse` makes of the first `limit` bytes of a file, from memory if
    /// the file is unchanged. The same content gives the same `Arc`, even if it had to be read
    /// again.
    pub(crate) fn get(
        &mut self,
        path: &Path,
        now: Timestamp,
        limit: u64,
        parse: impl FnOnce(FileHead) -> T,
    ) -> io::Result<Arc<T>> {
        let stamp = Stamp::of(&regular(path)?);
        if let Some(entry) = self.entries.get_mut(path)
            && entry.settled
            && entry.stamp == stamp
        {
            entry.used = true;
            return Ok(entry.value.clone());
        }
        let mut file = File::open(path)?;
        let before = Stamp::of(&file.metadata()?);
        let head = FileHead::read_from(&mut file, limit)?;
        let stamp = Stamp::of(&file.metadata()?);
        let settled = before == stamp && stamp.is_settled(now);
        self.read += 1;
        let mut value = Arc::new(parse(head));
        if let Some(old) = self.entries.get(path)
            && old.value == value
        {
            value = old.value.clone();
        }
        let entry = Entry { stamp, settled, used: true, value: value.clone() };
        self.entries.insert(path.to_owned(), entry);
        Ok(value)
    }

    /// Ends a scan: removes the files that were not asked for during it, and returns how many files
    /// were read.
    pub(crate) fn finish(&mut self) -> usize {
        self.entries.retain(|_, entry| std::mem::take(&mut entry.used));
        std::mem::take(&mut self.read)
    }
}

/// Returns the metadata of a regular file, following links.
fn regular(path: &Path) -> io::Result<Metadata> {
    let metadata = path.metadata()?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Returns whether the file does not exist: nothing has this name, or a part of the path is not a
/// folder.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
