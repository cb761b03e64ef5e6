//! Append-only files of JSON records, one per line, each with a checksum.
//!
//! ```text
//! {"check":"0f1e2d3c4b5a6978","record":{"form":"context messages","version":1}}
//! {"check":"8796a5b4c3d2e1f0","record":{…}}
//! ```
//!
//! The first record is the header, which states the [`Form`] of the others. `check` is the start of
//! the BLAKE3 hash of the record's text, as 16 hexadecimal digits. A record is atomic: data that
//! must be written together goes into one record.
//!
//! A crash in the middle of a write leaves a *torn tail*: a last line that is the beginning of a
//! record, or only NUL bytes where the file system had allocated space. A loss of power may also
//! leave a *hole*: sectors of NUL bytes between bytes that were written later. The torn tail then
//! begins with the line of the hole. A torn tail was never acknowledged by a writer that syncs. The
//! next writer cuts it off, and opening or reading the file reports it. A last line that lacks only
//! its line feed is kept. Any other mismatch is *damage*: an error that names the line, and the
//! file is not written to.
//!
//! Several handles, also in several processes, may write to one file. Each takes a file lock while
//! it reads and writes, and first reads what other writers appended. On a file system without locks
//! there must be only one writer.
//!
//! Calls block. The content of the records is up to the caller, and a record that is missing
//! altogether is not detected here.

mod atomic_write;
mod lines;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use context_core::{Error, ErrorKind, Result, Retry};

use lines::{FileEnd, Scan, header, write_line};

pub use atomic_write::write_new;
pub(crate) use atomic_write::{replace, sync_folder};
pub(crate) use lines::file_text;

/// The format of a file's records, as stated in its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// The name of the format, in plain words without quotes.
    pub(crate) name: &'static str,
    /// The version of the format. Older versions are read, newer ones are refused.
    pub(crate) version: u32,
}

/// An incomplete last line that a crash left. It is cut off by the next writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The number of the line, from 1.
    pub line: u64,
    /// The number of bytes in it.
    pub bytes: u64,
}

/// A callback that receives the line number and the text of each record.
pub(crate) type RecordCallback<'a> = &'a mut dyn FnMut(u64, &str) -> Result<()>;

/// A file that is open for reading and appending.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    form: Form,
    /// The number of bytes that are known to be complete lines.
    end: u64,
    /// The number of those lines.
    lines: u64,
    /// Whether this handle has synced the file's directory entry. The process that created the file
    /// may have been killed before it did.
    is_named: bool,
    /// Whether a write failed and could not be undone.
    broken: bool,
}

impl Journal {
    /// Opens a file, or creates an empty one in an existing folder, and reads all of it. A torn
    /// tail is cut off and returned.
    pub(crate) fn open(
        operation: &'static str,
        path: &Path,
        form: Form,
        each: RecordCallback<'_>,
    ) -> Result<(Self, Option<TornTail>)> {
        let open =
            |new: bool| OpenOptions::new().read(true).append(true).create_new(new).open(path);
        let file = match open(false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match open(true) {
                // Another process created the file in the meantime.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(false),
                opened => opened,
            },
            opened => opened,
        };
        let file = file.map_err(|error| failed(operation, path, error))?;
        let path = path.to_owned();
        let mut journal =
            Self { path, file, form, end: 0, lines: 0, is_named: false, broken: false };
        let torn = journal.hold(operation)?.catch_up(each)?;
        Ok((journal, torn))
    }

