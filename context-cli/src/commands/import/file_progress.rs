//! The progress of an import: by the sizes of the files, which are known before they are read.

use std::fs;

use super::walk::ImportFile;
use crate::progress::Progress;

/// The progress of reading and writing files one after the other.
pub(super) struct FileProgress<'a> {
    pub(super) progress: &'a Progress,
    /// The sizes of the files, in bytes.
    sizes: Vec<u64>,
    /// The number of the current file.
    at: usize,
    /// The size of the files before the current one.
    before: u64,
    /// The number of messages of the files before the current one.
    messages: u64,
}

impl<'a> FileProgress<'a> {
    pub(super) fn new(progress: &'a Progress, files: &[ImportFile]) -> Self {
        let size = |file: &ImportFile| {
            let paths = file.input.paths().unwrap_or_default();
            paths.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
        };
        let sizes = files.iter().map(size).collect();
        Self { progress, sizes, at: 0, before: 0, messages: 0 }
    }

    /// Returns whether there is only one file.
    fn is_single(&self) -> bool {
        self.sizes.len() == 1
    }

    /// Reaches a file, by its number.
    pub(super) fn file(&mut self, at: usize) {
        self.at = at;
        self.before = self.sizes.iter().take(at).sum();
        if !self.is_single() {
            self.progress.items("file", at, self.sizes.len());
            self.reach(0, None);
        }
    }

    /// Begins to write the current file, with a number of messages if it is known.
    pub(super) fn messages(&self, total: Option<usize>) {
        self.progress.steps("message", total.filter(|_| self.is_single()));
    }

    /// Reaches a number of messages of the current file, of a total if it is known.
    pub(super) fn reach(&self, messages: u64, total: Option<usize>) {
        self.progress.reach(self.messages + messages);
        let all = self.sizes.iter().sum::<u64>();
        if !self.is_single() && all > 0 {
            let size = self.sizes.get(self.at).copied().unwrap_or_default();
            let done = total.map_or(0.0, |total| messages as f64 / total.max(1) as f64);
            self.progress.part((self.before as f64 + size as f64 * done) / all as f64);
        }
    }

    /// Ends the current file, which had a number of messages.
    pub(super) fn done(&mut self, messages: u64) {
        self.messages += messages;
    }
}
