//! Lines of a file that cannot be read.

use crate::error::Failure;

/// A line that cannot be read.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The number of the line, from 1.
    pub(crate) line: usize,
    /// The reason.
    pub(crate) failure: Failure,
}

/// All broken lines of a file. The first ones are listed and the others only counted, so memory is
/// bounded even if every line is broken.
#[derive(Debug, Default)]
pub(crate) struct BrokenLines {
    listed: Vec<Broken>,
    unlisted: usize,
}

impl BrokenLines {
    /// The most lines of a file that are listed. The same limit applies to files in the library's
    /// own form.
    const MAX_LISTED: usize = 10_000;

    pub(crate) fn new(listed: Vec<Broken>, unlisted: usize) -> Self {
        Self { listed, unlisted }
    }

    pub(crate) fn push(&mut self, line: usize, failure: Failure) {
        match self.listed.len() < Self::MAX_LISTED {
            true => self.listed.push(Broken { line, failure }),
            false => self.unlisted += 1,
        }
    }

    /// Adds broken lines of the same file that were found separately.
    pub(crate) fn append(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.listed.sort_by_key(|broken| broken.line);
        let over = self.listed.len().saturating_sub(Self::MAX_LISTED);
        self.listed.truncate(Self::MAX_LISTED);
        self.unlisted += other.unlisted + over;
    }

    /// Returns the number of broken lines, listed or not.
    pub(crate) fn count(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    /// Returns the number of broken lines that are not listed.
    pub(crate) fn unlisted(&self) -> usize {
        self.unlisted
    }

    pub(crate) fn listed(&self) -> &[Broken] {
        &self.listed
    }

    /// Returns the error of the first broken line, if there is one.
    pub(crate) fn refused(self) -> Result<Self, Failure> {
        match self.listed.into_iter().next() {
            Some(first) => Err(first.failure),
            None => Ok(Self::default()),
        }
    }
}