    /// Locks the file for this handle until the turn is dropped. Waits for other holders.
    pub(crate) fn hold(&mut self, operation: &'static str) -> Result<JournalGuard<'_>> {
        if self.broken {
            let message = "an earlier write failed half way: open the file again";
            let error = Error::new(ErrorKind::Unavailable, operation, message);
            return Err(error.with_retry(Retry::AfterRefresh).with("path", self.path.display()));
        }
        match self.file.lock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(failed(operation, &self.path, error));
            }
            _ => {}
        }
        let guard = JournalGuard { journal: self, operation };
        guard.expect_same_file()?;
        Ok(guard)
    }

    /// Appends records with one write, after the records that other writers appended meanwhile. See
    /// [`Turn::append`].
    pub(crate) fn append(
        &mut self,
        operation: &'static str,
        records: &[String],
        sync: bool,
    ) -> Result<()> {
        let mut guard = self.hold(operation)?;
        guard.catch_up(&mut |_, _| Ok(()))?;
        guard.append(records, sync)
    }

    /// Returns the number of bytes that are known to be complete lines.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// Returns the number of records that this handle has seen.
    pub(crate) fn len(&self) -> u64 {
        self.lines.saturating_sub(1)
    }
}

/// A guard that holds the file lock.
#[derive(Debug)]
pub(crate) struct JournalGuard<'a> {
    journal: &'a mut Journal,
    operation: &'static str,
}

impl Drop for JournalGuard<'_> {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.journal.file.unlock();
    }
}

impl JournalGuard<'_> {
    /// Reads the records that this handle has not seen yet, and cuts off a torn tail.
    pub(crate) fn catch_up(&mut self, each: RecordCallback<'_>) -> Result<Option<TornTail>> {
        let operation = self.operation;
        let Journal { path, file, form, end, lines, .. } = &mut *self.journal;
        let failed = |error| failed(operation, path, error);
        let len = file.metadata().map_err(failed)?.len();
        if len == *end {
            return Ok(None);
        }
        if len < *end {
            let message = "the file is shorter than before: another process cut it";
            return Err(
                Error::new(ErrorKind::Corrupt, operation, message).with("path", path.display())
            );
        }
        (&*file).seek(SeekFrom::Start(*end)).map_err(failed)?;
        let mut scan = Scan { operation, path, form: *form, end: *end, lines: *lines };
        let last = scan.run(BufReader::new((&*file).take(len - *end)), each);
        // Records that were passed on count as seen, even if the next line is damaged.
        (*end, *lines) = (scan.end, scan.lines);
        match last? {
            FileEnd::Complete => Ok(None),
            FileEnd::NoLineFeed => {
                (&*file).write_all(b"\n").map_err(failed)?;
                *end += 1;
                Ok(None)
            }
            FileEnd::Torn(torn) => {
                // Synced, so that the disk does not mix the tail with what is appended next.
                file.set_len(*end).and_then(|()| file.sync_all()).map_err(failed)?;
                Ok(Some(torn))
            }
        }
    }

    /// Appends records with one write, atomically. Each record is the text of a JSON value without
    /// a line feed. With `sync`, waits until the records are on disk. Requires a preceding
    /// [`catch_up`](Self::catch_up).
    pub(crate) fn append(&mut self, records: &[String], sync: bool) -> Result<()> {
        let operation = self.operation;
        let journal = &mut *self.journal;
        let mut text = String::new();
        if journal.end == 0 {
            write_line(&mut text, &header(journal.form));
        }
        for record in records {
            if record.contains('\n') {
                return Err(Error::new(
                    ErrorKind::Bug,
                    operation,
                    "a record is written on one line",
                ));
            }
            write_line(&mut text, record);
        }
        if let Err(error) = (&journal.file).write_all(text.as_bytes()) {
            // A part of the text may have been written.
            let cut = journal.file.set_len(journal.end).and_then(|()| journal.file.sync_all());
            journal.broken = cut.is_err();
            return Err(failed(operation, &journal.path, error));
        }
        if sync {
            self.sync()?;
        }
        let journal = &mut *self.journal;
        journal.lines += u64::from(journal.end == 0) + records.len() as u64;
        journal.end += text.len() as u64;
        Ok(())
    }

    /// Waits until the file and its name are on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let journal = &mut *self.journal;
        let synced = journal.file.sync_data().and_then(|()| match journal.is_named {
            true => Ok(()),
            false => sync_folder(&journal.path),
        });
        if let Err(error) = synced {
            // The state of the disk is unknown, and the system may report the failure only once.
            journal.broken = true;
            return Err(failed(self.operation, &journal.path, error));
        }
        journal.is_named = true;
        Ok(())
    }

    /// Returns the end of the part of the file that is known to be complete.
    pub(crate) fn position(&self) -> ReadPosition {
        ReadPosition { bytes: self.journal.end, lines: self.journal.lines }
    }

    /// Fails if another file now has this path: writes to the old file would be lost.
    fn expect_same_file(&self) -> Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let Journal { path, file, .. } = &*self.journal;
            let failed = |error| failed(self.operation, path, error);
            let (open, named) =
                (file.metadata().map_err(failed)?, path.metadata().map_err(failed)?);
            if (open.dev(), open.ino()) != (named.dev(), named.ino()) {
                let message = "another file has taken the place of this one: open it again";
                let error = Error::new(ErrorKind::Conflict, self.operation, message);
                return Err(error.with("path", path.display()));
            }
        }
        Ok(())
    }
}

