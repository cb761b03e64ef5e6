//! The checksums of rows of trajectories, each in a column `sum`. A checksum covers the round and
//! the key of the row, so a row that was moved is detected. A node has one checksum for each column
//! that can change alone and one for all other columns, four bytes each. A change therefore writes
//! its columns and their checksums without reading the others.

use context_core::trajectory::{RoundRef, TrajectoryNodeKind};
use context_store_kit::checksum::{Checksum, SEAL_BYTES};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};
use crate::sql::rounds as sql;

/// A checksum as stored in the column.
pub(crate) type Sum = [u8; SEAL_BYTES];

fn of(table: &str, round: &RoundRef) -> Checksum {
    let agent = &round.agent;
    let names = Checksum::of(table).text(agent.user.as_str()).text(agent.session.as_str());
    names.int(agent.agent.into()).int(round.round.into())
}

fn bytes(checksum: Checksum) -> Sum {
    checksum.value().to_le_bytes()
}

fn optional(checksum: Checksum, value: Option<&[u8]>) -> Checksum {
    match value {
        Some(value) => checksum.bytes(value),
        None => checksum.none(),
    }
}

/// The checksum of a head with the key of the last commit. The other columns of the row are derived
/// from the head.
pub(crate) fn head(round: &RoundRef, key: &[u8], shown: &str, exact: Option<&[u8]>) -> Sum {
    bytes(optional(of("round", round).bytes(key).text(shown), exact))
}

/// The checksum of those columns of a node that never change within a row.
pub(crate) fn node(
    (round, kind, ordinal): (&RoundRef, TrajectoryNodeKind, i64),
    label: &str,
    created_at: i64,
    author: Option<&str>,
    exact: Option<&[u8]>,
) -> Sum {
    let row = of(kind.lower(), round).int(ordinal).text(label).int(created_at);
    bytes(optional(row.optional_text(author), exact))
}

/// The checksum of one column of a node, in its shown form.
pub(crate) fn part(
    (round, kind, ordinal): (&RoundRef, TrajectoryNodeKind, i64),
    column: &str,
    value: Option<&str>,
) -> Sum {
    bytes(of(kind.lower(), round).int(ordinal).text(column).optional_text(value))
}

/// Returns the position of a column's checksum, in bytes counted from 1. The columns are
/// description, measures, then the fields.
pub(crate) fn offset(column: usize) -> usize {
    (column + 1) * SEAL_BYTES + 1
}

/// The checksum of an edge.
pub(crate) fn edge(
    round: &RoundRef,
    position: i64,
    source: i64,
    (target_round, target): (i64, i64),
    name: &str,
    exact: Option<&[u8]>,
) -> Sum {
    let row = of("edge", round).int(position).int(source).int(target_round).int(target);
    bytes(optional(row.text(name), exact))
}

/// The checksum of an earlier version of a node.
pub(crate) fn version(
    round: &RoundRef,
    (ordinal, number): (i64, i64),
    at: i64,
    author: Option<&str>,
    was: &str,
    exact: Option<&[u8]>,
) -> Sum {
    let row = of("version", round).int(ordinal).int(number).int(at).optional_text(author);
    bytes(optional(row.text(was), exact))
}

/// The checksum of a node's link to a message.
pub(crate) fn message(
    round: &RoundRef,
    (ordinal, position): (i64, i64),
    chat: &[u8],
    message: &[u8],
) -> Sum {
    bytes(of("message", round).int(ordinal).int(position).bytes(chat).bytes(message))
}

/// Returns the checksums that a row must have. Its columns from the third on are those of
/// [`sql::columns`].
pub(crate) fn of_row(row_kind: i16, round: &RoundRef, row: &PgRow) -> Result<Vec<u8>> {
    let text = |column: usize| row.try_get::<Option<&str>, _>(column);
    let int = |column: usize| row.try_get::<i64, _>(column);
    let exact = row.try_get::<Option<&[u8]>, _>(11)?;
    let whole = |column: usize| Ok::<_, sqlx::Error>(text(column)?.unwrap_or_default());
    let sum = match row_kind {
        sql::HEAD => head(round, row.try_get(13)?, whole(10)?, exact),
        sql::EDGE => edge(round, int(3)?, int(2)?, (int(4)?, int(5)?), whole(6)?, exact),
        sql::VERSION => version(round, (int(2)?, int(3)?), int(9)?, text(8)?, whole(10)?, exact),
        sql::MESSAGE => message(round, (int(2)?, int(3)?), row.try_get(13)?, row.try_get(14)?),
        _ => return of_node(sql::kind(row_kind)?, round, row),
    };
    Ok(sum.to_vec())
}

fn of_node(kind: TrajectoryNodeKind, round: &RoundRef, row: &PgRow) -> Result<Vec<u8>> {
    let place = (round, kind, row.try_get::<i64, _>(2)?);
    let (label, author) = (row.try_get(6)?, row.try_get(8)?);
    let mut sums = node(place, label, row.try_get(9)?, author, row.try_get(11)?).to_vec();
    sums.extend(part(place, "description", row.try_get(7)?));
    sums.extend(part(place, "measures", row.try_get(10)?));
    let values: Vec<String> = row.try_get(12)?;
    for (field, value) in kind.fields().iter().zip(&values) {
        sums.extend(part(place, field.name, Some(value)));
    }
    Ok(sums)
}

/// Rejects a row that differs from its checksum.
pub(crate) fn check(row_kind: i16, round: &RoundRef, row: &PgRow) -> Result<()> {
    if of_row(row_kind, round, row)? == row.try_get::<&[u8], _>(15)? {
        return Ok(());
    }
    Err(Fault::Corrupt(
        match row_kind {
            sql::HEAD => "the checksum of the head of a round does not match",
            sql::EDGE => "the checksum of an edge of a round does not match",
            sql::VERSION => "the checksum of a version of a node does not match",
            sql::MESSAGE => "the checksum of the message of a node does not match",
            _ => "the checksum of a node of a round does not match",
        },
        None,
    ))
}
