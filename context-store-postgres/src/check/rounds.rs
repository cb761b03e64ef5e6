//! The check of rounds of trajectories: each must be a valid graph, and its row must agree with its
//! head.

use context_core::store::{CheckReport, Finding};
use context_core::trajectory::{AgentRef, Round, RoundRecord, RoundRef};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::check::RowCheck;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::rounds::read::{load, number};
use crate::sql::rounds as sql;
use crate::values::display;
use crate::values::rows::text;

const PROBLEM: &str = "a round cannot be read";

/// The check of the rounds.
pub(crate) struct RoundCheck;

impl RowCheck for RoundCheck {
    const NAME: &'static str = "round";

    async fn strays(&self, session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
        let query = session.query(&sql::STRAY_ROWS);
        for row in session.all(query).await? {
            let about = format!(
                "table {}, round {}",
                row.try_get::<&str, _>(0)?,
                row.try_get::<i64, _>(1)?
            );
            report.findings.push(Finding::new(None, about, "belongs to no round"));
        }
        let query = session.query(sql::WRONG_ROUND_MESSAGES);
        for row in session.all(query).await? {
            let problem = "the link to a message belongs to another user";
            match round_of(&row, 0) {
                Ok(round) => report.findings.push(Finding::new(None, round, problem)),
                Err(Fault::Corrupt(..)) => {
                    report.findings.push(Finding::new(None, "a round", problem))
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    async fn next(
        &self,
        session: &mut Session<'_>,
        after: i64,
        report: &mut CheckReport,
    ) -> Result<Option<i64>> {
        let query = session.query(sql::ROUND_AFTER).bind(after);
        let Some(row) = session.first(query).await? else { return Ok(None) };
        let no: i64 = row.try_get(0)?;
        let (about, problem) = match round_of(&row, 1) {
            Ok(round) => (round.to_string(), round_problem(session, &round, &row).await),
            Err(fault) => (format!("table trajectory_round, {no}"), Err(fault)),
        };
        let problem = match problem {
            Err(Fault::Corrupt(problem, _)) => Some(problem.to_owned()),
            found => found?,
        };
        if let Some(problem) = problem {
            report.findings.push(Finding::new(None, about, problem));
        }
        report.rounds += 1;
        Ok(Some(no))
    }
}

/// Returns the round that four columns name.
fn round_of(row: &PgRow, from: usize) -> Result<RoundRef> {
    let agent =
        AgentRef::new(text(row, from)?, text(row, from + 1)?, number(row, from + 2, PROBLEM)?);
    Ok(agent.round(number(row, from + 3, PROBLEM)?))
}

async fn round_problem(
    session: &mut Session<'_>,
    round: &RoundRef,
    row: &PgRow,
) -> Result<Option<String>> {
    let number = round.round;
    let Some(record) = load(session, &round.agent, &(number..=number), None).await?.pop() else {
        return Ok(Some("cannot be found by the columns of its row".to_owned()));
    };
    if record.head.round != *round {
        return Ok(Some("its head belongs to another round".to_owned()));
    }
    if !matches_head(row, &record)? {
        return Ok(Some("the columns of its row differ from its head".to_owned()));
    }
    Ok(Round::from_record(record).err().map(|error| error.to_string()))
}

/// Whether the row of a round agrees with its head.
fn matches_head(row: &PgRow, record: &RoundRecord) -> Result<bool> {
    let head = &record.head;
    Ok(u64::try_from(row.try_get::<i64, _>(5)?) == Ok(head.revision)
        && row.try_get::<&str, _>(6)? == head.state.as_str()
        && row.try_get::<i64, _>(7)? == i64::from(head.nodes)
        && row.try_get::<i64, _>(8)? == head.created_at.as_micros()
        && row.try_get::<i64, _>(9)? == head.updated_at.as_micros()
        && row.try_get::<&str, _>(10)? == display::text(&head.title))
}
