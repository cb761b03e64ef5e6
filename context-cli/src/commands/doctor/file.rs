//! The file of a SQLite store, and the disk below it.

use std::fs;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;

use super::checks::{Check, Status, free_space, is_long_log};
use crate::app::file_of;
use crate::text::count;

/// The file that a URL names.
pub(super) struct StoreFile {
    path: PathBuf,
    /// The kind of network file system that the file is on. `Err` if it is not known.
    network: Result<Option<&'static str>, ()>,
}

impl StoreFile {
    pub(super) fn of(url: &str) -> Option<Self> {
        let path = std::path::absolute(file_of(url)?).ok()?;
        let network = disk::network(&path);
        Some(Self { path, network })
    }

    /// Whether the file is known to be on a network file system.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.network, Ok(Some(_)))
    }

    /// Returns the path of a file that SQLite keeps beside this one.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Checks the file. Whether it is a store, only opening it tells.
    pub(super) fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        let size = fs::metadata(&self.path).map(|file| file.len());
        if let Ok(size) = size {
            checks.push(self.file(size));
        }
        checks.push(self.disk(size.unwrap_or(0)));
        checks.extend(self.leftovers());
        checks
    }

    fn file(&self, size: u64) -> Check {
        let log = fs::metadata(self.beside("-wal")).map_or(0, |log| log.len());
        let detail = format!("{}, {}, log {}", self.path.display(), ByteSize(size), ByteSize(log));
        let read_only =
            |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().readonly());
        if read_only(&self.path) || read_only(self.folder()) {
            let detail = format!("{detail}; the file or its folder can only be read");
            return Check::warning("file", detail)
                .advice("commands that write need permission to write both: `chmod u+w`");
        }
        if is_long_log(log, size) {
            let detail = format!("{detail}; a long log makes reading slow");
            return Check::warning("file", detail).advice(
                "end a program that reads for a long time; `context vacuum` then shortens the log",
            );
        }
        Check::ok("file", detail)
    }

    fn disk(&self, size: u64) -> Check {
        if let Ok(Some(kind)) = self.network {
            let detail =
                format!("{} is on a network file system ({kind})", self.folder().display());
            return Check::warning("disk", format!("{detail}: SQLite is slow there, and not safe"))
                .advice("keep the file on a disk of this machine, or use postgres:// or redis://");
        }
        let Some(free) = disk::free(self.folder()) else {
            return Check::unknown("disk", "the free space is not known");
        };
        let detail = format!("{} free", ByteSize(free));
        let advice = "make room: an upgrade and a vacuum need as much again as the store";
        match free_space(free, size) {
            Status::Problem => Check::problem("disk", detail).advice(advice),
            Status::Warning => Check::warning("disk", detail).advice(advice),
            _ if self.network.is_err() => {
                Check::unknown("disk", format!("{detail}; whether it is a network's is not known"))
            }
            _ => Check::ok("disk", detail),
        }
    }

    /// Finds files and folders that a process which was killed did not complete.
    fn leftovers(&self) -> Option<Check> {
        let name = self.path.file_name()?.to_str()?;
        let begin = format!(".{name}.partial");
        let entries = fs::read_dir(self.folder()).ok()?.filter_map(Result::ok);
        let left = entries.filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(&begin))
        });
        let number = left.count();
        (number > 0).then(|| {
            let detail = format!("{} in {}", count(number, "leftover"), self.folder().display());
            Check::warning("leftovers", format!("{detail}: {begin}…")).advice(
                "a killed process left them, or one is creating the store or a backup just now",
            )
        })
    }
}

#[cfg(unix)]
mod disk {
    use std::path::Path;

    use rustix::fs::statvfs;

    /// Returns the bytes that a process without privileges may still write.
    pub(super) fn free(folder: &Path) -> Option<u64> {
        let found = statvfs(folder).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Returns the kind of network file system below a path, if it is one.
    #[cfg(target_os = "linux")]
    pub(super) fn network(path: &Path) -> Result<Option<&'static str>, ()> {
        const KINDS: [(u64, &str); 8] = [
            (0x6969, "NFS"),
            (0x517b, "SMB"),
            (0xff53_4d42, "CIFS"),
            (0xfe53_4d42, "SMB2"),
            (0x0102_1997, "9P"),
            (0x00c3_6400, "Ceph"),
            (0x0bd0_0bd0, "Lustre"),
            (0x5346_414f, "AFS"),
        ];
        let place = if path.exists() { path } else { path.parent().ok_or(())? };
        let found = rustix::fs::statfs(place).map_err(|_| ())?;
        // The type of the number differs between machines.
        let number = u64::try_from(found.f_type).map_err(|_| ())? & 0xffff_ffff;
        let kind = KINDS.iter().find(|(known, _)| *known == number);
        Ok(kind.map(|(_, name)| *name))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn network(_path: &Path) -> Result<Option<&'static str>, ()> {
        Err(())
    }
}

#[cfg(not(unix))]
mod disk {
    use std::path::Path;

    pub(super) fn free(_folder: &Path) -> Option<u64> {
        None
    }

    pub(super) fn network(_path: &Path) -> Result<Option<&'static str>, ()> {
        Err(())
    }
}
