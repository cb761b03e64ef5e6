//! The progress of an import: by the sizes of the files, which are known before they are read.

use std::fs;

use context_runtime::CancelSignal;

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
            self.part(0.0);
        }
    }

    /// Begins to write the current file, with a number of messages if it is known.
    pub(super) fn messages(&self, total: Option<usize>) {
        self.progress.steps("message", total.filter(|_| self.is_single()));
    }

    /// Reaches a number of messages of the current file, of a total if it is known.
    pub(super) fn reach(&self, messages: u64, total: Option<usize>) {
        self.progress.reach(self.messages + messages);
        if let Some(total) = total.filter(|_| !self.is_single()) {
            self.part(messages as f64 / total.max(1) as f64);
        }
    }

    /// Returns a signal for work on the current file that reports the bytes of it that are done.
    pub(super) fn signal(&self, signal: &CancelSignal) -> CancelSignal {
        let (before, size, all) = (self.before, self.size(), self.all());
        let part =
            move |done: u64| (all > 0).then(|| (before + done.min(size)) as f64 / all as f64);
        self.progress.part_signal(signal.clone(), part)
    }

    /// Reaches a part of the current file, from 0 to 1.
    fn part(&self, part: f64) {
        if self.all() > 0 {
            self.progress
                .part((self.before as f64 + self.size() as f64 * part) / self.all() as f64);
        }
    }

    /// Returns the size of the current file.
    fn size(&self) -> u64 {
        self.sizes.get(self.at).copied().unwrap_or_default()
    }

    /// Returns the size of all files.
    fn all(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Ends the current file, which had a number of messages.
    pub(super) fn done(&mut self, messages: u64) {
        self.messages += messages;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bytes_of_a_file_tell_the_remaining_time() {
        let progress = Progress::unseen("importing a.jsonl");
        let text = || progress.text_after(Duration::from_secs(10));
        let mut files =
            FileProgress { progress: &progress, sizes: vec![100], at: 0, before: 0, messages: 0 };
        files.file(0);
        files.messages(None);
        let signal = files.signal(&CancelSignal::never());
        signal.report("byte", 20);
        files.reach(30, None);
        assert_eq!(text(), "importing a.jsonl: 30 messages · 40 s left · 3/s");

        files.sizes = vec![100, 300];
        files.file(1);
        let signal = files.signal(&CancelSignal::never());
        assert_eq!(text(), "importing a.jsonl: 1 of 2 files · 30 messages · 30 s left · 3/s");
        signal.report("byte", 100);
        assert_eq!(text(), "importing a.jsonl: 1 of 2 files · 30 messages · 10 s left · 3/s");

        // A pipe has no size.
        files.sizes = vec![0];
        files.file(0);
        files.signal(&CancelSignal::never()).report("byte", 1 << 20);
        assert!(text().ends_with("30 messages · 10 s · 3/s"), "{}", text());
    }
}
