//! The check of streams: each stream must have the chunks it claims, without a gap.

use context_core::store::{CheckReport, Finding};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::check::{RowCheck, chat_of};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::sql::streams as sql;
use crate::values::numbers::count;
use crate::values::rows::lossy_text;
use crate::{checksums, streams};

/// The number of chunks read at once.
const BATCH: i64 = 256;

/// The check of the streams.
pub(crate) struct StreamCheck;

impl RowCheck for StreamCheck {
    const NAME: &'static str = "stream";

    async fn strays(&self, session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
        let query = session.query(sql::STRAY_STREAM_CHUNKS);
        for row in session.all(query).await? {
            let about = format!("table stream_chunk, stream {}", row.try_get::<i64, _>(0)?);
            report.findings.push(Finding::new(None, about, "belongs to no stream"));
        }
        Ok(())
    }

    async fn next(
        &self,
        session: &mut Session<'_>,
        after: i64,
        report: &mut CheckReport,
    ) -> Result<Option<i64>> {
        let query = session.query(sql::STREAM_AFTER).bind(after);
        let Some(row) = session.first(query).await? else { return Ok(None) };
        let problem = match stream_problem(session, &row).await {
            Err(Fault::Corrupt(problem, _)) => Some(problem.to_owned()),
            found => found?,
        };
        if let Some(problem) = problem {
            let about = format!("stream {}", lossy_text(&row, 1)?);
            report.findings.push(Finding::new(chat_of(&row, 15)?.as_ref(), about, problem));
        }
        report.streams += 1;
        Ok(Some(row.try_get(0)?))
    }
}

async fn stream_problem(session: &mut Session<'_>, row: &PgRow) -> Result<Option<String>> {
    let stream = streams::stream_of(row)?;
    let (chunks, bytes, end): (i64, i64, i64) =
        (row.try_get(17)?, row.try_get(18)?, row.try_get(19)?);
    let mark = row.try_get::<Option<&[u8]>, _>(21)?;
    if mark != Some(&checksums::stream_mark(&stream.id, row.try_get(20)?)[..]) {
        return Ok(Some("belongs to another chat than when it was created".to_owned()));
    }
    if chunks != end {
        return Ok(Some("its chunks have a gap".to_owned()));
    }
    let mut from = 0;
    while from < end {
        let query = session.query(sql::STORED_STREAM_CHUNKS).bind(row.try_get::<i64, _>(0)?);
        let rows = session.all(query.bind(from).bind(from + BATCH)).await?;
        for (n, row) in (from..).zip(rows) {
            streams::chunk(&stream.id, n, row, 0)?;
        }
        from += BATCH;
    }
    Ok(stream.fault(count(chunks)?, count(bytes)?))
}
