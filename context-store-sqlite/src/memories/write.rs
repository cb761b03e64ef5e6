//! Writing records. The result of each write is decided before the first row is written.

use std::collections::{HashMap, HashSet};

use context_core::memory::{MemoryRecord, StoredMemory};
use context_core::store::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::Writer;
use crate::error::Result;
use crate::memories::put::{RecordWrite, put};
use crate::memories::rows::{NOT_REQUESTED, index_of, json_filed, stored_at};
use crate::memories::scopes::Scopes;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::count;

/// Writes all records or none. `bodies` are the stored forms of the records.
pub(crate) async fn write(
    writer: &mut Writer,
    writes: &[MemoryWrite],
    bodies: Vec<Vec<u8>>,
) -> Result<MemoryOutcome> {
    let mut transaction = writer.begin().await?;
    let scopes =
        Scopes::read(&mut transaction, writes.iter().map(|write| &write.record.scope)).await?;
    let stored_state = StoredState::read(&mut transaction, &scopes, writes).await?;
    let judged = match stored_state.judge(writes) {
        Ok(judged) => judged,
        Err(write) => {
            let place = stored_state.filed.get(&write).map(|(place, _)| *place);
            let stored = stored_at(&mut transaction, place.into_iter()).await?.pop().map(Box::new);
            return Ok(MemoryOutcome::Conflict { write, stored });
        }
    };
    let mut puts = Vec::new();
    for (at, body) in bodies.into_iter().enumerate() {
        let MemoryWritten::Written(version) = judged[at] else { continue };
        let filed = stored_state.filed.get(&at);
        if filed.is_some_and(|(_, stored)| *stored == version) {
            continue;
        }
        // A record has a mark only if it does not exist.
        let marked = filed.is_none() && writes[at].expected != MemoryExpected::Absent;
        puts.push(RecordWrite {
            write: &writes[at],
            body,
            version,
            place: filed.map(|(place, _)| *place),
            marked,
        });
    }
    if !puts.is_empty() {
        put(&mut transaction, scopes, puts).await?;
    }
    transaction.commit().await?;
    Ok(MemoryOutcome::Applied(judged))
}

/// The stored state of the records to write, by their index among the writes.
struct StoredState {
    /// The place and the version of each existing record.
    filed: HashMap<usize, (i64, u64)>,
    /// The stored records that a write may be a replay of.
    stored: HashMap<usize, StoredMemory>,
    forgotten: HashSet<usize>,
}

impl StoredState {
    async fn read(
        connection: &mut SqliteConnection,
        scopes: &Scopes<'_>,
        writes: &[MemoryWrite],
    ) -> Result<Self> {
        let mut stored_state =
            Self { filed: HashMap::new(), stored: HashMap::new(), forgotten: HashSet::new() };
        // The existing scopes, each with the index of its write.
        let known = writes.iter().enumerate();
        let known = known.filter_map(|(at, write)| Some((at, scopes.no(&write.record.scope)?)));
        let known: Vec<(usize, i64)> = known.collect();
        if known.is_empty() {
            return Ok(stored_state);
        }
        let pairs = known.iter().map(|(at, no)| (*no, writes[*at].record.id.as_str().as_bytes()));
        let at = |asked: usize, known: &[(usize, i64)]| {
            known.get(asked).map(|(at, _)| *at).ok_or(NOT_REQUESTED)
        };
        for row in run(connection, sqlx::query(sql::FILED).bind(json_filed(pairs))).await? {
            let filed = (row.try_get(1)?, count(row.try_get(2)?)?);
            stored_state.filed.insert(at(index_of(&row, 0)?, &known)?, filed);
        }
        let replays = stored_state.filed.iter().filter(|(at, (_, version))| {
            matches!(writes[**at].expected,
                MemoryExpected::Version(expected) if expected.checked_add(1) == Some(*version))
        });
        let replays: HashMap<u64, usize> =
            replays.map(|(at, (place, _))| (place.unsigned_abs(), *at)).collect();
        if !replays.is_empty() {
            let places = replays
                .values()
                .filter_map(|at| stored_state.filed.get(at))
                .map(|(place, _)| *place);
            for stored in stored_at(connection, places).await? {
                if let Some(at) = replays.get(&stored.place) {
                    stored_state.stored.insert(*at, stored);
                }
            }
        }
        let absent = known.iter().copied().filter(|(at, _)| {
            writes[*at].expected == MemoryExpected::Absent && !stored_state.filed.contains_key(at)
        });
        let absent: Vec<(usize, i64)> = absent.collect();
        if !absent.is_empty() {
            let marks: Vec<(i64, [u8; 16])> =
                absent.iter().map(|(at, no)| (*no, mark(&writes[*at].record))).collect();
            let pairs = json_filed(marks.iter().map(|(no, mark)| (*no, mark.as_slice())));
            for row in run(connection, sqlx::query(sql::MARKED).bind(pairs)).await? {
                stored_state.forgotten.insert(at(index_of(&row, 0)?, &absent)?);
            }
        }
        Ok(stored_state)
    }

    /// Decides the result of each write. Returns the index of the first conflicting write as the
    /// error.
    fn judge(&self, writes: &[MemoryWrite]) -> Result<Vec<MemoryWritten>, usize> {
        let judged = writes.iter().enumerate().map(|(at, write)| {
            let version = self.filed.get(&at).map(|(_, version)| *version);
            let replayed = self.stored.get(&at).is_some_and(|stored| write.is_replay_of(stored));
            match (write.expected, version) {
                (_, Some(version)) if replayed => Ok(MemoryWritten::Written(version)),
                (MemoryExpected::Absent, Some(version)) => Ok(MemoryWritten::Unchanged(version)),
                (MemoryExpected::Absent, None) if self.forgotten.contains(&at) => {
                    Ok(MemoryWritten::Forgotten)
                }
                (MemoryExpected::Version(expected), version)
                    if expected != version.unwrap_or(0) =>
                {
                    Err(at)
                }
                (_, version) => Ok(MemoryWritten::Written(version.unwrap_or(0) + 1)),
            }
        });
        judged.collect()
    }
}

pub(super) fn mark(record: &MemoryRecord) -> [u8; 16] {
    MemoryRecord::mark(&record.scope, &record.id)
}
