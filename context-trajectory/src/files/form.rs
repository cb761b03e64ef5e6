//! The lines of a graph file, and the round they add up to.

use std::path::Path;

use context_core::base::CommitKey;
use context_core::store::RoundCommit;
use context_core::trajectory::{Change, RoundHead, RoundRecord, RoundRef, TrajectoryError};
use context_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::journal::Form;

pub(super) const FORM: Form = Form { name: "context round", version: 1 };

/// A line to be written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OutputLine<'a> {
    /// One commit.
    Commit { key: &'a CommitKey, head: &'a RoundHead, changes: &'a [Change] },
    /// The state after all commits up to the one with this key. Only the first line can be a
    /// snapshot.
    Snapshot { key: &'a CommitKey, round: &'a RoundRecord },
}

/// A line that was read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Commit { key: CommitKey, head: RoundHead, changes: Vec<Change> },
    Snapshot { key: CommitKey, round: RoundRecord },
}

/// Returns the line of a commit.
pub(super) fn commit_line(operation: &'static str, commit: &RoundCommit) -> Result<String> {
    let RoundCommit { key, head, changes, .. } = commit;
    write(operation, &OutputLine::Commit { key, head, changes })
}

fn write(operation: &'static str, line: &OutputLine<'_>) -> Result<String> {
    let unprintable =
        |error| Error::invalid(operation, "the round cannot be written as JSON").with_source(error);
    let text = serde_json::to_string(line).map_err(unprintable)?;
    match text.contains('\n') {
        // JSON that is kept as it was written may have line feeds between its tokens. In a string
        // they are escaped.
        true => serde_json::to_string(&text).map_err(unprintable),
        false => Ok(text),
    }
}

fn read(text: &str) -> serde_json::Result<Line> {
    match text.starts_with('"') {
        true => serde_json::from_str(&serde_json::from_str::<String>(text)?),
        false => serde_json::from_str(text),
    }
}

/// Returns the round that a line belongs to, if the line can be read.
pub(super) fn round_of(text: &str) -> Option<RoundRef> {
    Some(match read(text).ok()? {
        Line::Commit { head, .. } => head.round,
        Line::Snapshot { round, .. } => round.head.round,
    })
}

/// The state after the lines read so far.
#[derive(Debug)]
pub(super) struct FoldedRound {
    /// The key of the last commit.
    pub(super) key: CommitKey,
    pub(super) record: RoundRecord,
}

impl FoldedRound {
    /// Returns the state as one snapshot line.
    pub(super) fn snapshot(&self, operation: &'static str) -> Result<String> {
        write(operation, &OutputLine::Snapshot { key: &self.key, round: &self.record })
    }

    /// Applies a commit: the first one, or the next one.
    pub(super) fn apply(
        state: &mut Option<Self>,
        operation: &'static str,
        key: &CommitKey,
        head: &RoundHead,
        changes: &[Change],
    ) -> Result<()> {
        let refused = |error: TrajectoryError| error.during(operation);
        match state {
            Some(folded) => {
                folded.record.apply(changes, head).map_err(refused)?;
                folded.key = key.clone();
            }
            None => {
                let mut record = RoundRecord::new(head.clone(), Vec::new(), Vec::new());
                record.apply(changes, head).map_err(refused)?;
                *state = Some(Self { key: key.clone(), record });
            }
        }
        Ok(())
    }

    pub(super) fn revision(state: Option<&Self>) -> u64 {
        state.map_or(0, |folded| folded.record.head.revision)
    }
}

/// Reads the lines of a graph file. Its errors name the file and the line.
#[derive(Clone, Copy)]
pub(super) struct LineReader<'a> {
    pub(super) operation: &'static str,
    pub(super) path: &'a Path,
    /// The round that the file is named after.
    pub(super) round: &'a RoundRef,
}

impl LineReader<'_> {
    /// Applies one more line.
    pub(super) fn fold(
        self,
        state: &mut Option<FoldedRound>,
        number: u64,
        text: &str,
    ) -> Result<()> {
        let line = self.line(number, text)?;
        let before = FoldedRound::revision(state.as_ref());
        match line {
            Line::Commit { head, .. } if Some(head.revision) != before.checked_add(1) => Err(self
                .damaged(number, "a commit is missing or occurs twice")
                .with("revision", head.revision)),
            Line::Commit { key, head, changes } => {
                FoldedRound::apply(state, self.operation, &key, &head, &changes).map_err(|error| {
                    self.damaged(number, "a commit does not fit the commits before it")
                        .with_source(error)
                })
            }
            Line::Snapshot { .. } if state.is_some() => {
                Err(self.damaged(number, "a snapshot is not the first record"))
            }
            Line::Snapshot { key, round } => {
                *state = Some(FoldedRound { key, record: round });
                Ok(())
            }
        }
    }

    /// Returns the head after a line.
    pub(super) fn head(self, number: u64, text: &str) -> Result<RoundHead> {
        self.line(number, text).map(|line| match line {
            Line::Commit { head, .. } => head,
            Line::Snapshot { round, .. } => round.head,
        })
    }

    fn line(self, number: u64, text: &str) -> Result<Line> {
        let line = read(text).map_err(|error| {
            self.damaged(number, "a line is of an unknown kind").with_source(error)
        })?;
        let (Line::Commit { head, .. } | Line::Snapshot { round: RoundRecord { head, .. }, .. }) =
            &line;
        match head.round == *self.round {
            true => Ok(line),
            false => Err(self.damaged(number, "the file holds another round than its name states")),
        }
    }

    fn damaged(self, number: u64, message: &'static str) -> Error {
        Error::new(ErrorKind::Corrupt, self.operation, message)
            .with("path", self.path.display())
            .with("line", number)
    }
}
