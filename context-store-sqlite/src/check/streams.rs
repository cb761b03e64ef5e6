//! The check of streams: each stream must have the chunks it claims, without a gap.

use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatRef};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::sql;
use crate::streams::stream_of;
use crate::values::numbers::count;

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for row in sqlx::query(sql::STRAY_STREAM_CHUNKS).fetch_all(&mut *connection).await? {
        let about = format!("table stream_chunk, stream {}", row.try_get::<i64, _>(0)?);
        report.findings.push(Finding::new(None, about, "belongs to no stream"));
    }
    let mut after = 0;
    let mut order = KeyOrder::new("check", "stream");
    loop {
        cancel.check("check")?;
        // Each stream is read in a transaction of its own, because others may write during the
        // check.
        let mut transaction = connection.begin().await?;
        let next =
            sqlx::query(sql::STREAM_AFTER).bind(after).fetch_all(&mut *transaction).await?.pop();
        let Some(row) = next else { return Ok(()) };
        after = row.try_get(0)?;
        order.next(after)?;
        let problem = match problem(&mut transaction, &row).await {
            Err(Fault::Corrupt(problem, _)) => Some(problem.to_owned()),
            found => found?,
        };
        transaction.commit().await?;
        report.streams += 1;
        cancel.report("stream", report.streams);
        if let Some(problem) = problem {
            let (user, chat): (Option<&str>, Option<&str>) = (row.try_get(15)?, row.try_get(16)?);
            let chat = user.zip(chat).map(|(user, chat)| ChatRef::new(user, chat));
            let about = format!("stream {}", row.try_get::<&str, _>(1)?);
            report.findings.push(Finding::new(chat.as_ref(), about, problem));
        }
    }
}

async fn problem(connection: &mut SqliteConnection, row: &SqliteRow) -> Result<Option<String>> {
    let stream = stream_of(row)?;
    let counts = sqlx::query(sql::STREAM_COUNTS)
        .bind(row.try_get::<i64, _>(0)?)
        .fetch_one(connection)
        .await?;
    let (chunks, bytes, end): (i64, i64, i64) =
        (counts.try_get(0)?, counts.try_get(1)?, counts.try_get(2)?);
    if chunks != end {
        return Ok(Some("there is a gap between its chunks".to_owned()));
    }
    Ok(stream.fault(count(chunks)?, count(bytes)?))
}
