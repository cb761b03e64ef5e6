//! New rows of memories: one statement that updates the counters of their shelves, and one that
//! writes the rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use context_core::memory::{MemoryRecord, MemorySource, MemoryVector};
use context_core::store::MemoryWrite;
use sqlx::Row;

use crate::checksums;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::memories::pgvector::{self, Pgvector};
use crate::memories::words::{hash, mix};
use crate::memories::write::LockedUser;
use crate::sql::memories as sql;
use crate::values::numbers::{signed, signed_count};

/// A record to add, with its numbers.
pub(crate) struct NewRecord<'a> {
    pub(crate) write: &'a MemoryWrite,
    /// The number of its scope.
    pub(crate) scope: i64,
    pub(crate) place: i64,
    pub(crate) version: u64,
}

/// The increments of a shelf's counters.
#[derive(Default)]
struct ShelfIncrement {
    records: i64,
    words: i64,
    vectors: i64,
    bytes: i64,
    first: i64,
    last: i64,
}

/// Adds records at places that are free, and removes their marks of forgotten records. Returns the
/// shelves of the records.
pub(crate) async fn add(
    session: &mut Session<'_>,
    pgvector: Option<&Pgvector>,
    user: &LockedUser,
    added: &[NewRecord<'_>],
) -> Result<HashSet<i64>> {
    let shelves = shelves(session, added).await?;
    let shelf = |added: &NewRecord<'_>| {
        let key = (added.scope, added.write.record.kind.as_bytes().to_vec());
        shelves.get(&key).copied().ok_or(Fault::Corrupt("a shelf of memories does not exist", None))
    };
    let shelf_of_record = added.iter().map(shelf).collect::<Result<Vec<i64>>>()?;
    let (texts, found) = words(added, &shelf_of_record);
    let records: Vec<&MemoryRecord> = added.iter().map(|added| &added.write.record).collect();
    let body = |added: &NewRecord<'_>| {
        let body = serde_json::to_vec(&added.write.record)?;
        Ok::<_, serde_json::Error>(
            checksums::memory(added.place, signed_count(added.version)).seal(body),
        )
    };
    let bodies = added.iter().map(body).collect::<Result<Vec<_>, _>>();
    let bodies = bodies.map_err(|_| Fault::Corrupt("a memory cannot be written as JSON", None))?;
    let marks = records.iter().map(|record| MemoryRecord::mark(&record.scope, &record.id).to_vec());
    let scopes: Vec<i64> = added.iter().map(|added| added.scope).collect();
    let sources = || records.iter().map(|record| record.source.as_ref());
    let session_of = |source: &MemorySource| source.session.as_str().as_bytes().to_vec();
    let message_of =
        |source: &MemorySource| Some(source.message.as_ref()?.as_str().as_bytes().to_vec());
    let vectors = || {
        let all = added.iter().zip(&shelf_of_record);
        all.filter_map(|(added, shelf)| Some((added.place, *shelf, added.write.vector.as_ref()?)))
    };
    let sealed = |(place, _, vector): (i64, i64, &MemoryVector)| {
        checksums::vector(place, &vector.model).seal(vector.to_bytes())
    };
    let query = session
        .query(sql::ADD_MEMORIES)
        .bind(user.no)
        .bind(user.written)
        .bind(added.iter().map(|added| added.place).collect::<Vec<_>>())
        .bind(&scopes)
        .bind(&shelf_of_record)
        .bind(records.iter().map(|record| record.id.as_str().as_bytes()).collect::<Vec<_>>())
        .bind(added.iter().map(|added| signed_count(added.version)).collect::<Vec<_>>())
        .bind(
            records
                .iter()
                .map(|record| record.key.as_ref().map(|key| key.as_bytes()))
                .collect::<Vec<_>>(),
        )
        .bind(sources().map(|source| source.map(session_of)).collect::<Vec<_>>())
        .bind(sources().map(|source| source.and_then(message_of)).collect::<Vec<_>>())
        .bind(records.iter().map(|record| signed(record.text.len())).collect::<Vec<_>>())
        .bind(texts)
        .bind(bodies)
        .bind(found.keys().map(|(shelf, _)| *shelf).collect::<Vec<_>>())
        .bind(found.keys().map(|(_, word)| *word).collect::<Vec<_>>())
        .bind(found.values().copied().collect::<Vec<_>>())
        .bind(vectors().map(|(place, ..)| place).collect::<Vec<_>>())
        .bind(vectors().map(|(_, shelf, _)| shelf).collect::<Vec<_>>())
        .bind(vectors().map(|(.., vector)| vector.model.as_bytes()).collect::<Vec<_>>())
        .bind(vectors().map(|(.., vector)| signed(vector.values.len())).collect::<Vec<_>>())
        .bind(vectors().map(sealed).collect::<Vec<_>>())
        .bind(&scopes)
        .bind(marks.collect::<Vec<_>>());
    session.execute(query).await?;
    if let Some(pgvector) = pgvector {
        pgvector::add(session, pgvector, vectors().map(|(place, _, vector)| (place, vector)))
            .await?;
    }
    Ok(shelf_of_record.into_iter().collect())
}

/// Updates the counters of the records' shelves, and returns the shelves by scope and kind.
async fn shelves(
    session: &mut Session<'_>,
    added: &[NewRecord<'_>],
) -> Result<HashMap<(i64, Vec<u8>), i64>> {
    let mut increments: BTreeMap<(i64, &[u8]), ShelfIncrement> = BTreeMap::new();
    for added in added {
        let record = &added.write.record;
        let increment = increments.entry((added.scope, record.kind.as_bytes())).or_default();
        increment.first =
            if increment.records == 0 { added.place } else { increment.first.min(added.place) };
        increment.last = increment.last.max(added.place);
        increment.records += 1;
        increment.words += signed(added.write.words().count());
        increment.vectors += i64::from(added.write.vector.is_some());
        increment.bytes += signed(record.text.len());
    }
    let column = |of: fn(&ShelfIncrement) -> i64| increments.values().map(of).collect::<Vec<_>>();
    let query = session
        .query(sql::ADD_TO_SHELVES)
        .bind(increments.keys().map(|(scope, _)| *scope).collect::<Vec<_>>())
        .bind(increments.keys().map(|(_, kind)| *kind).collect::<Vec<_>>())
        .bind(column(|increment| increment.records))
        .bind(column(|increment| increment.words))
        .bind(column(|increment| increment.vectors))
        .bind(column(|increment| increment.bytes))
        .bind(column(|increment| increment.first))
        .bind(column(|increment| increment.last));
    let mut shelves = HashMap::new();
    for row in session.all(query).await? {
        shelves.insert((row.try_get(1)?, row.try_get(2)?), row.try_get(0)?);
    }
    Ok(shelves)
}

/// Returns the words of each record as a PostgreSQL array, and the number of records per word in
/// each shelf.
fn words(
    added: &[NewRecord<'_>],
    shelf_of_record: &[i64],
) -> (Vec<String>, BTreeMap<(i64, i64), i64>) {
    let (mut texts, mut found) = (Vec::with_capacity(added.len()), BTreeMap::new());
    for (added, shelf) in added.iter().zip(shelf_of_record) {
        let mut text = String::from("{");
        let mut once = BTreeSet::new();
        for word in added.write.words().map(hash) {
            let comma = if once.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{}", mix(word, *shelf, added.place));
            once.insert(word);
        }
        text.push('}');
        texts.push(text);
        for word in once {
            *found.entry((*shelf, word)).or_default() += 1;
        }
    }
    (texts, found)
}
