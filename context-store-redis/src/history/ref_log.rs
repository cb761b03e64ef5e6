//! The log of references: what became of the branches and checkpoints of a chat. Each entry is a
//! field, so that a new one costs the same however long the log is.

use bytes::Bytes;
use context_core::base::limits::MAX_REF_CHANGES;
use context_core::store::{RefChange, RefLog, RefLogEntry};
use context_core::{ChatRef, Timestamp};
use redis::cmd;

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, REFS};
use crate::chat::snapshot::{ChatSnapshot, chat_not_found};
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::values::{self, unreadable};

pub(crate) const MISSING: Fault =
    Fault::Corrupt("an entry of the log of references is missing", None);

/// Adds entries to the log. `newest` is the field of that name before the change.
pub(crate) fn add(
    change: &mut ChatChange,
    newest: Option<&Bytes>,
    at: Timestamp,
    changes: impl IntoIterator<Item = RefChange>,
) -> Result<()> {
    let before = read_newest(newest)?;
    let mut number = before;
    for added in changes {
        number += 1;
        let field = fields::ref_change(number);
        let entry = serde_json::to_vec(&RefLogEntry::new(number, at, added));
        let sealed = checksums::seal(&field, entry.map_err(|_| unreadable())?);
        change.set(field, sealed);
    }
    if number > before {
        change.set(REFS, checksums::seal(REFS, number.to_string().into_bytes()));
    }
    Ok(())
}

/// Returns the number of the newest entry, unparsed, if it is the only requested field.
pub(crate) fn requested(snapshot: &ChatSnapshot) -> Option<&Bytes> {
    snapshot.requested.first().and_then(Option::as_ref)
}

/// Reads the number of the newest entry. 0 for an empty log.
pub(crate) fn read_newest(value: Option<&Bytes>) -> Result<u64> {
    value.map_or(Ok(0), |value| values::read_number(checksums::opened(REFS, value)?))
}

/// Reads an entry from its field.
pub(crate) fn read_entry(field: &str, value: &[u8]) -> Result<RefLogEntry> {
    serde_json::from_slice(checksums::opened(field, value)?).map_err(|_| unreadable())
}

/// Returns the fields of the entries that are kept, oldest first, given the number of the newest.
pub(crate) fn kept(newest: u64) -> Vec<String> {
    let first = newest.saturating_sub(MAX_REF_CHANGES) + 1;
    (first..=newest).map(fields::ref_change).collect()
}

/// Deletes the log of a chat. Returns the number of entries.
pub(crate) async fn clear(shared: &Shared, chat: &ChatRef) -> Result<u64> {
    let decide = |snapshot: &ChatSnapshot| {
        let newest = requested(snapshot);
        if newest.is_none() {
            return Ok((None, 0));
        }
        let fields = kept(read_newest(newest)?);
        let (mut change, cleared) = (ChatChange::default(), fields.len() as u64);
        fields.into_iter().for_each(|field| change.remove(field));
        change.remove(REFS);
        Ok((Some(change), cleared))
    };
    shared.change("clear_ref_log", chat, &[REFS.to_owned()], decide).await
}

/// Returns the log of a chat.
pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<RefLog> {
    const OPERATION: &str = "ref_log";
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot(OPERATION, chat, &[REFS.to_owned()]).await?;
        let newest = read_newest(requested(&snapshot))?;
        if newest == 0 {
            return Ok(RefLog::default());
        }
        let fields = kept(newest);
        let mut get = cmd("HMGET");
        get.arg(shared.keys.chat(chat)).arg("v").arg(&fields);
        let values: Vec<Option<Vec<u8>>> = shared.connection.run(&get).await?;
        let mut values = values.into_iter();
        match values.next().flatten() {
            None => return Err(chat_not_found(OPERATION, chat)),
            // A write came in between.
            Some(version) if version != snapshot.version[..] => continue,
            Some(_) => {}
        }
        let entry =
            |(field, value): (&String, Option<Vec<u8>>)| read_entry(field, &value.ok_or(MISSING)?);
        let entries = fields.iter().zip(values).map(entry).collect::<Result<Vec<_>>>()?;
        return RefLog::new(entries).ok_or(MISSING);
    }
    Err(Fault::Contended)
}
