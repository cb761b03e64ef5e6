//! Writing memory records, as one script.

use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::store::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten};
use redis::Value;

use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared, check_bytes};
use crate::error::{Fault, Result};
use crate::memories::fields::{self, broken};
use crate::memories::lists::read_record;
use crate::memories::user_call;
use crate::scripts::MEMORY_WRITE;
use crate::scripts::reply::Reply;
use crate::values::read_number;

pub(crate) async fn write(shared: &Shared, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
    let Some(first) = writes.first() else { return Ok(MemoryOutcome::Applied(Vec::new())) };
    let mut scopes: Vec<&MemoryScope> = Vec::new();
    let mut parts = Vec::with_capacity(writes.len());
    let mut bytes = 0;
    for write in writes {
        let scope = &write.record.scope;
        let of_scope = scopes.iter().position(|known| *known == scope).unwrap_or(scopes.len());
        if of_scope == scopes.len() {
            scopes.push(scope);
        }
        let record = checksums::seal("b", serde_json::to_vec(&write.record).map_err(|_| broken())?);
        let vector = write.vector.as_ref().map(fields::write_vector).unwrap_or_default();
        let about = fields::record_index(write);
        bytes += record.len() + vector.len() + about.len();
        parts.push((of_scope, vector, about, record));
    }
    check_bytes("write_memories", bytes)?;
    let mut expected: Vec<String> = writes.iter().map(|write| expected(write.expected)).collect();
    // The script recognizes a replayed record by its text. If the stored text has another key
    // order, the script reports a conflict, and the next attempt marks that record as equal.
    for _ in 0..ATTEMPTS.max(u32::try_from(writes.len()).unwrap_or(u32::MAX)) {
        let keys = scopes.iter().map(|scope| shared.keys.memories_of(scope));
        let mut call = user_call(shared, &MEMORY_WRITE, &first.record.scope.user, keys);
        call.arg(scopes.len());
        scopes.iter().for_each(|scope| {
            call.arg(scope.key());
        });
        for ((write, expected), (scope, vector, about, record)) in
            writes.iter().zip(&expected).zip(&parts)
        {
            let MemoryRecord { id, kind, .. } = &write.record;
            let mark = MemoryRecord::mark(&write.record.scope, id);
            call.arg(scope).arg(id.as_str()).arg(&mark[..]).arg(expected).arg(kind);
            call.arg(&vector[..]).arg(&about[..]).arg(&record[..]);
        }
        let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
        if reply.number()? == 1 {
            let mut written = Vec::with_capacity(writes.len());
            while !reply.is_empty() {
                written.push(written_of(&reply.bytes()?)?);
            }
            return Ok(MemoryOutcome::Applied(written));
        }
        let nth = usize::try_from(reply.number()?).map_err(|_| broken())?;
        let (place, record) = (reply.maybe()?, reply.maybe()?);
        let stored = match place.zip(record) {
            Some((place, record)) => Some(read_record(&record, read_number(&place)?)?),
            None => None,
        };
        let write = writes.get(nth).ok_or_else(broken)?;
        match &stored {
            Some(stored) if write.is_replay_of(stored) => {
                expected[nth] = format!("={}", stored.version)
            }
            _ => return Ok(MemoryOutcome::Conflict { write: nth, stored: stored.map(Box::new) }),
        }
    }
    Err(Fault::Contended)
}

fn expected(expected: MemoryExpected) -> String {
    match expected {
        MemoryExpected::Anything => "*".to_owned(),
        MemoryExpected::Absent => "a".to_owned(),
        MemoryExpected::Version(version) => version.to_string(),
        // A variant that this store does not know never holds.
        _ => "-".to_owned(),
    }
}

fn written_of(answer: &[u8]) -> Result<MemoryWritten> {
    let version = || read_number(&answer[1..]);
    match answer.first() {
        Some(b'w') => Ok(MemoryWritten::Written(version()?)),
        Some(b'k') => Ok(MemoryWritten::Unchanged(version()?)),
        Some(b'f') => Ok(MemoryWritten::Forgotten),
        _ => Err(broken()),
    }
}
