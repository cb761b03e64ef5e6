//! The names and the contents of files at one moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::disk_event::{DiskEvent, FileNumber};
use super::error::PowerError;
use super::folder_tree::{FolderTree, TreeEntry};

/// The part of an event that reached the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reached {
    All,
    Nothing,
    /// Of a change of a file: the ranges of the written bytes, from the start of the write, and
    /// whether the length of the file changed.
    Part {
        ranges: Vec<(usize, usize)>,
        length: bool,
    },
}

/// Files and folders in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskImage {
    tree: FolderTree,
    contents: Vec<Vec<u8>>,
    /// Files that are mapped for writing: their content may be anything.
    mapped: BTreeSet<FileNumber>,
}

impl DiskImage {
    /// Reads a folder.
    pub(super) fn of_folder(root: &Path) -> Result<Self, PowerError> {
        let failed = PowerError::files("reading the folder before the recording");
        let mut image = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(&failed)? {
                let entry = entry.map_err(&failed)?;
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                let kind = entry.file_type().map_err(&failed)?;
                if kind.is_dir() {
                    image.tree.insert(name, TreeEntry::Folder);
                    folders.push(path);
                } else if kind.is_file() {
                    let file = image.new_file();
                    image.contents[file] = fs::read(&path).map_err(&failed)?;
                    image.tree.insert(name, TreeEntry::File(file));
                } else {
                    let shown = path.display().to_string();
                    return Err(PowerError::unsupported(&shown, "neither a file nor a folder"));
                }
            }
        }
        Ok(image)
    }

    pub(super) fn new_file(&mut self) -> FileNumber {
        self.contents.push(Vec::new());
        self.contents.len() - 1
    }

    pub(super) fn tree(&self) -> &FolderTree {
        &self.tree
    }

    pub(super) fn tree_mut(&mut self) -> &mut FolderTree {
        &mut self.tree
    }

    pub(super) fn length(&self, file: FileNumber) -> u64 {
        self.contents.get(file).map_or(0, Vec::len) as u64
    }

    /// Returns the content of the file of this name.
    pub(super) fn content(&self, name: &Path) -> Option<&[u8]> {
        match self.tree.get(name) {
            Some(TreeEntry::File(file)) => self.contents.get(file).map(Vec::as_slice),
            _ => None,
        }
    }

    pub(super) fn bytes(&self, file: FileNumber, from: u64, length: u64) -> Vec<u8> {
        let content = self.contents.get(file).map_or(&[][..], Vec::as_slice);
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        content[at(from)..at(from.saturating_add(length))].to_vec()
    }

    pub(super) fn is_mapped(&self, file: FileNumber) -> bool {
        self.mapped.contains(&file)
    }

    /// Applies an event that reached the disk as a whole.
    pub(super) fn apply(&mut self, event: &DiskEvent) {
        self.apply_part(event, &Reached::All);
    }

    /// Applies the part of an event that reached the disk.
    pub(super) fn apply_part(&mut self, event: &DiskEvent, reached: &Reached) {
        if let DiskEvent::Name { file, .. } = event {
            // A file exists from its first name on, even if that name did not reach the disk.
            while self.contents.len() <= *file {
                self.contents.push(Vec::new());
            }
        }
        let (ranges, length) = match (event, reached) {
            (_, Reached::Nothing) => return,
            (DiskEvent::Write { bytes, .. }, Reached::All) => (&[(0, bytes.len())][..], true),
            (_, Reached::All) => (&[][..], true),
            (_, Reached::Part { ranges, length }) => (ranges.as_slice(), *length),
        };
        match event {
            DiskEvent::Write { file, offset, bytes } => {
                let Some(content) = self.contents.get_mut(*file) else { return };
                let from = usize::try_from(*offset).unwrap_or(usize::MAX);
                let end = from.saturating_add(bytes.len());
                if length && content.len() < end {
                    content.resize(end, 0);
                }
                for (begin, end) in ranges {
                    let kept = (from + begin).min(content.len())..(from + end).min(content.len());
                    let count = kept.len();
                    content[kept].copy_from_slice(&bytes[*begin..begin + count]);
                }
            }
            DiskEvent::Resize { file, length: new } if length => {
                if let Some(content) = self.contents.get_mut(*file) {
                    content.resize(usize::try_from(*new).unwrap_or(usize::MAX), 0);
                }
            }
            DiskEvent::Map { file } => drop(self.mapped.insert(*file)),
            event => self.tree.apply(event),
        }
    }

    /// Writes the files and folders into an empty folder. The bytes of mapped files come from
    /// `noise`.
    pub(super) fn write_to(
        &self,
        root: &Path,
        mut noise: impl FnMut(&mut [u8]),
    ) -> Result<(), PowerError> {
        let failed = PowerError::files("writing a state of the disk");
        // A folder comes before its entries.
        for (path, entry) in self.tree.iter() {
            let path = root.join(path);
            match entry {
                TreeEntry::Folder => fs::create_dir(&path).map_err(&failed)?,
                TreeEntry::File(file) if self.is_mapped(file) => {
                    let mut content = self.contents[file].clone();
                    noise(&mut content);
                    fs::write(&path, content).map_err(&failed)?;
                }
                TreeEntry::File(file) => {
                    fs::write(&path, &self.contents[file]).map_err(&failed)?;
                }
            }
        }
        Ok(())
    }
}
