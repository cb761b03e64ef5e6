//! Turns become records.

use std::collections::HashSet;

use context_core::message::is_blank;

use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryRecord, MemorySource, MemoryVector, Trust,
};
use context_core::model::{EmbedAs, Embedder};
use context_core::store::{MemoryOutcome, MemoryWrite};
use context_core::{CancelSignal, Error, ErrorKind, Result, Role, SessionId};

use super::{EPISODE, Episodic};
use crate::{passages, words};

const OPERATION: &str = "capture";

/// The number of records per write.
const BATCH: usize = 200;

/// Writes the memories of a turn. Existing records are left unchanged.
pub(super) async fn capture(
    memory: &Episodic,
    turn: &CapturedTurn,
    cancel: &CancelSignal,
) -> Result<()> {
    let session = check(turn)?;
    let mut seen = HashSet::new();
    let once = turn.messages.iter().filter(|captured| seen.insert(&captured.id));
    let mut writes: Vec<MemoryWrite> =
        once.flat_map(|captured| records(memory, turn, session, captured)).collect();
    let store = memory.records(OPERATION)?;
    for batch in writes.chunks_mut(BATCH) {
        cancel.check(OPERATION)?;
        if let Some(embedder) = &memory.embedder {
            embed(&**embedder, batch, cancel).await;
        }
        match store.write_memories(batch).await? {
            MemoryOutcome::Applied(_) => {}
            // The writes expect no version, so they cannot conflict.
            _ => {
                return Err(Error::new(
                    ErrorKind::Bug,
                    OPERATION,
                    "an episode was in conflict although its write expects no version",
                ));
            }
        }
    }
    memory.hot.changed(&turn.scope.user).await;
    Ok(())
}

/// Checks the ids of a turn, and returns its session. Fails if it has none.
pub(super) fn check(turn: &CapturedTurn) -> Result<&SessionId> {
    turn.scope.check(OPERATION)?;
    for captured in &turn.messages {
        limits::check_id(OPERATION, "message", captured.id.as_str())?;
        captured
            .speaker
            .iter()
            .try_for_each(|speaker| limits::check_id(OPERATION, "speaker", speaker))?;
    }
    turn.scope.session.as_ref().ok_or_else(|| {
        let reason = "an episode needs a session, and the scope names none";
        Error::new(ErrorKind::Unsupported, OPERATION, reason)
    })
}

/// Returns the records of a message: none if it is not worth remembering, several if it is long.
fn records(
    memory: &Episodic,
    turn: &CapturedTurn,
    session: &SessionId,
    captured: &CapturedMessage,
) -> Vec<MemoryWrite> {
    let message = &captured.message;
    // Recalled memories that were shown to the model are not captured again.
    if message.is_synthetic() {
        return Vec::new();
    }
    let text = match message.role {
        Role::User | Role::Assistant => message.plain_text().into_owned(),
        Role::Tool if memory.tools => message.readable_text(),
        _ => return Vec::new(),
    };
    let scope = memory.scope_level.of(&turn.scope);
    let record = |(part, text): (usize, &str)| {
        let id = id(session, captured, part);
        let mut record =
            MemoryRecord::new(scope.clone(), id, EPISODE, captured.at.unwrap_or(turn.at), text);
        record.source = Some(MemorySource::message(session, &captured.id));
        record.speaker = Some(captured.speaker.clone().unwrap_or_else(|| message.role.to_string()));
        record.set_trust(Trust::of(message));
        // The speaker's name is indexed too, so that questions about a person find the record.
        let mut words = words::index_words(text);
        if let Some(speaker) = &captured.speaker {
            words = format!("{words} {}", words::index_words(speaker));
        }
        MemoryWrite::new(record, words.trim())
    };
    passages::cut(&text).filter(|text| !is_blank(text)).enumerate().map(record).collect()
}

/// Returns the record id, which is the same for the same part of the same message.
fn id(session: &SessionId, captured: &CapturedMessage, part: usize) -> MemoryId {
    MemoryId::derived("episode", &[session.as_str(), captured.id.as_str(), &part.to_string()])
}

/// Adds vectors to records. A failure costs no record: records without vectors are found by words.
async fn embed(embedder: &dyn Embedder, batch: &mut [MemoryWrite], cancel: &CancelSignal) {
    let texts: Vec<String> = batch.iter().map(|write| write.record.text.clone()).collect();
    let Ok(vectors) = embedder.embed(&texts, EmbedAs::Passage, cancel).await else { return };
    if vectors.len() != batch.len() {
        return;
    }
    for (write, values) in batch.iter_mut().zip(vectors) {
        let vector = MemoryVector::new(embedder.name(), values);
        write.vector = vector.check(OPERATION).is_ok().then_some(vector);
    }
}
