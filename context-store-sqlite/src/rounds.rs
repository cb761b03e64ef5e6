//! Rounds of trajectories: recording, reading, listing and removing them. A read takes two
//! statements, however many rounds there are.

pub(crate) mod addition;
pub(crate) mod contents;
pub(crate) mod json_rows;
pub(crate) mod listing;
pub(crate) mod node_tables;
mod plan;
pub(crate) mod record;
mod refusal;
mod row_values;

use std::ops::RangeInclusive;

use context_core::store::KeyOrder;
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::checksums::rounds::{DIFFERS, head_sum};
use crate::counts::{ListPart, UserCount};
use crate::error::{Fault, Result};
use crate::rounds::contents::fill;
use crate::sql::rounds as sql;
use crate::sql::run;

/// Returns the rounds of an agent with these numbers. All reads see one state of the file.
pub(crate) async fn load(
    connection: &mut SqliteConnection,
    agent: &AgentRef,
    rounds: RangeInclusive<u32>,
) -> Result<Vec<RoundRecord>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = connection.begin().await?;
    let query =
        sqlx::query(sql::ROUNDS_OF_NUMBERS).bind(agent.user.as_str()).bind(agent.session.as_str());
    let query = query.bind(i64::from(agent.agent)).bind(i64::from(*rounds.start()));
    let rows = run(&mut transaction, query.bind(i64::from(*rounds.end()))).await?;
    let stored = rows.iter().map(RoundRow::of).collect::<Result<Vec<_>>>()?;
    let mut order = KeyOrder::new("load_rounds", "round");
    for RoundRow { head, .. } in &stored {
        check_agent(head, agent)?;
        order.next(head.round.round)?;
    }
    if stored.len() as u64 <= u64::from(*rounds.end() - rounds.start()) {
        UserCount::Rounds.compare(&mut transaction, &agent.user, ListPart::Middle).await?;
    }
    let records = fill(&mut transaction, stored).await?;
    if records.iter().any(|record| record.head.nodes as usize != record.nodes.len()) {
        return Err(Fault::Corrupt("nodes of a round are missing", None));
    }
    transaction.commit().await?;
    Ok(records)
}

/// The row of a round. Its columns are the number, the columns that [`head_of`] reads, and
/// `beside`.
#[derive(Clone)]
pub(crate) struct RoundRow {
    no: i64,
    /// The weighted number of the round's rows other than nodes.
    weight: i64,
    pub(crate) head: RoundHead,
}

impl RoundRow {
    pub(crate) fn of(row: &SqliteRow) -> Result<Self> {
        Ok(Self { no: row.try_get(0)?, weight: row.try_get(4)?, head: head_of(row, 1)? })
    }
}

/// Reads the head from a column, followed by the key of the last commit and the checksum.
pub(crate) fn head_of(row: &SqliteRow, column: usize) -> Result<RoundHead> {
    let sum = head_sum(row.try_get(column)?, row.try_get(column + 1)?);
    if row.try_get::<Option<i64>, _>(column + 2)? != Some(sum) {
        return Err(DIFFERS);
    }
    serde_json::from_str(row.try_get(column)?)
        .map_err(|_| Fault::Corrupt("the head of a round cannot be read", None))
}

/// Compares the round named in a head with the requested agent.
fn check_agent(head: &RoundHead, agent: &AgentRef) -> Result<()> {
    if head.round.agent == *agent { Ok(()) } else { Err(DIFFERS) }
}
