//! Lines of a file that cannot be read.

use crate::TranscriptError;

/// A line that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct LineError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The reason.
    pub error: TranscriptError,
}

/// The broken lines of a file. The first 10,000 are listed and the others only counted, so memory
/// is bounded even if every line is broken.
#[derive(Debug, Default)]
pub struct BrokenLines {
    listed: Vec<LineError>,
    unlisted: usize,
}

impl BrokenLines {
    /// The most lines of a file that are listed. The same limit applies to files in the library's
    /// own form.
    const MAX_LISTED: usize = 10_000;

    pub(crate) fn push(&mut self, line: usize, error: TranscriptError) {
        match self.listed.len() < Self::MAX_LISTED {
            true => self.listed.push(LineError { line, error }),
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
    pub fn count(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    /// Returns the number of broken lines that are not listed.
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Returns the first broken lines, in order.
    pub fn listed(&self) -> &[LineError] {
        &self.listed
    }

    /// Returns the error of the first broken line, if there is one, for callers that accept no
    /// broken line.
    pub fn into_result(self) -> Result<(), TranscriptError> {
        self.listed.into_iter().next().map_or(Ok(()), |first| Err(first.error))
    }
}
