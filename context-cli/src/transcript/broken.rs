//! The lines of a file that cannot be read.

use crate::error::Failure;

/// A line that cannot be read.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Why.
    pub(crate) failure: Failure,
}

/// All such lines of a file. The first are listed, the others counted, so that a file of nothing
/// else takes no more memory than one with some.
#[derive(Debug, Default)]
pub(crate) struct BrokenLines {
    listed: Vec<Broken>,
    unlisted: usize,
}

impl BrokenLines {
    /// The most lines of a file that are listed, as many as of a file in the library's own form.
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

    /// Adds the lines of the same file that were found in another way.
    pub(crate) fn append(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.listed.sort_by_key(|broken| broken.line);
        let over = self.listed.len().saturating_sub(Self::MAX_LISTED);
        self.listed.truncate(Self::MAX_LISTED);
        self.unlisted += other.unlisted + over;
    }

    /// The number of lines, listed or not.
    pub(crate) fn count(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    /// The number of those that are not listed.
    pub(crate) fn unlisted(&self) -> usize {
        self.unlisted
    }

    pub(crate) fn listed(&self) -> &[Broken] {
        &self.listed
    }

    /// Nothing if there are none, else the error of the first.
    pub(crate) fn refused(self) -> Result<Self, Failure> {
        match self.listed.into_iter().next() {
            Some(first) => Err(first.failure),
            None => Ok(Self::default()),
        }
    }
}
