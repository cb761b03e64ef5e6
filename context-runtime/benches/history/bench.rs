//! What all parts share: the board, a folder, how often and how large.

use std::path::{Path, PathBuf};

use crate::board::Board;

pub(crate) struct Bench {
    pub(crate) board: Board,
    pub(crate) folder: PathBuf,
    /// Paired rounds of a row.
    pub(crate) rounds: usize,
    /// The longest chat.
    pub(crate) max: usize,
}

impl Bench {
    /// The sizes that are not too large.
    pub(crate) fn sizes(&self, sizes: &[usize]) -> Vec<usize> {
        sizes.iter().copied().filter(|n| *n <= self.max).collect()
    }

    /// Fewer rounds for what takes long: one of them is itself many operations.
    pub(crate) fn rounds_of(&self, n: usize) -> usize {
        if n >= 100_000 { self.rounds.min(5) } else { self.rounds }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes a store that is not needed any more.
    pub(crate) fn remove(&self, name: &str) {
        for end in ["", "-wal", "-shm"] {
            // What is still open or was never there goes with the folder.
            let _left = std::fs::remove_file(Path::new(&self.folder).join(format!("{name}{end}")));
        }
    }
}
