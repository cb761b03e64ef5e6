//! The check of trajectories: each round must be a valid graph and agree with its row.

use context_core::CancelSignal;
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::trajectory::{AgentRef, Round, RoundHead, RoundRecord, RoundRef};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::rounds::RoundRow;
use crate::rounds::contents::fill;
use crate::sql::rounds as sql;
use crate::sql::run;
use crate::values::numbers::count;

/// The first column of the names of a round.
const NAMES: usize = 5;

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for row in run(connection, sqlx::query(sql::WRONG_MESSAGES)).await? {
        add(
            report,
            &reference(&row, 0)?,
            "links of its nodes to messages are stored under another user",
        );
    }
    let mut after = 0;
    let mut order = KeyOrder::new("check", "round");
    loop {
        cancel.check("check")?;
        // Each batch of rounds is read in a transaction of its own, because others may write during
        // the check.
        let mut transaction = connection.begin().await?;
        let rows = run(&mut transaction, sqlx::query(sql::ROUNDS_AFTER).bind(after)).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.try_get(0)?;
        for row in &rows {
            order.next(row.try_get::<i64, _>(0)?)?;
        }
        report.rounds += rows.len() as u64;
        check_rounds(&mut transaction, &rows, report).await?;
        transaction.commit().await?;
        cancel.report("round", report.rounds);
    }
}

async fn check_rounds(
    connection: &mut SqliteConnection,
    rows: &[SqliteRow],
    report: &mut CheckReport,
) -> Result<()> {
    let mut rounds = Vec::with_capacity(rows.len());
    for row in rows {
        let problem = match RoundRow::of(row) {
            Ok(stored) => {
                let problem = row_problem(row, &stored.head)?;
                rounds.push(stored);
                problem
            }
            Err(Fault::Corrupt(problem, _)) => Some(problem),
            Err(fault) => return Err(fault),
        };
        if let Some(problem) = problem {
            add(report, &reference(row, NAMES)?, problem);
        }
    }
    match fill(connection, rounds.clone()).await {
        Ok(records) => records.into_iter().for_each(|record| check_round(record, report)),
        Err(fault) if is_damage(&fault) => {
            // Reads the rounds again one by one to find the damaged one.
            for stored in rounds {
                let round = stored.head.round.clone();
                match fill(connection, vec![stored]).await {
                    Ok(records) => {
                        records.into_iter().for_each(|record| check_round(record, report))
                    }
                    Err(Fault::Corrupt(problem, _)) => add(report, &round, problem),
                    Err(fault) if is_damage(&fault) => add(report, &round, "a row cannot be read"),
                    Err(fault) => return Err(fault),
                }
            }
        }
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// Whether the fault is damage of the stored data, not a failure to read it.
fn is_damage(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Corrupt(..)
            | Fault::Driver(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
    )
}

fn add(report: &mut CheckReport, round: &RoundRef, problem: impl Into<String>) {
    report.findings.push(Finding::new(None, round, problem));
}

fn reference(row: &SqliteRow, column: usize) -> Result<RoundRef> {
    let agent = AgentRef::new(
        row.try_get::<&str, _>(column)?,
        row.try_get::<&str, _>(column + 1)?,
        row.try_get(column + 2)?,
    );
    Ok(agent.round(row.try_get(column + 3)?))
}

/// Returns the disagreement between the columns of a row and the head, if there is one.
fn row_problem(row: &SqliteRow, head: &RoundHead) -> Result<Option<&'static str>> {
    if reference(row, NAMES)? != head.round {
        return Ok(Some("is stored as another round than its head states"));
    }
    let times = (head.created_at.as_micros(), head.updated_at.as_micros());
    let agrees = count(row.try_get(9)?)? == head.revision
        && row.try_get::<&str, _>(10)? == head.state.as_str()
        && row.try_get::<&str, _>(11)? == &*head.title
        && row.try_get::<u32, _>(12)? == head.nodes
        && (row.try_get(13)?, row.try_get(14)?) == times;
    Ok((!agrees).then_some("its row differs from its head"))
}

fn check_round(record: RoundRecord, report: &mut CheckReport) {
    let (round, nodes) = (record.head.round.clone(), record.nodes.len());
    if record.head.nodes as usize != nodes {
        add(
            report,
            &round,
            format!("has {nodes} nodes, but its head states {}", record.head.nodes),
        );
    }
    if let Err(error) = Round::from_record(record) {
        add(report, &round, error.to_string());
    }
}
