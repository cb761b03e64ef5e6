//! An append-only log of records.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_core::base::limits;
use context_core::{Error, ErrorKind, Json, Result};
use tokio::sync::Mutex;

use super::record::MessageRecord;
use crate::journal::{self, Form, Journal, TornTail};

/// The longest record in bytes. It must hold the largest body twice, once with escapes.
const MAX_RECORD_BYTES: usize = 4 * limits::MAX_BODY_BYTES;
const FORM: Form = Form { name: "context messages", version: 1 };
const OPEN: &str = "open_messages";
const READ: &str = "read_messages";
const APPEND: &str = "append_messages";

/// The content of a record file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct LoadedMessages {
    /// The records in the order in which they were appended.
    pub records: Vec<MessageRecord>,
    /// The rest of an unfinished append that a crash left, if any.
    pub torn: Option<TornTail>,
}

/// An append-only JSON Lines file of records. An append costs only what is appended, however long
/// the file is.
///
/// Each line is `{"check": …, "record": …}` with a checksum of the record. The first record is
/// `{"form": "context messages", "version": 1}`, every other one a [`MessageRecord`]. A write that
/// a crash interrupted leaves a torn tail, which the next [`open`](Self::open) cuts off and
/// reports. Any other invalid line is an error of the kind [`Corrupt`](ErrorKind::Corrupt) that
/// names the line, and a file of another format is [`Invalid`](ErrorKind::Invalid). Neither kind of
/// file is written to.
///
/// Several logs, also in several processes, may append to one file, and the records of two appends
/// never interleave. A future that is dropped while it waits for the lock has written nothing. A
/// future that is dropped later still completes its write. The folder must exist.
#[derive(Clone, Debug)]
pub struct MessageLog {
    path: Arc<Path>,
    journal: Arc<Mutex<Journal>>,
    synced: bool,
    mask: Option<RecordMask>,
}

/// A function that masks a record before it is written.
#[derive(Clone)]
struct RecordMask(Arc<MaskFunction>);

type MaskFunction = dyn Fn(&Json) -> Option<Json> + Send + Sync;

impl fmt::Debug for RecordMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordMask")
    }
}

impl MessageLog {
    /// Opens a file, or creates an empty one, and reads all of it.
    ///
    /// # Errors
    ///
    /// `NotFound` if the folder does not exist, `Corrupt` and `Invalid` as described above,
    /// `Unsupported` for a file of a newer version, `Unavailable` for other errors of the system.
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
        Ok((
            Self { path, journal: Arc::new(Mutex::new(journal)), synced: true, mask: None },
            loaded,
        ))
    }

    /// Reads a file without changing it. A torn tail is reported and left in place.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), and `NotFound` if the file does not exist.
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

    /// Makes appends return once the operating system has the data, which survives a crash of the
    /// process but not of the machine. By default appends wait for the disk.
    #[must_use]
    pub fn unsynced(mut self) -> Self {
        self.synced = false;
        self
    }

    /// Masks each record before it is written. The function returns `None` for a record that stays
    /// as it is, such as `SecretFinder::mask_json` of `context-secrets` does. Records of earlier
    /// appends stay as they are.
    #[must_use]
    pub fn masked(mut self, mask: impl Fn(&Json) -> Option<Json> + Send + Sync + 'static) -> Self {
        self.mask = Some(RecordMask(Arc::new(mask)));
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends records with one write. The records of one call stay together. A crash may keep the
    /// first of them without the rest.
    ///
    /// # Errors
    ///
    /// `Invalid` for a record of more than 64 MiB, `Corrupt` if another writer damaged the file
    /// meanwhile, `Conflict` if the file was replaced, `Unavailable` for other errors of the
    /// system. In each case nothing was appended. The exception is a failed sync: the outcome is
    /// then unknown, and further calls fail until the log is opened again.
    pub async fn append(&self, records: &[MessageRecord]) -> Result<()> {
        let line = |record: &MessageRecord| {
            let json = record.to_json();
            let masked = self.mask.as_ref().and_then(|mask| (mask.0)(&json));
            masked.unwrap_or(json).as_str().to_owned()
        };
        let lines: Vec<_> = records.iter().map(line).collect();
        if let Some(index) = lines.iter().position(|line| line.len() > MAX_RECORD_BYTES) {
            let error = Error::invalid(APPEND, "a record is too long").with("record", index);
            return Err(error.with("limit", MAX_RECORD_BYTES));
        }
        let synced = self.synced;
        let mut journal = Arc::clone(&self.journal).lock_owned().await;
        blocking(APPEND, move || journal.append(APPEND, &lines, synced)).await
    }

    /// Returns the number of records that this log has seen: those it read and appended, and those
    /// that others wrote before its last append.
    pub async fn len(&self) -> u64 {
        self.journal.lock().await.len()
    }

    /// Returns whether the log has seen no records.
    pub async fn is_empty(&self) -> bool {
        self.len().await == 0
    }
}

fn parsed(operation: &'static str, path: &Path, line: u64, text: &str) -> Result<MessageRecord> {
    serde_json::from_str(text).map_err(|error| {
        let fault =
            Error::new(ErrorKind::Corrupt, operation, "a line is not a record of a message");
        fault.with("path", path.display()).with("line", line).with_source(error)
    })
}

/// Runs a blocking call on the blocking thread pool.
pub(super) async fn blocking<T: Send + 'static>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(call).await.map_err(|error| {
        Error::new(ErrorKind::Bug, operation, "the call of the file system did not end")
            .with_source(error)
    })?
}
