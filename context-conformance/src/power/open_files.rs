//! The descriptors of the recorded process.

use std::collections::HashMap;
use std::path::PathBuf;

use super::disk_event::FileNumber;

/// The file or folder below the recorded folder that a descriptor is open on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenTarget {
    File(FileNumber),
    Folder(PathBuf),
}

/// An open file. Duplicated descriptors share one.
#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    pub(super) target: OpenTarget,
    pub(super) appends: bool,
    pub(super) position: u64,
}

/// The descriptors that are open below the recorded folder. Others are not known.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    files: Vec<OpenFile>,
    by_descriptor: HashMap<i64, usize>,
}

impl OpenFiles {
    pub(super) fn open(&mut self, descriptor: i64, target: OpenTarget, appends: bool) {
        self.by_descriptor.insert(descriptor, self.files.len());
        self.files.push(OpenFile { target, appends, position: 0 });
    }

    pub(super) fn close(&mut self, descriptor: i64) {
        self.by_descriptor.remove(&descriptor);
    }

    /// Lets a second descriptor share what the first one has open, which may be nothing known.
    pub(super) fn duplicate(&mut self, from: i64, to: i64) {
        match self.by_descriptor.get(&from).copied() {
            Some(file) => drop(self.by_descriptor.insert(to, file)),
            None => self.close(to),
        }
    }

    pub(super) fn get(&mut self, descriptor: i64) -> Option<&mut OpenFile> {
        self.files.get_mut(*self.by_descriptor.get(&descriptor)?)
    }
}
