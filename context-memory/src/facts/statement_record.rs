//! The stored record of a statement.

use context_core::memory::{MemoryRecord, MemoryScope, StoredMemory};
use context_core::store::MemoryWrite;
use context_core::{Error, ErrorKind, Json, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Cardinality, Statement, names};
use crate::words::index_words;

pub(super) const KIND: &str = "fact";
const DATA: &str = "fact";

/// The structured data of the record.
#[derive(Serialize, Deserialize)]
struct Data {
    subject: String,
    relation: String,
    object: String,
    #[serde(rename = "holds")]
    cardinality: Cardinality,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    recorded: Timestamp,
}

/// A stored statement.
#[derive(Clone)]
pub(super) struct StatementRecord {
    pub(super) record: (MemoryScope, context_core::base::MemoryId),
    pub(super) statement: Statement,
    pub(super) recorded: Timestamp,
}

pub(super) fn write(
    filed: &MemoryScope,
    statement: &Statement,
    recorded: Timestamp,
) -> Result<MemoryWrite> {
    let Statement { subject, relation, object, cardinality, from, until, said_at, source, trust } =
        statement.clone();
    let id = names::statement_id(filed, statement);
    let text = format!("{subject} {relation} {object}");
    let words = format!("{} {}", names::subject_word(&subject), index_words(&text));
    let mut record = MemoryRecord::new(filed.clone(), id, KIND, said_at, text);
    record.key = Some(names::key(&subject, &relation));
    record.source = source;
    if let Some(trust) = trust {
        record.set_trust(trust);
    }
    let data = Data { subject, relation, object, cardinality, from, until, recorded };
    let data = Json::from_serialize(&data).map_err(|error| {
        Error::new(ErrorKind::Bug, "facts", "a statement cannot be written as JSON")
            .with_source(error)
    })?;
    record.data.insert(DATA, data);
    Ok(MemoryWrite::new(record, words))
}

/// Reads the statement of a record. Returns `None`, with a warning, if the record cannot be read.
pub(super) fn read(stored: StoredMemory) -> Option<StatementRecord> {
    let trust = stored.record.trust();
    let MemoryRecord { scope, id, at, source, data, .. } = stored.record;
    let Some(Ok(data)) = data.get(DATA).map(Json::parse::<Data>) else {
        tracing::warn!(memory = %id, "a record of a fact cannot be read");
        return None;
    };
    let Data { subject, relation, object, cardinality, from, until, recorded } = data;
    let statement = Statement {
        subject,
        relation,
        object,
        cardinality,
        from,
        until,
        said_at: at,
        source,
        trust,
    };
    Some(StatementRecord { record: (scope, id), statement, recorded })
}
