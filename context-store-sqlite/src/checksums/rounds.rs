//! Checksums of the rows of rounds. They cover the names of the row's round and the values of the
//! row.

use context_core::trajectory::RoundRef;
use context_store_kit::checksum::Checksum;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::checksums::Value;
use crate::error::{Fault, Result};
use crate::sql::run;

pub(crate) const EDGE: &str = "trajectory_edge";
pub(crate) const VERSION: &str = "trajectory_version";
pub(crate) const MESSAGE: &str = "trajectory_message";

/// The number of rows sealed at once.
const BATCH: usize = 500;

/// The error for a row of a round that differs from its checksum.
pub(crate) const DIFFERS: Fault = Fault::Corrupt("the checksum of a row of a round differs", None);

/// Returns the common beginning of the checksums of a round's rows in one table.
pub(crate) fn rows_of(table: &str, round: &RoundRef) -> Checksum {
    let agent = &round.agent;
    let sum = Checksum::of(table).text(agent.user.as_str()).text(agent.session.as_str());
    sum.int(i64::from(agent.agent)).int(i64::from(round.round))
}

/// Returns the checksum of a row with these values that belongs to a round.
pub(crate) fn sum_of<'a>(
    table: &str,
    round: &RoundRef,
    values: impl IntoIterator<Item = Value<'a>>,
) -> i64 {
    i64::from(
        values.into_iter().fold(rows_of(table, round), |sum, value| value.add_to(sum)).value(),
    )
}

/// Returns the checksum of an edge: the checksum of its values, with its position in the bits
/// above. The position is known only once the edge is written.
pub(crate) fn edge_sum<'a>(
    round: &RoundRef,
    position: i64,
    values: impl IntoIterator<Item = Value<'a>>,
) -> i64 {
    sum_of(EDGE, round, values) | position << 32
}

/// Returns the checksum of a round's head and of the key of its last commit.
pub(crate) fn head_sum(head: &str, key: &str) -> i64 {
    i64::from(Checksum::of("trajectory_round").text(head).text(key).value())
}

/// The statements that seal the rows of a table.
pub(crate) struct SealedRows {
    table: String,
    key: &'static [&'static str],
    columns: String,
}

impl SealedRows {
    pub(crate) fn new(table: &str, columns: &str, key: &'static [&'static str]) -> Self {
        Self { table: table.to_owned(), key, columns: columns.to_owned() }
    }

    /// Seals the rows of a round that have no checksum: all of them, or the row of one node.
    pub(crate) async fn seal(
        &self,
        connection: &mut SqliteConnection,
        no: i64,
        round: &RoundRef,
        node: Option<u32>,
    ) -> Result<()> {
        let Self { table, key, columns } = self;
        let of_node = node.map_or("", |_| "AND ordinal = ?2");
        let select = format!(
            "SELECT {columns} FROM {table} WHERE round = ?1 AND sum IS NULL {of_node} LIMIT {BATCH}"
        );
        let keys: Vec<String> =
            (3..).zip(key.iter()).map(|(at, key)| format!("{key} = ?{at}")).collect();
        let update =
            format!("UPDATE {table} SET sum = ?1 WHERE round = ?2 AND {}", keys.join(" AND "));
        loop {
            let query = sqlx::query(AssertSqlSafe(select.clone())).bind(no);
            let query = node.into_iter().fold(query, |query, node| query.bind(i64::from(node)));
            let rows = run(connection, query).await?;
            for row in &rows {
                let values =
                    (0..row.len()).map(|at| Value::of(row, at)).collect::<Result<Vec<_>>>()?;
                let sum = match (table.as_str(), values.first()) {
                    (EDGE, Some(Value::Int(position))) => {
                        edge_sum(round, *position, values[1..].iter().cloned())
                    }
                    _ => sum_of(table, round, values.iter().cloned()),
                };
                let query = sqlx::query(AssertSqlSafe(update.clone())).bind(sum).bind(no);
                let query = values
                    .into_iter()
                    .take(key.len())
                    .fold(query, |query, value| value.bind(query));
                run(connection, query).await?;
            }
            if rows.len() < BATCH {
                return Ok(());
            }
        }
    }
}
