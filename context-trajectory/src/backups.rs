//! Backup copies of files at the time of recording.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use context_core::trajectory::NodeBody;
use context_core::{Error, ErrorKind, Result, Retry};

const OPERATION: &str = "back_up";
const BLOCK: usize = 64 << 10;

/// A folder of backup copies. Copies are named by content hash, so each content is stored once and
/// two different files never share a name.
#[derive(Clone, Debug)]
#[must_use]
pub struct Backups {
    folder: PathBuf,
    limit: u64,
}

impl Backups {
    /// Creates backups in this folder, which is created when first needed. Files above 64 MiB are
    /// not copied by default.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit: 64 << 20 }
    }

    /// Sets the largest size of a file that is copied, in bytes.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Copies the file that a node names and stores the path of the copy in `path_backup`. The node
    /// is returned unchanged if it names no file, or if the file does not exist, is not a regular
    /// file or is too large.
    pub async fn back_up(&self, body: NodeBody) -> Result<NodeBody> {
        let path = body.text("path").to_owned();
        if path.is_empty() || body.get("path_backup").is_none() {
            return Ok(body);
        }
        let this = self.clone();
        let copied = tokio::task::spawn_blocking(move || this.copy(Path::new(&path))).await;
        let copied = copied.map_err(|error| {
            Error::new(ErrorKind::Bug, OPERATION, "the copy ended unexpectedly").with_source(error)
        })?;
        let copied = copied.map_err(|error| {
            let failed = Error::new(ErrorKind::Unavailable, OPERATION, "the file cannot be copied");
            failed.with_retry(Retry::of_io(&error)).with_source(error)
        })?;
        let Some(copy) = copied.and_then(|copy| copy.to_str().map(str::to_owned)) else {
            return Ok(body);
        };
        body.with("path_backup", copy).map_err(|error| error.during(OPERATION))
    }

    fn copy(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match fs::metadata(path) {
            Ok(known) if known.is_file() && known.len() <= self.limit => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        fs::create_dir_all(&self.folder)?;
        let unfinished = self.folder.join(format!(".{}.tmp", uuid::Uuid::now_v7()));
        let hash = self.write(path, &unfinished);
        let kept = match hash {
            Ok(Some(hash)) => {
                let mut name = hash.to_hex().to_string();
                if let Some(extension) = path.extension().and_then(|extension| extension.to_str()) {
                    name = format!("{name}.{extension}");
                }
                let copy = self.folder.join(name);
                return fs::rename(&unfinished, &copy).map(|()| Some(copy));
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        // The unfinished copy is useless, and failing to remove it has no effect on the result.
        let _ = fs::remove_file(&unfinished);
        kept
    }

    /// Returns `None` if the file grew beyond the limit while it was copied.
    fn write(&self, from: &Path, to: &Path) -> io::Result<Option<blake3::Hash>> {
        let mut source = File::open(from)?.take(self.limit.saturating_add(1));
        let mut copy = File::create_new(to)?;
        let (mut hasher, mut block, mut size) = (blake3::Hasher::new(), vec![0; BLOCK], 0);
        loop {
            let read = source.read(&mut block)?;
            if read == 0 {
                break;
            }
            hasher.update(&block[..read]);
            copy.write_all(&block[..read])?;
            size += read as u64;
        }
        if size > self.limit {
            return Ok(None);
        }
        copy.sync_all()?;
        Ok(Some(hasher.finalize()))
    }
}
