//! The check of blobs: every byte is read and compared with the id of its blob.

use context_core::Timestamp;
use context_core::base::BlobId;
use context_core::store::{CheckReport, Finding};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::blobs;
use crate::check::{RowCheck, chat_of};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::sql::blobs as sql;
use crate::values::numbers::count;
use crate::values::rows::optional_text;

/// The check of the blobs.
pub(crate) struct BlobCheck;

impl RowCheck for BlobCheck {
    const NAME: &'static str = "blob";

    async fn strays(&self, session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
        let query = session.query(sql::STRAY_PIECES);
        for row in session.all(query).await? {
            let about = format!("table blob_piece, blob {}", row.try_get::<i64, _>(0)?);
            report.findings.push(Finding::new(None, about, "belongs to no blob"));
        }
        let query = session.query(sql::WRONG_BLOB_REFS);
        for row in session.all(query).await? {
            let chat = chat_of(&row, 0)?;
            let about = blob_name(row.try_get(2)?);
            let problem = "the chat's reference is to a blob with another id or user";
            report.findings.push(Finding::new(chat.as_ref(), about, problem));
        }
        Ok(())
    }

    async fn next(
        &self,
        session: &mut Session<'_>,
        after: i64,
        report: &mut CheckReport,
    ) -> Result<Option<i64>> {
        let query = session.query(sql::BLOB_AFTER).bind(after);
        let Some(row) = session.first(query).await? else { return Ok(None) };
        let chat = chat_of(&row, 3)?;
        let mut problems = Vec::new();
        if chat.is_none() {
            problems.push("belongs to no chat");
        } else if row.try_get::<i64, _>(6)? != row.try_get::<i64, _>(7)? {
            problems.push("the number of references differs from the stored count");
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
        let query = session.query(sql::BLOB_REFS).bind(no);
        for row in session.all(query).await? {
            if let Err(Fault::Corrupt(problem, _)) = reference(&row) {
                let about = blob_name(row.try_get(2)?);
                report.findings.push(Finding::new(chat_of(&row, 0)?.as_ref(), about, problem));
            }
        }
        report.blobs += 1;
        Ok(Some(no))
    }
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
        return Ok(Some("the bytes do not match the id"));
    }
    Ok((pieces != blobs::pieces(bytes.len())).then_some("has more pieces than its size needs"))
}

fn blob_name(hash: &[u8]) -> String {
    blobs::id_of(hash).map_or_else(|_| "a blob".to_owned(), |id| format!("blob {id}"))
}
