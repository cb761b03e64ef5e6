//! Capturing many messages, session by session: each once, in atomic batches that stay complete
//! after an interrupt.

use std::collections::HashSet;

use context_runtime::memory::Episodic;
use context_runtime::{
    CancelSignal, Timestamp,
    memory::{CapturedMessage, CapturedTurn, MemoryProvider, MemoryScope},
    store::{MemoryRecordStore, MemorySource},
    trajectory::SessionId,
};

use super::session_memories::session_memories;
use crate::error::Failure;
use crate::progress::Progress;

/// The number of messages per batch.
const BATCH: usize = 200;

/// The messages of a session, in order.
pub(super) struct SessionMessages {
    pub(super) session: SessionId,
    pub(super) messages: Vec<CapturedMessage>,
}

/// The target of the memories.
pub(super) struct CaptureTarget<'a> {
    pub(super) memory: Episodic,
    pub(super) records: &'a dyn MemoryRecordStore,
    pub(super) scope: &'a MemoryScope,
    pub(super) now: Timestamp,
}

/// The outcome in numbers.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Messages added.
    pub(super) added: usize,
    /// Messages that were already remembered.
    pub(super) there: usize,
    /// Messages left out: they are empty, come from neither a person nor a model, or were forgotten
    /// before.
    pub(super) left_out: usize,
}

/// Captures messages. Counts those that are certainly stored, also after a failure.
pub(super) async fn capture(
    target: &CaptureTarget<'_>,
    sessions: Vec<SessionMessages>,
    interrupt: &CancelSignal,
    bar: &Progress,
) -> (Counts, Result<(), Failure>) {
    let mut counts = Counts::default();
    for session_messages in sessions {
        let done = session(target, session_messages, interrupt, bar, &mut counts).await;
        if done.is_err() {
            return (counts, done);
        }
    }
    (counts, Ok(()))
}

async fn session(
    target: &CaptureTarget<'_>,
    session_messages: SessionMessages,
    interrupt: &CancelSignal,
    bar: &Progress,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let SessionMessages { session, mut messages } = session_messages;
    let CaptureTarget { records, scope, .. } = target;
    let all = messages.len();
    let source = match messages.as_slice() {
        // For a single message there is no need to read a whole, possibly long, session.
        [only] => MemorySource::message(session.clone(), only.id.clone()),
        _ => MemorySource::session(session.clone()),
    };
    let before = session_memories(*records, scope, source.clone()).await?;
    let mut seen = HashSet::new();
    messages.retain(|message| !before.contains_key(&message.id) && seen.insert(message.id.clone()));
    counts.there += all - messages.len();
    bar.advance(all - messages.len());
    if messages.is_empty() {
        return Ok(());
    }
    let (mut captured, mut done) = (0, Ok(()));
    for batch in messages.chunks(BATCH) {
        done = capture_batch(target, &session, batch, interrupt).await;
        if done.is_err() {
            break;
        }
        captured += batch.len();
        bar.advance(batch.len());
    }
    // After an interrupt the batch may be partly stored, so the memories are read again and
    // counted.
    let after = session_memories(*records, scope, source).await?;
    let added = messages.iter().filter(|message| after.contains_key(&message.id)).count();
    counts.added += added;
    counts.left_out += captured.saturating_sub(added);
    done
}

async fn capture_batch(
    target: &CaptureTarget<'_>,
    session: &SessionId,
    batch: &[CapturedMessage],
    interrupt: &CancelSignal,
) -> Result<(), Failure> {
    interrupt.check("add")?;
    let scope = target.scope.clone().session(session.clone());
    let turn = CapturedTurn::new(scope, "add", target.now, batch.to_vec());
    Ok(target.memory.capture(&turn, interrupt).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use context_runtime::{CancelSource, Message, Role, Store};

    use super::*;
    use crate::commands::memory::{episodic, records_of};
    use crate::output::Output;

    #[tokio::test]
    async fn what_was_interrupted_is_counted_and_can_be_gone_on_with() {
        let store: Arc<dyn Store> = context_runtime::open("mem:").await.expect("a store in memory");
        let scope = MemoryScope::new("ada");
        let target = || CaptureTarget {
            memory: episodic(&store, &scope).expect("it keeps memories"),
            records: records_of(&*store).expect("it keeps memories"),
            scope: &scope,
            now: Timestamp::from_micros(0),
        };
        let batch = |session: &str, messages: std::ops::Range<usize>| {
            let message = |i: usize| {
                CapturedMessage::new(
                    format!("m{i}"),
                    Message::text(Role::User, format!("Note {i}.")),
                )
            };
            SessionMessages { session: session.into(), messages: messages.map(message).collect() }
        };
        let bar = Progress::new(&Output::to(false, Vec::new(), Vec::new()), "");
        let (counts, done) =
            capture(&target(), vec![batch("a", 0..300)], &CancelSignal::default(), &bar).await;
        assert!(done.is_ok());
        assert_eq!((counts.added, counts.there), (300, 0));
        let source = CancelSource::new();
        source.cancel();
        let all = || vec![batch("a", 0..300), batch("b", 0..10)];
        let (counts, done) = capture(&target(), all(), &source.signal(), &bar).await;
        assert!(matches!(done, Err(Failure::Store(error)) if error.operation() == "add"));
        assert_eq!((counts.added, counts.there, counts.left_out), (0, 300, 0));
        let (counts, done) = capture(&target(), all(), &CancelSignal::default(), &bar).await;
        assert!(done.is_ok());
        assert_eq!((counts.added, counts.there, counts.left_out), (10, 300, 0));
    }
}
