//! Events: the changes of files and folders that a recording consists of.

use std::path::{Path, PathBuf};

/// The number of a file, whatever its names are.
pub(super) type FileNumber = usize;

/// A change of the disk, or a point in time between changes. Paths are relative to the recorded
/// folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiskEvent {
    /// Bytes were written. The file grows if they end behind its end.
    Write {
        file: FileNumber,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// A file got this length.
    Resize {
        file: FileNumber,
        length: u64,
    },
    /// A file was mapped for writing: its content may be anything from now on.
    Map {
        file: FileNumber,
    },
    /// A file got a name, its first one or another one.
    Name {
        file: FileNumber,
        path: PathBuf,
    },
    /// A file lost a name.
    Unname {
        path: PathBuf,
    },
    /// A file exchanged its name for another one, which may have been that of another file.
    Rename {
        file: FileNumber,
        from: PathBuf,
        to: PathBuf,
    },
    MakeFolder {
        path: PathBuf,
    },
    RemoveFolder {
        path: PathBuf,
    },
    RenameFolder {
        from: PathBuf,
        to: PathBuf,
    },
    /// All writes to a file before the event of this number are on the disk.
    SyncFile {
        file: FileNumber,
        before: usize,
    },
    /// All changes of names in a folder before the event of this number are on the disk.
    SyncFolder {
        path: PathBuf,
        before: usize,
    },
    /// Everything before the event of this number is on the disk.
    SyncAll {
        before: usize,
    },
    /// The process wrote a line that acknowledges something.
    Acknowledge(String),
    /// The process exited with this status.
    Exit(i32),
}

impl DiskEvent {
    /// Whether the event changes a file or a name.
    pub(super) fn is_change(&self) -> bool {
        self.changed_file().is_some() || self.changed_folder().is_some()
    }

    /// Returns the file whose content the event changes.
    pub(super) fn changed_file(&self) -> Option<FileNumber> {
        match self {
            Self::Write { file, .. } | Self::Resize { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// Returns the folder whose entries the event changes. A rename counts as a change of the
    /// folder that it leads to.
    pub(super) fn changed_folder(&self) -> Option<&Path> {
        match self {
            Self::Name { path, .. }
            | Self::Unname { path }
            | Self::Rename { to: path, .. }
            | Self::MakeFolder { path }
            | Self::RemoveFolder { path }
            | Self::RenameFolder { to: path, .. } => path.parent(),
            _ => None,
        }
    }

    /// Returns the folder that a rename leads out of.
    pub(super) fn left_folder(&self) -> Option<&Path> {
        match self {
            Self::Rename { from, .. } | Self::RenameFolder { from, .. } => from.parent(),
            _ => None,
        }
    }

    /// Returns the event in few words, for a failure.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Write { file, offset, bytes } => {
                format!("write {} bytes at {offset} of file {file}", bytes.len())
            }
            Self::Resize { file, length } => format!("set the length of file {file} to {length}"),
            Self::Map { file } => format!("map file {file}"),
            Self::Name { file, path } => format!("name file {file} {}", path.display()),
            Self::Unname { path } => format!("unlink {}", path.display()),
            Self::Rename { file, from, to } => {
                format!("rename file {file} from {} to {}", from.display(), to.display())
            }
            Self::MakeFolder { path } => format!("create the folder {}", path.display()),
            Self::RemoveFolder { path } => format!("remove the folder {}", path.display()),
            Self::RenameFolder { from, to } => {
                format!("rename the folder {} to {}", from.display(), to.display())
            }
            Self::SyncFile { file, .. } => format!("sync file {file}"),
            Self::SyncFolder { path, .. } => format!("sync the folder {}/", path.display()),
            Self::SyncAll { .. } => "sync everything".to_owned(),
            Self::Acknowledge(line) => format!("acknowledge {line:?}"),
            Self::Exit(status) => format!("exit with {status}"),
        }
    }
}
