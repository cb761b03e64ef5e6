//! A key of its own for each user, so that dropping it makes every copy of the user's records
//! unreadable.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use context_core::UserId;
use zeroize::Zeroizing;

use super::associated_data::AssociatedData;
use super::key_sources::check_mode;
use super::keys::{EncryptionKey, KEY_BYTES, KeyError, KeyRing};
use super::record::{Sealer, record_text, seal, text_record};

/// The first line of a file of keys.
const FIRST: &str = "context user keys 1";

/// The keys of the users of a store, kept apart from the store and from its backups: whoever has a
/// copy of the rows must not have a copy of the keys with it.
///
/// The calls block the thread, for as long as it takes to read a small file or to ask a program.
pub trait UserKeys: fmt::Debug + Send + Sync {
    /// Returns the keys of a user, `None` if the user has none, or no longer.
    fn keys_of(&self, user: &UserId) -> Result<Option<Arc<KeyRing>>, KeyError>;

    /// Returns the keys of a user, and makes a random one for a user who has none.
    fn make_keys(&self, user: &UserId) -> Result<Arc<KeyRing>, KeyError>;

    /// Drops the keys of a user for good, and returns whether there were any. When the call
    /// returns, they are nowhere where this provider would find them again.
    fn drop_keys(&self, user: &UserId) -> Result<bool, KeyError>;
}

/// Keys of users in a file, each encrypted with a master key, which is not in the file.
///
/// The file is replaced as a whole, in one step, and only its owner can read it. Several processes
/// may use it: a process that has read a key keeps it in memory until the file is another one, so
/// that none writes with a key that was dropped elsewhere.
///
/// ```
/// use context_store_layers::{EncryptionKey, KeyRing, UserKeyFile, UserKeys};
///
/// let folder = tempfile::tempdir().unwrap();
/// let master = KeyRing::new(EncryptionKey::from_bytes("master", &[7; 32])?);
/// let keys = UserKeyFile::open(folder.path().join("users.keys"), master)?;
/// let made = keys.make_keys(&"ada".into())?;
/// assert_eq!(keys.keys_of(&"ada".into())?.unwrap().current().id(), made.current().id());
/// assert!(keys.drop_keys(&"ada".into())?);
/// assert!(keys.keys_of(&"ada".into())?.is_none());
/// # Ok::<(), context_store_layers::KeyError>(())
/// ```
pub struct UserKeyFile {
    path: PathBuf,
    master: Sealer,
    known: Mutex<KnownKeys>,
}

/// Keys that were read, and the file that they were read from.
#[derive(Default)]
struct KnownKeys {
    version: Option<FileVersion>,
    rings: BTreeMap<UserId, Arc<KeyRing>>,
}