/// Reads a file without changing it. A torn tail is skipped and returned.
pub(crate) fn read(
    operation: &'static str,
    path: &Path,
    form: Form,
    each: RecordCallback<'_>,
) -> Result<Option<TornTail>> {
    read_behind(operation, path, form, ReadPosition::default(), each)
}

/// The part of a file that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadPosition {
    /// The number of bytes of complete lines, including line feeds.
    pub(crate) bytes: u64,
    /// The number of those lines.
    pub(crate) lines: u64,
}

/// Reads the records behind `position`, like [`read`]. The caller checks whether the file is still
/// the same one.
pub(crate) fn read_behind(
    operation: &'static str,
    path: &Path,
    form: Form,
    position: ReadPosition,
    each: RecordCallback<'_>,
) -> Result<Option<TornTail>> {
    let failed = |error| failed(operation, path, error);
    let mut file = File::open(path).map_err(failed)?;
    // While a writer is active, its line is unfinished rather than torn.
    match file.lock_shared() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(failed(error)),
        _ => {}
    }
    file.seek(SeekFrom::Start(position.bytes)).map_err(failed)?;
    let mut scan = Scan { operation, path, form, end: position.bytes, lines: position.lines };
    Ok(match scan.run(BufReader::new(&file), each)? {
        FileEnd::Torn(torn) => Some(torn),
        FileEnd::Complete | FileEnd::NoLineFeed => None,
    })
}

/// The largest file that is read as a whole, and the longest line, in bytes.
pub(crate) const MAX_WHOLE: u64 = 256 << 20;

/// Reads a whole file of at most 256 MiB. Stops reading a larger one at that limit.
pub fn read_whole(operation: &'static str, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_WHOLE + 1).read_to_end(&mut bytes));
    read.map_err(|error| failed(operation, path, error))?;
    if bytes.len() as u64 > MAX_WHOLE {
        let error = Error::invalid(operation, "the file is too large to be read as a whole");
        return Err(error.with("path", path.display()).with("limit", MAX_WHOLE));
    }
    Ok(bytes)
}

/// Returns the typed error of an operation that failed on a file, which it names.
pub fn failed(operation: &'static str, path: &Path, error: io::Error) -> Error {
    let (kind, message) = match error.kind() {
        io::ErrorKind::NotFound => (ErrorKind::NotFound, "no such file or folder"),
        io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidInput => (ErrorKind::Invalid, "the path is not that of a file"),
        io::ErrorKind::InvalidData => (ErrorKind::Corrupt, "the file is not text"),
        _ => (ErrorKind::Unavailable, "the file cannot be read or written"),
    };
    let retry = if kind == ErrorKind::Unavailable { Retry::of_io(&error) } else { Retry::Never };
    Error::new(kind, operation, message)
        .with_retry(retry)
        .with("path", path.display())
        .with_source(error)
}
