//! State shared by all parts: the board, a folder, the number of rounds and the maximum size.

use std::path::{Path, PathBuf};

use crate::board::Board;

pub(crate) struct Bench {
    pub(crate) board: Board,
    pub(crate) folder: PathBuf,
    /// Paired rounds per row.
    pub(crate) rounds: usize,
    /// The longest chat.
    pub(crate) max: usize,
}

impl Bench {
    /// Returns the sizes up to the maximum.
    pub(crate) fn sizes(&self, sizes: &[usize]) -> Vec<usize> {
        sizes.iter().copied().filter(|n| *n <= self.max).collect()
    }

    /// Returns fewer rounds for large sizes: each of their rounds consists of many operations.
    pub(crate) fn rounds_of(&self, n: usize) -> usize {
        if n >= 100_000 { self.rounds.min(5) } else { self.rounds }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes a store that is not needed any more.
    pub(crate) fn remove(&self, name: &str) {
        for end in ["", "-wal", "-shm"] {
            // A file that is still open, or missing, goes with the folder.
            let _left = std::fs::remove_file(Path::new(&self.folder).join(format!("{name}{end}")));
        }
    }
}
