//! The stored record of a block: its current text and its earlier versions.
//!
//! Both are in one record, so that they are written and forgotten atomically.

use context_core::memory::{MemoryRecord, MemoryScope, StoredMemory};
use context_core::store::{MemoryExpected, MemoryWrite};
use context_core::{Error, ErrorKind, Json, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Block, BlockVersion};
use crate::words::index_words;

pub(super) const KIND: &str = "block";
/// The key in the record's data of the earlier versions, newest first, and of the deletion mark.
const EARLIER: &str = "earlier";
const DELETED: &str = "deleted";
/// The largest serialized size of the earlier versions, in bytes. With the text it stays below the
/// record limit of stores.
const MOST_BYTES: usize = 768 << 10;

/// A stored earlier version.
#[derive(Serialize, Deserialize)]
struct Earlier {
    version: u64,
    at: Timestamp,
    text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
}

pub(super) fn is_deleted(stored: &StoredMemory) -> bool {
    stored.record.data.get(DELETED).is_some()
}

/// Returns the text of a block, or `None` if it was deleted.
pub(super) fn text(stored: &StoredMemory) -> Option<&str> {
    (!is_deleted(stored)).then_some(&*stored.record.text)
}

fn earlier(stored: &StoredMemory) -> Result<Vec<Earlier>> {
    let Some(json) = stored.record.data.get(EARLIER) else { return Ok(Vec::new()) };
    json.parse().map_err(|error| {
        Error::new(ErrorKind::Corrupt, "blocks", "earlier versions of a block cannot be read")
            .with("memory", &stored.record.id)
            .with("line", error.line())
            .with("column", error.column())
    })
}

fn current(stored: &StoredMemory) -> Earlier {
    let MemoryRecord { at, text, .. } = &stored.record;
    Earlier { version: stored.version, at: *at, text: text.clone(), deleted: is_deleted(stored) }
}

/// Returns all kept versions, newest first.
pub(super) fn versions(stored: &StoredMemory) -> Result<Vec<BlockVersion>> {
    let all = std::iter::once(current(stored)).chain(earlier(stored)?);
    let version = |earlier: Earlier| {
        let Earlier { version, at, text, deleted } = earlier;
        BlockVersion { version, text, at, is_deleted: deleted }
    };
    Ok(all.map(version).collect())
}

/// Builds the write that replaces the current state of a block by a new text or a deletion.
pub(super) fn write(
    scope: &MemoryScope,
    name: &str,
    text: Option<&str>,
    at: Timestamp,
    before: Option<&StoredMemory>,
    most_versions: usize,
) -> Result<MemoryWrite> {
    let says = text.unwrap_or_default();
    let mut record = MemoryRecord::new(scope.clone(), Block::id(name), KIND, at, says);
    record.key = Some(name.to_owned());
    if let Some(before) = before {
        let mut kept = vec![current(before)];
        kept.extend(earlier(before)?);
        kept.truncate(most_versions);
        let bug = |error| {
            Error::new(ErrorKind::Bug, "blocks", "versions cannot be written as JSON")
                .with_source(error)
        };
        let written: Vec<Json> =
            kept.iter().map(Json::from_serialize).collect::<Result<_, _>>().map_err(bug)?;
        let lengths = written.iter().scan(0, |bytes, version| {
            *bytes += version.as_str().len() + 1;
            Some(*bytes)
        });
        let fitting = lengths.take_while(|bytes| *bytes < MOST_BYTES).count();
        if fitting > 0 {
            record.data.insert(EARLIER, Json::from_serialize(&written[..fitting]).map_err(bug)?);
        }
    }
    if text.is_none() {
        record.data.insert(DELETED, serde_json::Value::Bool(true));
    }
    let words = index_words(says);
    let expected = MemoryExpected::Version(before.map_or(0, |before| before.version));
    Ok(MemoryWrite::new(record, words).expected(expected))
}
