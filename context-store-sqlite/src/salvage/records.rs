//! Rounds of trajectories and memory records in a damaged file.

use std::collections::HashMap;

use context_core::memory::{MemoryRecord, MemoryVector};
use context_core::trajectory::{AgentRef, Round};
use context_core::{CancelSignal, UserId};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::details;
use crate::error::{Fault, Result};
use crate::memories::WordList;
use crate::rounds::RoundRow;
use crate::rounds::contents::fill;
use crate::sql::{self, run};

const OPERATION: &str = "salvage";

/// Reads the rounds. A round is kept as a whole or not at all.
pub(super) async fn rounds(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<()> {
    details::lost_rounds(connection, sink).await?;
    let mut after = 0;
    loop {
        let query = sqlx::query(sql::rounds::ROUNDS_AFTER).bind(after);
        let rows = run(connection, query).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.try_get(0)?;
        for row in &rows {
            cancel.check(OPERATION)?;
            let agent = AgentRef::new(
                row.try_get::<&str, _>(5)?,
                row.try_get::<&str, _>(6)?,
                row.try_get(7)?,
            );
            let named = agent.clone().round(row.try_get(8)?);
            match round(connection, row).await {
                Ok(Ok(piece)) => sink.take(piece).await?,
                Ok(Err(why)) => {
                    sink.lose(Loss::new(LostKind::Round, named, why).of_user(&agent.user));
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// Reads a round, or returns the problem with it.
async fn round(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
) -> Result<Result<SalvagedPiece, String>> {
    let stored = match RoundRow::of(row) {
        Ok(stored) => stored,
        Err(fault) => return problem_of(fault).map(Err),
    };
    let mut records = match fill(connection, vec![stored]).await {
        Ok(records) => records,
        Err(fault) => return problem_of(fault).map(Err),
    };
    let Some(record) = records.pop() else { return Ok(Err("it cannot be read".to_owned())) };
    if record.head.nodes as usize != record.nodes.len() {
        return Ok(Err("nodes of it are lost".to_owned()));
    }
    Ok(match Round::from_record(record.clone()) {
        Ok(_) => Ok(SalvagedPiece::Round(Box::new(record))),
        Err(error) => Err(error.to_string()),
    })
}

/// Returns the message of a fault that is damage, or the fault.
fn problem_of(fault: Fault) -> Result<String> {
    match fault {
        Fault::Corrupt(problem, _) => Ok(problem.to_owned()),
        Fault::Driver(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => {
            Ok("a row of it cannot be read".to_owned())
        }
        fault => Err(fault),
    }
}

/// Reads the memory records, oldest first.
pub(super) async fn memories(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<()> {
    const NEXT: &str = "SELECT m.place, m.body, w.list, v.model, v.data, v.place IS NOT NULL,
          k.vectors
        FROM memory m LEFT JOIN memory_words w ON w.place = m.place
        LEFT JOIN memory_vector v ON v.place = m.place
        LEFT JOIN memory_kind k ON k.no = m.kind
        WHERE m.place > ?1 ORDER BY m.place LIMIT 64";
    details::lost_memories(connection, sink).await?;
    let mut words = HashMap::new();
    let mut after = i64::MIN;
    loop {
        cancel.check(OPERATION)?;
        let rows = run(connection, sqlx::query(NEXT).bind(after)).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.try_get(0)?;
        for row in &rows {
            let place: i64 = row.try_get(0)?;
            let Ok(record) = serde_json::from_slice::<MemoryRecord>(row.try_get(1)?) else {
                let why = "it cannot be read";
                sink.lose(Loss::new(LostKind::Memory, format!("at place {place}"), why));
                continue;
            };
            let list = row.try_get::<Option<&[u8]>, _>(2)?.map(WordList::from_bytes);
            let list = list.transpose().ok().flatten().filter(|list| list.place == place);
            let found = match &list {
                Some(list) => words_of(connection, list, &mut words).await?,
                None => None,
            };
            if found.is_none() {
                lose_index(&record, "its words are lost, and are made again from its text", sink);
            }
            let vector = match row.try_get::<Option<&[u8]>, _>(4)? {
                Some(data) => MemoryVector::from_bytes(row.try_get::<&str, _>(3)?, data),
                None => None,
            };
            let (record, words) = (Box::new(record), found);
            sink.take(SalvagedPiece::Memory { record, words, vector }).await?;
        }
    }
}

fn lose_index(record: &MemoryRecord, why: &str, sink: &mut dyn SalvageSink) {
    let user: &UserId = &record.scope.user;
    sink.lose(Loss::new(LostKind::MemoryIndex, &record.id, why).of_user(user));
}

/// Returns the words of a list, or `None` if one of them is lost.
async fn words_of(
    connection: &mut SqliteConnection,
    list: &WordList,
    known: &mut HashMap<i64, Option<String>>,
) -> Result<Option<String>> {
    const WORD: &str = "SELECT word FROM memory_word WHERE no = ?1";
    let mut words = Vec::new();
    for (no, count) in &list.words {
        if !known.contains_key(no) {
            let rows = run(connection, sqlx::query(WORD).bind(*no)).await?;
            let word = rows.first().map(|row| row.try_get::<String, _>(0)).transpose()?;
            known.insert(*no, word);
        }
        let Some(Some(word)) = known.get(no) else { return Ok(None) };
        words.extend((0..*count).map(|_| word.clone()));
    }
    Ok(Some(words.join(" ")))
}
