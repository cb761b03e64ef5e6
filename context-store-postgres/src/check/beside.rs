//! The check of blobs and streams. Every byte of a blob is compared with its id. Every stream must
//! have the chunks it claims, without a gap.

use context_core::base::BlobId;
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatRef, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};
use crate::place::count;
use crate::pool::{Pool, Session, Work};
use crate::rows::{optional_text, shown};
use crate::sql::{blobs as blobs_sql, streams as streams_sql};
use crate::{blobs, seals, streams};

/// The number of chunks read at once.
const AT_ONCE: i64 = 256;

pub(crate) async fn check(
    pool: &Pool,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut session = pool.begin(Work::Snapshot, None).await?;
    let checked = strays(&mut session, report).await;
    session.end(checked).await?;
    // Each blob and stream is read in a transaction of its own, because others may write during the
    // check.
    let mut after = 0;
    let mut order = KeyOrder::new("check", "blob");
    loop {
        cancel.check("check")?;
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let checked = next_blob(&mut session, after, report).await;
        match session.end(checked).await? {
            None => break,
            Some(no) => {
                order.next(no)?;
                after = no;
            }
        }
    }
    after = 0;
    let mut order = KeyOrder::new("check", "stream");
    loop {
        cancel.check("check")?;
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let checked = next_stream(&mut session, after, report).await;
        match session.end(checked).await? {
            None => return Ok(()),
            Some(no) => {
                order.next(no)?;
                after = no;
            }
        }
    }
}

/// Reports rows that no blob or stream reaches, and references to blobs of other users.
async fn strays(session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
    for (table, what, statement) in [
        ("blob_piece", "blob", blobs_sql::STRAY_PIECES),
        ("stream_chunk", "stream", streams_sql::STRAY_STREAM_CHUNKS),
    ] {
        let query = session.query(statement);
        for row in session.all(query).await? {
            let about = format!("table {table}, {what} {}", row.try_get::<i64, _>(0)?);
            report.findings.push(Finding::new(None, about, format!("belongs to no {what}")));
        }
    }
    let query = session.query(blobs_sql::WRONG_BLOB_REFS);
    for row in session.all(query).await? {
        let chat = chat_of(&row, 0)?;
        let about = blob_name(row.try_get(2)?);
        let problem = "the chat refers to another one by this name";
        report.findings.push(Finding::new(chat.as_ref(), about, problem));
    }
    Ok(())
}

/// Checks the blob after a number and returns its number, or `None` if there is no further blob.
async fn next_blob(
    session: &mut Session<'_>,
    after: i64,
    report: &mut CheckReport,
) -> Result<Option<i64>> {
    let query = session.query(blobs_sql::BLOB_AFTER).bind(after);
    let Some(row) = session.first(query).await? else { return Ok(None) };
    let chat = chat_of(&row, 3)?;
    let mut problems = Vec::new();
    if chat.is_none() {
        problems.push("belongs to no chat");
    } else if row.try_get::<i64, _>(6)? != row.try_get::<i64, _>(7)? {
        problems.push("is referred to by other chats than it counts");
    }
    match blob_problem(session, &row).await {
        Ok(problem) => problems.extend(problem),
        Err(Fault::Corrupt(problem, _)) => problems.push(problem),
        Err(fault) => return Err(fault),
    }
    for problem in problems {
        report.findings.push(Finding::new(chat.as_ref(), blob_name(row.try_get(1)?), problem));
    }
    let no: i64 = row.try_get(0)?;
    let query = session.query(blobs_sql::BLOB_REFS).bind(no);
    for row in session.all(query).await? {
        if let Err(Fault::Corrupt(problem, _)) = reference(&row) {
            let about = blob_name(row.try_get(2)?);
            report.findings.push(Finding::new(chat_of(&row, 0)?.as_ref(), about, problem));
        }
    }
    report.blobs += 1;
    Ok(Some(no))
}

fn reference(row: &PgRow) -> Result<()> {
    let time = |column| Ok::<_, Fault>(Timestamp::from_micros(row.try_get(column)?));
    let (id, media_type) = (blobs::id_of(row.try_get(2)?)?, optional_text(row, 3)?);
    blobs::check_reference(row.try_get(6)?, &id, media_type, time(4)?, row.try_get(5)?)?;
    blobs::check_use(time(7)?, row.try_get(8)?)
}

/// Returns the problem with the bytes of a blob, if there is one.
async fn blob_problem(session: &mut Session<'_>, row: &PgRow) -> Result<Option<&'static str>> {
    let id = blobs::id_of(row.try_get(1)?)?;
    let (size, pieces): (i64, i64) = (row.try_get(2)?, row.try_get(5)?);
    let bytes = blobs::bytes(session, &id, row.try_get(0)?, 0..count(size)?).await?;
    if BlobId::of(&bytes) != id {
        return Ok(Some("its bytes are not what its name says"));
    }
    Ok((pieces != blobs::pieces(bytes.len())).then_some("has more bytes than it says"))
}

/// Checks the stream after a number and returns its number, or `None` if there is no further
/// stream.
async fn next_stream(
    session: &mut Session<'_>,
    after: i64,
    report: &mut CheckReport,
) -> Result<Option<i64>> {
    let query = session.query(streams_sql::STREAM_AFTER).bind(after);
    let Some(row) = session.first(query).await? else { return Ok(None) };
    let problem = match stream_problem(session, &row).await {
        Err(Fault::Corrupt(problem, _)) => Some(problem.to_owned()),
        found => found?,
    };
    if let Some(problem) = problem {
        let about = format!("stream {}", shown(&row, 1)?);
        report.findings.push(Finding::new(chat_of(&row, 15)?.as_ref(), about, problem));
    }
    report.streams += 1;
    Ok(Some(row.try_get(0)?))
}

async fn stream_problem(session: &mut Session<'_>, row: &PgRow) -> Result<Option<String>> {
    let stream = streams::stream_of(row)?;
    let (chunks, bytes, end): (i64, i64, i64) =
        (row.try_get(17)?, row.try_get(18)?, row.try_get(19)?);
    let mark = row.try_get::<Option<&[u8]>, _>(21)?;
    if mark != Some(&seals::stream_mark(&stream.id, row.try_get(20)?)[..]) {
        return Ok(Some("is not of the chat it was made in".to_owned()));
    }
    if chunks != end {
        return Ok(Some("there is a gap between its chunks".to_owned()));
    }
    let mut from = 0;
    while from < end {
        let query =
            session.query(streams_sql::STORED_STREAM_CHUNKS).bind(row.try_get::<i64, _>(0)?);
        let rows = session.all(query.bind(from).bind(from + AT_ONCE)).await?;
        for (n, row) in (from..).zip(rows) {
            streams::chunk(&stream.id, n, row, 0)?;
        }
        from += AT_ONCE;
    }
    Ok(stream.fault(count(chunks)?, count(bytes)?))
}

fn chat_of(row: &PgRow, column: usize) -> Result<Option<ChatRef>> {
    if row.try_get::<Option<&[u8]>, _>(column)?.is_none() {
        return Ok(None);
    }
    Ok(Some(ChatRef::new(&*shown(row, column)?, &*shown(row, column + 1)?)))
}

fn blob_name(hash: &[u8]) -> String {
    blobs::id_of(hash).map_or_else(|_| "a blob".to_owned(), |id| format!("blob {id}"))
}
