//! The names of files and folders at one moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk_event::{DiskEvent, FileNumber};

/// A folder, or a name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TreeEntry {
    Folder,
    File(FileNumber),
}

/// The entries below the recorded folder, by their path relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderTree(BTreeMap<PathBuf, TreeEntry>);

impl FolderTree {
    pub(super) fn get(&self, path: &Path) -> Option<TreeEntry> {
        if path.as_os_str().is_empty() {
            Some(TreeEntry::Folder)
        } else {
            self.0.get(path).copied()
        }
    }

    pub(super) fn insert(&mut self, path: PathBuf, entry: TreeEntry) {
        self.0.insert(path, entry);
    }

    /// Returns a name of a file.
    pub(super) fn path_of(&self, file: FileNumber) -> Option<&Path> {
        self.iter().find(|(_, entry)| *entry == TreeEntry::File(file)).map(|(path, _)| path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, TreeEntry)> {
        self.0.iter().map(|(path, entry)| (path.as_path(), *entry))
    }

    /// Applies a change of names. Other events change nothing. A change whose predecessors are
    /// missing is applied as far as it can be, since a disk may have kept it without them.
    pub(super) fn apply(&mut self, event: &DiskEvent) {
        match event {
            DiskEvent::Name { file, path } => self.insert(path.clone(), TreeEntry::File(*file)),
            DiskEvent::Unname { path } => drop(self.0.remove(path)),
            DiskEvent::Rename { file, from, to } => {
                if self.0.get(from) == Some(&TreeEntry::File(*file)) {
                    self.0.remove(from);
                }
                self.insert(to.clone(), TreeEntry::File(*file));
            }
            DiskEvent::MakeFolder { path } => self.insert(path.clone(), TreeEntry::Folder),
            DiskEvent::RemoveFolder { path } => drop(self.take(path)),
            DiskEvent::RenameFolder { from, to } => {
                drop(self.take(to));
                for (path, entry) in self.take(from) {
                    let rest = path.strip_prefix(from).unwrap_or(&path);
                    self.insert(
                        if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) },
                        entry,
                    );
                }
            }
            _ => {}
        }
    }

    /// Removes an entry and everything below it.
    fn take(&mut self, path: &Path) -> Vec<(PathBuf, TreeEntry)> {
        let taken: Vec<PathBuf> =
            self.0.keys().filter(|known| known.starts_with(path)).cloned().collect();
        taken.into_iter().filter_map(|path| self.0.remove_entry(&path)).collect()
    }

    /// Removes the entries whose folder is missing: nothing leads to them.
    pub(super) fn drop_unreachable(&mut self) {
        let mut reachable = Self::default();
        // A folder comes before its entries.
        for (path, entry) in std::mem::take(&mut self.0) {
            if path.parent().is_some_and(|parent| reachable.get(parent) == Some(TreeEntry::Folder))
            {
                reachable.insert(path, entry);
            }
        }
        *self = reachable;
    }
}
