//! The graph file of one round, open for writing.

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{RoundHead, RoundRecord, RoundState};
use context_core::{ErrorKind, Result};

use super::form::{FORM, FoldedRound, LineReader, commit_line};
use super::head;
use super::paths::RoundPaths;
use crate::journal::{self, Journal, JournalGuard, ReadPosition};

/// The size in bytes below which a growing file is not compacted.
const SMALL: u64 = 64 << 10;
/// The most bytes that a listing may have to read behind the head.
const FAR: u64 = 32 << 10;

/// The file of a round and its state.
#[derive(Debug)]
pub(super) struct GraphFile {
    paths: RoundPaths,
    journal: Journal,
    state: Option<FoldedRound>,
    /// The number of bytes that the head file covers, if this handle wrote it.
    head_at: Option<u64>,
    /// The file size at which compaction is considered next.
    compact_at: u64,
}

/// The state of a handle after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileStatus {
    /// The handle can go on.
    Open,
    /// The file was replaced by a compacted one.
    Replaced,
}

impl GraphFile {
    /// Opens the file of a round, or creates an empty one.
    pub(super) fn open(operation: &'static str, paths: RoundPaths) -> Result<Self> {
        let mut state = None;
        let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
        let (journal, _torn) = Journal::open(operation, &paths.graph, FORM, &mut |line, text| {
            reader.fold(&mut state, line, text)
        })?;
        let compact_at = journal.bytes().saturating_mul(2).max(SMALL);
        Ok(Self { paths, journal, state, head_at: None, compact_at })
    }

    /// Writes a commit if it is the next one.
    pub(super) fn record(
        &mut self,
        operation: &'static str,
        commit: &RoundCommit,
        sync: bool,
    ) -> Result<(RecordOutcome, FileStatus)> {
        let Self { paths, journal, state, .. } = self;
        let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
        let mut guard = journal.hold(operation)?;
        guard.catch_up(&mut |line, text| reader.fold(state, line, text))?;
        let actual = FoldedRound::revision(state.as_ref());
        if actual == commit.head.revision
            && state.as_ref().is_some_and(|folded| folded.key == commit.key)
        {
            // The process that wrote the commit may have been killed before it waited for the disk.
            if sync {
                guard.sync()?;
            }
            return Ok((RecordOutcome::Replayed, FileStatus::Open));
        }
        if actual != commit.expected {
            return Ok((RecordOutcome::Conflict { actual }, FileStatus::Open));
        }
        let line = commit_line(operation, commit)?;
        // If the line cannot be written, this handle is discarded together with the state applied
        // here.
        FoldedRound::apply(state, operation, &commit.key, &commit.head, &commit.changes)?;
        guard.append(std::slice::from_ref(&line), sync)?;
        let position = guard.position();
        let bytes = position.bytes;
        let ends = commit.head.state != RoundState::Open;
        let snapshot = match state {
            Some(folded) if ends || bytes >= self.compact_at => Some(folded.snapshot(operation)?),
            _ => None,
        };
        if let Some(snapshot) = snapshot {
            let text = journal::file_text(FORM, [snapshot.as_str()]);
            let alive = text.len() as u64;
            // A round that has ended gets few further commits: from then on its file is read more
            // often than written.
            if alive.saturating_mul(2) < bytes || (ends && alive < bytes) {
                // The head goes first. It also fits the old file, so a reader that finds the two
                // together is not misled.
                let position = ReadPosition { bytes: alive, lines: 2 };
                let replaced =
                    write_head(&mut guard, operation, paths, position, &commit.head, sync)
                        .and_then(|()| {
                            journal::replace(operation, &paths.graph, text.as_bytes(), true)
                        });
                // The commit is written in any case. A failed compaction is tried again when there
                // is more to gain.
                if replaced.is_ok() {
                    return Ok((RecordOutcome::Applied, FileStatus::Replaced));
                }
            }
            self.compact_at =
                alive.saturating_mul(2).max(bytes.saturating_add(bytes / 4)).max(SMALL);
        }
        // Without syncs, a small file of a round has no head: the head waits for the disk.
        let near = match self.head_at {
            Some(at) => bytes < at.saturating_add(FAR),
            None => !sync && bytes < FAR,
        };
        if !near || ends {
            // With an old head file or none, listings read more of the graph. That is no reason to
            // report a written commit as failed.
            let written = write_head(&mut guard, operation, paths, position, &commit.head, sync);
            self.head_at = written.is_ok().then_some(bytes);
        }
        Ok((RecordOutcome::Applied, FileStatus::Open))
    }

    /// Returns the current state of the round.
    pub(super) fn load(&mut self, operation: &'static str) -> Result<Option<RoundRecord>> {
        let Self { paths, journal, state, .. } = self;
        let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
        journal.hold(operation)?.catch_up(&mut |line, text| reader.fold(state, line, text))?;
        Ok(state.as_ref().map(|folded| folded.record.clone()))
    }

    /// Removes the round if `condition` accepts its current head. The file lock keeps other writers
    /// out meanwhile.
    pub(super) fn remove_if(
        &mut self,
        operation: &'static str,
        condition: impl FnOnce(&RoundHead) -> bool,
    ) -> Result<Option<RoundHead>> {
        let Self { paths, journal, state, .. } = self;
        let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
        let mut guard = journal.hold(operation)?;
        guard.catch_up(&mut |line, text| reader.fold(state, line, text))?;
        match state {
            Some(folded) if condition(&folded.record.head) => {
                paths.remove(operation)?;
                Ok(Some(folded.record.head.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Updates the head file for listings.
    pub(super) fn settle(&mut self, operation: &'static str, sync: bool) -> Result<()> {
        let Self { paths, journal, state, .. } = self;
        let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
        let mut guard = journal.hold(operation)?;
        guard.catch_up(&mut |line, text| reader.fold(state, line, text))?;
        let position = guard.position();
        match state {
            Some(folded) if self.head_at != Some(position.bytes) => {
                write_head(&mut guard, operation, paths, position, &folded.record.head, sync)?;
                self.head_at = Some(position.bytes);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Writes the head file. The graph is on the disk before, so that a loss of power does not leave a
/// head of commits that are lost.
fn write_head(
    guard: &mut JournalGuard<'_>,
    operation: &'static str,
    paths: &RoundPaths,
    position: ReadPosition,
    head: &RoundHead,
    sync: bool,
) -> Result<()> {
    if !sync {
        guard.sync()?;
    }
    head::write(operation, paths, position, head, sync)
}

/// Reads a round without keeping its file open. Returns `None` if there is no such round.
pub(super) fn read(operation: &'static str, paths: &RoundPaths) -> Result<Option<RoundRecord>> {
    let mut state = None;
    let reader = LineReader { operation, path: &paths.graph, round: &paths.round };
    let read = journal::read(operation, &paths.graph, FORM, &mut |line, text| {
        reader.fold(&mut state, line, text)
    });
    match read {
        Ok(_torn) => Ok(state.map(|folded| folded.record)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