/// One version of a file that is only ever replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl UserKeyFile {
    /// Opens a file of keys, which need not exist yet. Refuses a file that others may read. The
    /// older keys of `master` open what they once encrypted.
    pub fn open(path: impl Into<PathBuf>, master: KeyRing) -> Result<Self, KeyError> {
        let path = path.into();
        let master = Sealer { ring: Arc::new(master), allow_plain: false };
        let keys = Self { path, master, known: Mutex::default() };
        let _ = keys.read()?;
        Ok(keys)
    }

    /// Encrypts all keys anew with the current master key, so that older ones can be discarded.
    /// Returns their number. Other processes must have the current master key before.
    pub fn rewrap(&self) -> Result<usize, KeyError> {
        let _lock = self.lock()?;
        let lines = self.read()?;
        let mut anew = BTreeMap::new();
        for (user, line) in &lines {
            let (name, bytes) = self.unwrap_key(user, line)?;
            anew.insert(user.clone(), self.wrap_key(user, &name, &bytes));
        }
        self.write(&anew)?;
        Ok(anew.len())
    }

    /// Takes the lock that keeps two processes from writing at once. It ends with the returned
    /// value.
    fn lock(&self) -> Result<File, KeyError> {
        let file = private(fs::OpenOptions::new().create(true).truncate(false).write(true))
            .open(beside(&self.path, ".lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Reads the wrapped keys by user.
    fn read(&self) -> Result<BTreeMap<UserId, String>, KeyError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BTreeMap::new());
            }
            Err(error) => return Err(error.into()),
        };
        check_mode(&self.path)?;
        let mut lines = text.lines();
        if lines.next() != Some(FIRST) {
            return Err(KeyError::Form);
        }
        let line = |line: &str| {
            let (key, user) = line.split_once(' ').ok_or(KeyError::Form)?;
            let user: String = serde_json::from_str(user).map_err(|_| KeyError::Form)?;
            Ok((UserId::from(user), key.to_owned()))
        };
        lines.map(line).collect()
    }

    /// Replaces the file.
    fn write(&self, lines: &BTreeMap<UserId, String>) -> Result<(), KeyError> {
        let mut text = format!("{FIRST}\n");
        for (user, key) in lines {
            let user = serde_json::Value::from(user.as_str());
            text.push_str(&format!("{key} {user}\n"));
        }
        let new = beside(&self.path, ".new");
        let mut file =
            private(fs::OpenOptions::new().create(true).truncate(true).write(true)).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        sync_folder(&self.path)?;
        Ok(())
    }

    /// Returns the version of the file, `None` if there is no file.
    fn version(&self) -> Result<Option<FileVersion>, KeyError> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(Some(FileVersion {
                modified: found.modified().ok(),
                bytes: found.len(),
                inode: inode(&found),
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn wrap_key(&self, user: &UserId, name: &str, bytes: &[u8; KEY_BYTES]) -> String {
        let mut plain = Zeroizing::new(bytes.to_vec());
        plain.extend_from_slice(name.as_bytes());
        let sealed = seal(self.master.ring.current(), &AssociatedData::user_key(user), &plain);
        record_text(&sealed)
    }

    fn unwrap_key(
        &self,
        user: &UserId,
        line: &str,
    ) -> Result<(String, Zeroizing<[u8; KEY_BYTES]>), KeyError> {
        let record = text_record(line).ok_or(KeyError::Form)?.map_err(|_| KeyError::Form)?;
        let opened = self.master.open(&AssociatedData::user_key(user), &record);
        let plain = Zeroizing::new(opened.map_err(|error| KeyError::Master(Box::new(error)))?);
        let (bytes, name) = plain.split_first_chunk::<KEY_BYTES>().ok_or(KeyError::Form)?;
        let name = std::str::from_utf8(name).map_err(|_| KeyError::Form)?;
        Ok((name.to_owned(), Zeroizing::new(*bytes)))
    }

    /// Returns the keys that were read of this version of the file.
    fn known(&self, version: Option<FileVersion>) -> MutexGuard<'_, KnownKeys> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.version != version {
            *known = KnownKeys { version, rings: BTreeMap::new() };
        }
        known
    }

    fn ring(&self, user: &UserId, line: &str) -> Result<Arc<KeyRing>, KeyError> {
        let (name, bytes) = self.unwrap_key(user, line)?;
        Ok(Arc::new(KeyRing::new(EncryptionKey::from_bytes(&name, &bytes)?)))
    }
}

impl UserKeys for UserKeyFile {
    fn keys_of(&self, user: &UserId) -> Result<Option<Arc<KeyRing>>, KeyError> {
        let version = self.version()?;
        if let Some(ring) = self.known(version).rings.get(user) {
            return Ok(Some(Arc::clone(ring)));
        }
        let Some(line) = self.read()?.remove(user) else { return Ok(None) };
        let ring = self.ring(user, &line)?;
        // A file that was replaced in between may no longer have the key.
        if self.version()? == version {
            self.known(version).rings.insert(user.clone(), Arc::clone(&ring));
        }
        Ok(Some(ring))
    }

    fn make_keys(&self, user: &UserId) -> Result<Arc<KeyRing>, KeyError> {
        if let Some(ring) = self.keys_of(user)? {
            return Ok(ring);
        }
        let _lock = self.lock()?;
        let mut lines = self.read()?;
        if let Some(line) = lines.get(user) {
            return self.ring(user, line);
        }
        let (name, bytes) = random_key()?;
        lines.insert(user.clone(), self.wrap_key(user, &name, &bytes));
        self.write(&lines)?;
        Ok(Arc::new(KeyRing::new(EncryptionKey::from_bytes(&name, &bytes)?)))
    }

    fn drop_keys(&self, user: &UserId) -> Result<bool, KeyError> {
        let _lock = self.lock()?;
        let mut lines = self.read()?;
        let had = lines.remove(user).is_some();
        if had {
            self.write(&lines)?;
        }
        Ok(had)
    }
}

impl fmt::Debug for UserKeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserKeyFile").field("master", &self.master.ring).finish_non_exhaustive()
    }
}

/// Returns a random key and a random name for it.
pub(super) fn random_key() -> Result<(String, Zeroizing<[u8; KEY_BYTES]>), KeyError> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    let mut name = [0; 7];
    let filled = getrandom::fill(&mut *bytes).and_then(|()| getrandom::fill(&mut name));
    filled.map_err(|_| KeyError::Random)?;
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((format!("u-{name}"), bytes))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the name of a file durable.
#[cfg(unix)]
fn sync_folder(file: &Path) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_file: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn inode(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_found: &fs::Metadata) -> u64 {
    0
}

/// Makes a new file one that only its owner can read.
#[cfg(unix)]
fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options
}
