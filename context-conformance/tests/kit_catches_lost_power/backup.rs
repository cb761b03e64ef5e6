//! A backup that replaces an older one, correctly or not.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use context_conformance::power::{DiskState, PowerOutcome, PowerTest, acknowledge};

/// The number of parts in which the new backup is written.
const PARTS: usize = 40;

/// A fault in the way the backup gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackupFault {
    None,
    RenamesBeforeTheSync,
    SyncsNoFolder,
    WritesInPlace,
}

impl BackupFault {
    pub(crate) const ALL: [Self; 4] =
        [Self::None, Self::RenamesBeforeTheSync, Self::SyncsNoFolder, Self::WritesInPlace];

    /// Returns the beginning of the failure that the fault must have.
    pub(crate) fn found_as(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::RenamesBeforeTheSync | Self::WritesInPlace => Some("a part of a backup"),
            Self::SyncsNoFolder => Some("the old backup"),
        }
    }
}

pub(crate) struct Backup(pub(crate) BackupFault);

fn new_part(n: usize) -> Vec<u8> {
    format!("new {n:04} ").into_bytes().repeat(100)
}

fn new_backup() -> Vec<u8> {
    (0..PARTS).flat_map(new_part).collect()
}

impl Backup {
    fn write_all(&self, folder: &Path) -> io::Result<()> {
        let (place, partial) = (folder.join("backup"), folder.join("partial"));
        if self.0 == BackupFault::WritesInPlace {
            let mut file = File::create(&place)?;
            (0..PARTS).try_for_each(|n| file.write_all(&new_part(n)))?;
            return file.sync_all();
        }
        let mut file = File::create(&partial)?;
        (0..PARTS).try_for_each(|n| file.write_all(&new_part(n)))?;
        if self.0 == BackupFault::RenamesBeforeTheSync {
            fs::rename(&partial, &place)?;
            file.sync_all()?;
        } else {
            file.sync_all()?;
            fs::rename(&partial, &place)?;
        }
        if self.0 != BackupFault::SyncsNoFolder {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl PowerTest for Backup {
    fn name(&self) -> &str {
        match self.0 {
            BackupFault::None => "backup",
            BackupFault::RenamesBeforeTheSync => "renames_before_the_sync",
            BackupFault::SyncsNoFolder => "syncs_no_folder",
            BackupFault::WritesInPlace => "writes_in_place",
        }
    }

    fn prepare(&self, folder: &Path) -> PowerOutcome {
        Ok(fs::write(folder.join("backup"), "old")?)
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        self.write_all(folder)?;
        Ok(acknowledge("backup")?)
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        let found = fs::read(state.folder().join("backup"))?;
        match state.acknowledged().is_empty() {
            _ if found == new_backup() => Ok(()),
            true if found == b"old" => Ok(()),
            false if found == b"old" => Err("the old backup is there after all".into()),
            _ => Err("a part of a backup is there".into()),
        }
    }
}
