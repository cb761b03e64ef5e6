//! Reading a file without writing anything: no lock file, no log, no index of a log.
//!
//! SQLite reads a log (`-wal`) through an index that processes share (`-shm`) and makes both if
//! they are not there. A handle that only reads looks what there is first, and chooses: without a
//! log the file is all there is and is read as one that does not change; a log with its index is
//! read beside whoever uses it; a log without index belongs to nobody who runs, and is read with an
//! index in memory. The first and the last take no locks, so each read looks afterwards whether the
//! file is still as it was, and is made again if not.
//!
//! Only a log with frames behind its header counts. A writer that is killed before the first frame
//! leaves a header alone, and a power loss zeros. SQLite waits for ten seconds beside such a log,
//! and then fails: it keeps comparing the header in the file with one that it has not taken over.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::sqlite::{SqliteConnectOptions, SqliteLockingMode};

/// The VFS that takes no locks and needs no shared memory.
#[cfg(unix)]
const WITHOUT_LOCKS: &str = "unix-none";
#[cfg(not(unix))]
const WITHOUT_LOCKS: &str = "win32-none";

/// The number of bytes of a log before its first frame.
const LOG_HEADER: u64 = 32;
/// The beginning of a log, but for its last bit, which says how the checksums are made.
const LOG_MAGIC: u32 = 0x377f_0682;

/// How a file is read at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// There is no log, or nothing in it.
    File,
    /// A log and its index, perhaps in use.
    SharedLog,
    /// A log without an index.
    LoneLog,
}

/// Size and time of the last change, if there is such a file.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// The file and what is beside it, as they are at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    file: Stamp,
    log: Stamp,
    /// Whether the log has frames.
    frames: bool,
    index: bool,
}

impl FileState {
    pub(crate) fn of(path: &Path) -> Self {
        let stamp = |path: &Path| {
            let found = fs::metadata(path).ok()?;
            Some((found.len(), found.modified().ok()))
        };
        let log_path = beside(path, "-wal");
        let log = stamp(&log_path);
        Self {
            file: stamp(path),
            frames: log.is_some_and(|(length, _)| length > LOG_HEADER && !is_void(&log_path)),
            log,
            index: beside(path, "-shm").exists(),
        }
    }

    fn access(&self) -> Access {
        match (self.frames, self.index) {
            (true, true) => Access::SharedLog,
            (true, false) => Access::LoneLog,
            (false, _) => Access::File,
        }
    }

    /// Whether nothing keeps others from changing what is being read.
    pub(crate) fn is_unlocked(&self) -> bool {
        self.access() != Access::SharedLog
    }

    /// Whether a connection that was opened in this state may be used in another one.
    pub(crate) fn serves(&self, now: &Self) -> bool {
        match self.access() {
            Access::SharedLog => now.access() == Access::SharedLog,
            _ => self == now,
        }
    }

    /// Opens the file so that nothing is written.
    pub(crate) fn options(&self, base: &SqliteConnectOptions) -> SqliteConnectOptions {
        let base = base.clone().read_only(true);
        match self.access() {
            Access::File => base.immutable(true),
            Access::SharedLog => {
                let uri = format!("file:{}?readonly_shm=1", escaped(base.get_filename()));
                base.filename(uri)
            }
            Access::LoneLog => base.vfs(WITHOUT_LOCKS).locking_mode(SqliteLockingMode::Exclusive),
        }
    }
}

/// Whether SQLite ignores what is in a log. One that cannot be read is left to SQLite to complain
/// of.
fn is_void(log: &Path) -> bool {
    let mut magic = [0; 4];
    let read = File::open(log).and_then(|mut log| log.read_exact(&mut magic));
    read.is_ok() && u32::from_be_bytes(magic) & !1 != LOG_MAGIC
}

/// The file that SQLite keeps beside another one.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A path as it stands in a URI.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                text.push(char::from(*byte));
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}
