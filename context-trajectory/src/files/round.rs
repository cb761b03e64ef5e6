//! The graph file of one round, open for writing.

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{RoundHead, RoundRecord, RoundState};
use context_core::{ErrorKind, Result};

use super::form::{FORM, Folded, Source, commit_line};
use super::head;
use super::place::Place;
use crate::journal::{self, Journal, Seen};

/// The size in bytes below which a growing file is not compacted.
const SMALL: u64 = 64 << 10;
/// The most bytes that a listing may have to read behind the head.
const FAR: u64 = 32 << 10;

/// The file of a round and its state.
#[derive(Debug)]
pub(super) struct OpenRound {
    place: Place,
    journal: Journal,
    kept: Option<Folded>,
    /// The number of bytes that the head file covers, if this handle wrote it.
    head_at: Option<u64>,
    /// The file size at which compaction is considered next.
    weigh_at: u64,
}

/// Whether a handle can go on after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The handle can go on.
    Open,
    /// The file was replaced by a compacted one.
    Replaced,
}

impl OpenRound {
    /// Opens the file of a round, or creates an empty one.
    pub(super) fn open(operation: &'static str, place: Place) -> Result<Self> {
        let mut kept = None;
        let source = Source { operation, path: &place.graph, round: &place.round };
        let (journal, _torn) = Journal::open(operation, &place.graph, FORM, &mut |line, text| {
            source.fold(&mut kept, line, text)
        })?;
        let weigh_at = journal.bytes().saturating_mul(2).max(SMALL);
        Ok(Self { place, journal, kept, head_at: None, weigh_at })
    }

    /// Writes a commit if it is the next one.
    pub(super) fn record(
        &mut self,
        operation: &'static str,
        commit: &RoundCommit,
        sync: bool,
    ) -> Result<(RecordOutcome, After)> {
        let Self { place, journal, kept, .. } = self;
        let source = Source { operation, path: &place.graph, round: &place.round };
        let mut turn = journal.hold(operation)?;
        turn.catch_up(&mut |line, text| source.fold(kept, line, text))?;
        let actual = Folded::revision(kept.as_ref());
        if actual == commit.head.revision
            && kept.as_ref().is_some_and(|folded| folded.key == commit.key)
        {
            return Ok((RecordOutcome::Replayed, After::Open));
        }
        if actual != commit.expected {
            return Ok((RecordOutcome::Conflict { actual }, After::Open));
        }
        let line = commit_line(operation, commit)?;
        // If the line cannot be written, this handle is discarded together with the state applied
        // here.
        Folded::apply(kept, operation, &commit.key, &commit.head, &commit.changes)?;
        turn.append(std::slice::from_ref(&line), sync)?;
        let seen = turn.seen();
        let bytes = seen.bytes;
        let ends = commit.head.state != RoundState::Open;
        let snapshot = match kept {
            Some(folded) if ends || bytes >= self.weigh_at => Some(folded.snapshot(operation)?),
            _ => None,
        };
        if let Some(snapshot) = snapshot {
            let text = journal::whole(FORM, [snapshot.as_str()]);
            let alive = text.len() as u64;
            // A round that has ended gets few further commits: from then on its file is read more
            // often than written.
            if alive.saturating_mul(2) < bytes || (ends && alive < bytes) {
                // The head goes first. It also fits the old file, so a reader that finds the two
                // together is not misled.
                let seen = Seen { bytes: alive, lines: 2 };
                let replaced =
                    head::write(operation, place, seen, &commit.head, sync).and_then(|()| {
                        journal::replace(operation, &place.graph, text.as_bytes(), true)
                    });
                // The commit is written in any case. A failed compaction is tried again when there
                // is more to gain.
                if replaced.is_ok() {
                    return Ok((RecordOutcome::Applied, After::Replaced));
                }
            }
            self.weigh_at = alive.saturating_mul(2).max(bytes.saturating_add(bytes / 4)).max(SMALL);
        }
        let near = self.head_at.is_some_and(|at| bytes < at.saturating_add(FAR));
        if !near || ends {
            // With an old head file or none, listings read more of the graph. That is no reason to
            // report a written commit as failed.
            let written = head::write(operation, place, seen, &commit.head, sync);
            self.head_at = written.is_ok().then_some(bytes);
        }
        Ok((RecordOutcome::Applied, After::Open))
    }

    /// Returns the current state of the round.
    pub(super) fn load(&mut self, operation: &'static str) -> Result<Option<RoundRecord>> {
        let Self { place, journal, kept, .. } = self;
        let source = Source { operation, path: &place.graph, round: &place.round };
        journal.hold(operation)?.catch_up(&mut |line, text| source.fold(kept, line, text))?;
        Ok(kept.as_ref().map(|folded| folded.record.clone()))
    }

    /// Removes the round if `goes` accepts its current head. The file lock keeps other writers out
    /// meanwhile.
    pub(super) fn remove_if(
        &mut self,
        operation: &'static str,
        goes: impl FnOnce(&RoundHead) -> bool,
    ) -> Result<Option<RoundHead>> {
        let Self { place, journal, kept, .. } = self;
        let source = Source { operation, path: &place.graph, round: &place.round };
        let mut turn = journal.hold(operation)?;
        turn.catch_up(&mut |line, text| source.fold(kept, line, text))?;
        match kept {
            Some(folded) if goes(&folded.record.head) => {
                place.remove(operation)?;
                Ok(Some(folded.record.head.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Updates the head file for listings.
    pub(super) fn settle(&mut self, operation: &'static str, sync: bool) -> Result<()> {
        let Self { place, journal, kept, .. } = self;
        let source = Source { operation, path: &place.graph, round: &place.round };
        let mut turn = journal.hold(operation)?;
        turn.catch_up(&mut |line, text| source.fold(kept, line, text))?;
        let seen = turn.seen();
        match kept {
            Some(folded) if self.head_at != Some(seen.bytes) => {
                head::write(operation, place, seen, &folded.record.head, sync)?;
                self.head_at = Some(seen.bytes);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Reads a round without keeping its file open. Returns `None` if there is no such round.
pub(super) fn read(operation: &'static str, place: &Place) -> Result<Option<RoundRecord>> {
    let mut kept = None;
    let source = Source { operation, path: &place.graph, round: &place.round };
    let read = journal::read(operation, &place.graph, FORM, &mut |line, text| {
        source.fold(&mut kept, line, text)
    });
    match read {
        Ok(_torn) => Ok(kept.map(|folded| folded.record)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
