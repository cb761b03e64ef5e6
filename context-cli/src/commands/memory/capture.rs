//! Remembering many messages, session by session: each once, in batches that are whole when it is interrupted.

use std::collections::HashSet;

use context_runtime::memory::Episodic;
use context_runtime::{
    CancelSignal, CapturedMessage, CapturedTurn, MemoryProvider, MemoryRecordStore, MemoryScope,
    MemorySource, SessionId, Timestamp,
};

use super::known::known;
use crate::error::Failure;
use crate::progress::Progress;

/// How many messages are told at once.
const BATCH: usize = 200;

/// What was said in a session, in its order.
pub(super) struct Said {
    pub(super) session: SessionId,
    pub(super) messages: Vec<CapturedMessage>,
}

/// Where it goes.
pub(super) struct Target<'a> {
    pub(super) memory: Episodic,
    pub(super) records: &'a dyn MemoryRecordStore,
    pub(super) scope: &'a MemoryScope,
    pub(super) now: Timestamp,
}

/// What became of messages.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Remembered now.
    pub(super) added: usize,
    /// Remembered before.
    pub(super) there: usize,
    /// Not remembered: they say nothing, neither a person nor a model says them, or they were forgotten before.
    pub(super) left_out: usize,
}

/// Remembers what was said; counts what is certain to be there, also when it fails.
pub(super) async fn capture(
    target: &Target<'_>,
    said: Vec<Said>,
    interrupt: &CancelSignal,
    bar: &Progress,
) -> (Counts, Result<(), Failure>) {
    let mut counts = Counts::default();
    for said in said {
        let done = session(target, said, interrupt, bar, &mut counts).await;
        if done.is_err() {
            return (counts, done);
        }
    }
    (counts, Ok(()))
}

async fn session(
    target: &Target<'_>,
    said: Said,
    interrupt: &CancelSignal,
    bar: &Progress,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let Said { session, mut messages } = said;
    let Target { records, scope, .. } = target;
    let all = messages.len();
    let source = || MemorySource::session(session.clone());
    let before = known(*records, scope, source()).await?;
    let mut seen = HashSet::new();
    messages.retain(|said| !before.contains_key(&said.id) && seen.insert(said.id.clone()));
    counts.there += all - messages.len();
    bar.advance(all - messages.len());
    if messages.is_empty() {
        return Ok(());
    }
    let (mut told, mut done) = (0, Ok(()));
    for batch in messages.chunks(BATCH) {
        done = tell(target, &session, batch, interrupt).await;
        if done.is_err() {
            break;
        }
        told += batch.len();
        bar.advance(batch.len());
    }
    // What was interrupted half way is there in part: what is there now tells how much.
    let after = known(*records, scope, source()).await?;
    let added = messages.iter().filter(|said| after.contains_key(&said.id)).count();
    counts.added += added;
    counts.left_out += told.saturating_sub(added);
    done
}

async fn tell(
    target: &Target<'_>,
    session: &SessionId,
    batch: &[CapturedMessage],
    interrupt: &CancelSignal,
) -> Result<(), Failure> {
    interrupt.check("add")?;
    let scope = target.scope.clone().session(session.clone());
    let turn = CapturedTurn::new(scope, "add", target.now, batch.to_vec());
    Ok(target.memory.capture(&turn, interrupt).await?)
}
