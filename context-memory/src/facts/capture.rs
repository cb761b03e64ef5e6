//! Extracting facts from captured messages, once per message.
//!
//! A processed message has a marker record without content. The marker is written before the
//! extractor is called, and is marked as done in the same write as the facts. A message that is
//! captured again is therefore not processed again, while an interrupted extraction is repeated. If
//! the message is forgotten meanwhile, the marker is gone and no facts are written.

use std::collections::HashMap;

use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryRecord, MemoryScope, MemorySource, Trust,
};
use context_core::store::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{CancelSignal, Error, ErrorKind, Result, Role, SessionId, Timestamp};

use super::store::OPERATION;
use super::{ExtractedFact, FactExtractor, Facts, Statement, names, statement_record};
use crate::records::filed;

/// The kind of the marker records.
const KIND: &str = "fact-source";
const DONE: &str = "done";
/// The most messages per extraction, and the most text they may have together unless a single
/// message is longer.
const MOST_MESSAGES: usize = 16;
const MOST_BYTES: usize = 32 << 10;

/// A message that is being processed.
struct PendingMessage {
    captured: CapturedMessage,
    source: MemorySource,
    id: MemoryId,
    version: u64,
}

impl Facts {
    /// Returns the session of a turn to process, or `None` without an extractor. Fails if the turn
    /// has no session.
    pub(super) fn session_of<'a>(&self, turn: &'a CapturedTurn) -> Result<Option<&'a SessionId>> {
        if self.extractor.is_none() {
            return Ok(None);
        }
        let record = "a source needs a session, and the turn has none";
        let none = || Error::new(ErrorKind::Unsupported, OPERATION, record);
        turn.scope.session.as_ref().map(Some).ok_or_else(none)
    }

    pub(super) async fn extract_from(
        &self,
        turn: &CapturedTurn,
        cancel: &CancelSignal,
    ) -> Result<()> {
        let Some(extractor) = &self.extractor else { return Ok(()) };
        let filed = filed(self.scope_level, &turn.scope, OPERATION)?;
        let Some(session) = self.session_of(turn)? else { return Ok(()) };
        let mut messages: Vec<(CapturedMessage, MemorySource)> = Vec::new();
        for captured in turn.messages.iter().filter(|captured| self.may_say(captured)) {
            let source = MemorySource::message(session, &captured.id);
            source.check(OPERATION)?;
            if !messages.iter().any(|(_, there)| *there == source) {
                messages.push((captured.clone(), source));
            }
        }
        // A request to the extractor has messages of one class: text of a lower class could else
        // have its facts attributed to a message of a higher one.
        for trust in Trust::ALL {
            let of_class = messages.iter().filter(|(said, _)| Trust::of(&said.message) == trust);
            self.extract_batches(
                &filed,
                of_class.cloned().collect(),
                turn.at,
                &**extractor,
                cancel,
            )
            .await?;
        }
        Ok(())
    }

    /// Extracts facts from messages of one class, batch by batch.
    async fn extract_batches(
        &self,
        filed: &MemoryScope,
        messages: Vec<(CapturedMessage, MemorySource)>,
        told_at: Timestamp,
        extractor: &dyn FactExtractor,
        cancel: &CancelSignal,
    ) -> Result<()> {
        let mut left = messages.into_iter().peekable();
        while left.peek().is_some() {
            cancel.check(OPERATION)?;
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while let Some((captured, _)) = left.peek() {
                bytes += captured.message.plain_text().len();
                if batch.len() >= MOST_MESSAGES || (bytes > MOST_BYTES && !batch.is_empty()) {
                    break;
                }
                batch.extend(left.next());
            }
            let pending = self.pending_messages(filed, batch, told_at).await?;
            if !pending.is_empty() {
                self.store_facts(filed, pending, extractor, told_at, cancel).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a message is searched for facts.
    fn may_say(&self, captured: &CapturedMessage) -> bool {
        let message = &captured.message;
        let is_answer = self.answers && message.role == Role::Assistant;
        (message.is_request() || is_answer)
            && !context_core::message::is_blank(&message.plain_text())
    }

    /// Returns the messages that are not completely processed and not forgotten.
    async fn pending_messages(
        &self,
        filed: &MemoryScope,
        batch: Vec<(CapturedMessage, MemorySource)>,
        told_at: Timestamp,
    ) -> Result<Vec<PendingMessage>> {
        let records = self.records.get(OPERATION)?;
        let pending: Vec<_> = batch
            .into_iter()
            .map(|(captured, source)| {
                let id = names::message_id(filed, &source);
                PendingMessage { captured, source, id, version: 0 }
            })
            .collect();
        let writes: Vec<_> =
            pending.iter().map(|pending| marker(filed, pending, told_at, false)).collect();
        let MemoryOutcome::Applied(written) = records.write_memories(&writes).await? else {
            return Err(Error::new(ErrorKind::Bug, OPERATION, "nothing was expected"));
        };
        let ids: Vec<_> = pending.iter().map(|pending| pending.id.clone()).collect();
        let there = records.memories(filed, &ids).await?;
        let mut open = HashMap::new();
        for stored in there {
            if stored.record.data.get(DONE).is_none() {
                open.insert(stored.record.id.clone(), stored.version);
            }
        }
        let is_forgotten = |written: &MemoryWritten| matches!(written, MemoryWritten::Forgotten);
        let pairs = pending.into_iter().zip(written);
        let left =
            pairs.filter(|(_, written)| !is_forgotten(written)).filter_map(|(pending, _)| {
                open.get(&pending.id).copied().map(|version| PendingMessage { version, ..pending })
            });
        Ok(left.collect())
    }

    /// Extracts facts from messages and stores them together with the done marks.
    async fn store_facts(
        &self,
        filed: &MemoryScope,
        mut pending: Vec<PendingMessage>,
        extractor: &dyn FactExtractor,
        told_at: Timestamp,
        cancel: &CancelSignal,
    ) -> Result<()> {
        let messages: Vec<_> = pending.iter().map(|pending| pending.captured.clone()).collect();
        let extracted = extractor.extract(&messages, told_at, cancel).await?;
        let (mut record, mut dropped) =
            (HashMap::<usize, Vec<MemoryWrite>>::new(), extracted.dropped);
        let recorded = self.clock.now();
        let most = limits::MAX_PAGE - pending.len();
        for (number, fact) in extracted.facts.into_iter().enumerate() {
            let message = fact.message;
            match pending.get(message).and_then(|pending| statement(fact, pending, told_at)) {
                Some(statement) if number < most => {
                    let write = statement_record::write(filed, &statement, recorded)?;
                    let of_message = record.entry(message).or_default();
                    if !of_message.iter().any(|there| there.record.id == write.record.id) {
                        of_message.push(write);
                    }
                }
                _ => dropped += 1,
            }
        }
        if dropped > 0 {
            tracing::warn!(
                dropped,
                messages = pending.len(),
                "facts that cannot be used were left out"
            );
        }
        let records = self.records.get(OPERATION)?;
        let mut numbers: Vec<usize> = (0..pending.len()).collect();
        // Messages that were processed or forgotten meanwhile are removed one at a time.
        while !pending.is_empty() {
            let mut writes: Vec<_> =
                pending.iter().map(|pending| marker(filed, pending, told_at, true)).collect();
            writes
                .extend(numbers.iter().filter_map(|number| record.get(number)).flatten().cloned());
            match records.write_memories(&writes).await? {
                MemoryOutcome::Conflict { write, .. } if write < pending.len() => {
                    pending.remove(write);
                    numbers.remove(write);
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Returns the marker of a message: in progress or done.
fn marker(
    filed: &MemoryScope,
    pending: &PendingMessage,
    told_at: Timestamp,
    is_done: bool,
) -> MemoryWrite {
    let at = pending.captured.at.unwrap_or(told_at);
    let mut record = MemoryRecord::new(filed.clone(), pending.id.clone(), KIND, at, "");
    record.source = Some(pending.source.clone());
    let expected = match is_done {
        true => {
            record.data.insert(DONE, serde_json::Value::Bool(true));
            MemoryExpected::Version(pending.version)
        }
        false => MemoryExpected::Absent,
    };
    MemoryWrite::new(record, "").expected(expected)
}

fn statement(
    fact: ExtractedFact,
    pending: &PendingMessage,
    told_at: Timestamp,
) -> Option<Statement> {
    let ExtractedFact { subject, relation, object, cardinality, from, until, .. } = fact;
    let said_at = pending.captured.at.unwrap_or(told_at);
    let mut statement = Statement::new(subject, relation, object, cardinality, said_at);
    (statement.from, statement.until) = (from, until);
    let trust = Trust::of(&pending.captured.message);
    let statement = statement.source(pending.source.clone()).trust(trust);
    statement.check(OPERATION).ok().map(|()| statement)
}
