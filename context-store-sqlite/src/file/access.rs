//! Reading a file without writing anything: no lock file, no log, no index of a log.
//!
//! SQLite reads a log (`-wal`) through an index that processes share (`-shm`), and creates both
//! files if they do not exist. A read-only handle therefore looks at the files first:
//!
//! * Without a log, the file holds everything and is opened as immutable.
//! * A log with its index is read together with the processes that use it.
//! * A log without an index is used by no running process and is read with an index in memory.
//!
//! The first and the last case take no locks. Each such read checks afterwards that the file has
//! not changed, and is repeated if it has.
//!
//! Only a log with frames behind its header counts. A writer that is killed before its first frame
//! leaves only a header, and a power loss may leave zeros. SQLite would wait for ten seconds on
//! such a log and then fail, because it keeps comparing the header in the file with one that it has
//! not accepted.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::sqlite::{SqliteConnectOptions, SqliteLockingMode};

/// A VFS that takes no locks and needs no shared memory.
#[cfg(unix)]
const WITHOUT_LOCKS: &str = "unix-none";
#[cfg(not(unix))]
const WITHOUT_LOCKS: &str = "win32-none";

/// The size of the log header in bytes. The first frame follows it.
const LOG_HEADER: u64 = 32;
/// The magic number of the log header without its lowest bit, which is the byte order of the
/// checksums.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The way in which a file can be read in its present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// There is no log, or the log is empty.
    File,
    /// The log has an index and may be in use.
    SharedLog,
    /// The log has no index.
    LoneLog,
}

/// Size and modification time of a file, if the file exists.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// A snapshot of the file and of the files beside it.
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
        let log_path = sidecar(path, "-wal");
        let log = stamp(&log_path);
        Self {
            file: stamp(path),
            frames: log.is_some_and(|(length, _)| length > LOG_HEADER && !is_void(&log_path)),
            log,
            index: sidecar(path, "-shm").exists(),
        }
    }

    fn access(&self) -> Access {
        match (self.frames, self.index) {
            (true, true) => Access::SharedLog,
            (true, false) => Access::LoneLog,
            (false, _) => Access::File,
        }
    }

    /// Whether reading takes no lock, so that other processes may change the file during the read.
    pub(crate) fn is_unlocked(&self) -> bool {
        self.access() != Access::SharedLog
    }

    /// Whether a connection that was opened in this state can be used in the state `now`.
    pub(crate) fn serves(&self, now: &Self) -> bool {
        match self.access() {
            Access::SharedLog => now.access() == Access::SharedLog,
            _ => self == now,
        }
    }

    /// Returns options that open the file without writing anything.
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

/// Whether SQLite ignores the content of a log. A log that cannot be read is left to SQLite, which
/// reports the error.
fn is_void(log: &Path) -> bool {
    let mut magic = [0; 4];
    let read = File::open(log).and_then(|mut log| log.read_exact(&mut magic));
    read.is_ok() && u32::from_be_bytes(magic) & !1 != LOG_MAGIC
}

/// Returns the path of a file that SQLite keeps beside another one.
pub(crate) fn sidecar(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Escapes a path for use in a URI.
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
