//! Records in a file that only grows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_core::base::limits;
use context_core::{Error, ErrorKind, Result};
use tokio::sync::Mutex;

use super::record::MessageRecord;
use crate::journal::{self, Form, Journal, TornTail};

/// The longest record, in bytes: that of the largest body, which may be there twice, once with
/// escapes.
const MAX_RECORD_BYTES: usize = 4 * limits::MAX_BODY_BYTES;
const FORM: Form = Form { name: "context messages", version: 1 };
const OPEN: &str = "open_messages";
const READ: &str = "read_messages";
const APPEND: &str = "append_messages";

/// What a file of records holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct LoadedMessages {
    /// The records, in the order they were appended.
    pub records: Vec<MessageRecord>,
    /// What a crash left of an append that never succeeded, if there was one.
    pub torn: Option<TornTail>,
}

/// A file of JSON Lines to which records are appended. An append costs what is appended, however
/// long the file is.
///
/// Each line is `{"check": …, "record": …}` with a checksum of the record; the first record is
/// `{"form": "context messages", "version": 1}`, every other a [`MessageRecord`]. A write that a
/// crash broke off leaves a torn tail, which the next [`open`](Self::open) cuts off and reports.
/// Any other line that does not fit is an error of the kind [`Corrupt`](ErrorKind::Corrupt) that
/// names it, and such a file is not written to. A file of any other form is
/// [`Invalid`](ErrorKind::Invalid), and not written to either.
///
/// Several logs, also of several processes, may append to one file: appends never mix. A future
/// that is dropped while it waits for its turn has written nothing; one that is dropped later
/// writes all the same. The file's folder must be there.
#[derive(Clone, Debug)]
pub struct MessageLog {
    path: Arc<Path>,
    journal: Arc<Mutex<Journal>>,
    synced: bool,
}

impl MessageLog {
    /// Opens a file, or makes an empty one, and reads all of it.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such folder, `Corrupt` and `Invalid` as above, `Unsupported`
    /// for a file of a newer version, `Unavailable` where the system says no.
    pub async fn open(path: impl Into<PathBuf>) -> Result<(Self, LoadedMessages)> {
        let path: Arc<Path> = path.into().into();
        let place = Arc::clone(&path);
        let (journal, loaded) = blocking(OPEN, move || {
            let mut records = Vec::new();
            let (journal, torn) = Journal::open(OPEN, &place, FORM, &mut |line, text| {
                records.push(parsed(OPEN, &place, line, text)?);
                Ok(())
            })?;
            Ok((journal, LoadedMessages { records, torn }))
        })
        .await?;
        Ok((Self { path, journal: Arc::new(Mutex::new(journal)), synced: true }, loaded))
    }

    /// Reads a file without touching it. A torn tail is reported and stays.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and `NotFound` where there is no file.
    pub async fn read(path: impl Into<PathBuf>) -> Result<LoadedMessages> {
        let path = path.into();
        blocking(READ, move || {
            let mut records = Vec::new();
            let torn = journal::read(READ, &path, FORM, &mut |line, text| {
                records.push(parsed(READ, &path, line, text)?);
                Ok(())
            })?;
            Ok(LoadedMessages { records, torn })
        })
        .await
    }

    /// The same log, whose appends return once the system has them: they survive the end of the
    /// process, not that of the machine. Without this they wait for the disk.
    #[must_use]
    pub fn unsynced(mut self) -> Self {
        self.synced = false;
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends records in one write. Those of one call stand together; a crash may leave the first
    /// of them without the others.
    ///
    /// # Errors
    ///
    /// `Invalid` for a record of more than 64 MiB, `Corrupt` where somebody else damaged the file
    /// meanwhile, `Conflict` where another file took its place, `Unavailable` where the system says
    /// no. Nothing is appended then, except that after a failed wait for the disk nobody knows: the
    /// log has to be opened again, and says so.
    pub async fn append(&self, records: &[MessageRecord]) -> Result<()> {
        let lines: Vec<_> =
            records.iter().map(|record| record.to_json().as_str().to_owned()).collect();
        if let Some(index) = lines.iter().position(|line| line.len() > MAX_RECORD_BYTES) {
            let error = Error::invalid(APPEND, "a record is too long").with("record", index);
            return Err(error.with("limit", MAX_RECORD_BYTES));
        }
        let synced = self.synced;
        let mut journal = Arc::clone(&self.journal).lock_owned().await;
        blocking(APPEND, move || journal.append(APPEND, &lines, synced)).await
    }

    /// How many records the file has, as far as this log has seen: those read and appended, and
    /// those of others before its last append.
    pub async fn len(&self) -> u64 {
        self.journal.lock().await.len()
    }

    /// Whether it has none.
    pub async fn is_empty(&self) -> bool {
        self.len().await == 0
    }
}

fn parsed(operation: &'static str, path: &Path, line: u64, text: &str) -> Result<MessageRecord> {
    serde_json::from_str(text).map_err(|error| {
        let fault = Error::new(ErrorKind::Corrupt, operation, "a line is no record of a message");
        fault.with("path", path.display()).with("line", line).with_source(error)
    })
}

/// Runs a call that blocks where it may.
pub(super) async fn blocking<T: Send + 'static>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(call).await.map_err(|error| {
        Error::new(ErrorKind::Bug, operation, "the call of the file system did not end")
            .with_source(error)
    })?
}
