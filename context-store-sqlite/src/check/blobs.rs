//! The check of blobs: every byte is read and compared with the id of its blob.

use context_core::base::BlobId;
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatRef};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::values::numbers::count;
use crate::{blobs, sql};

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for row in sqlx::query(sql::STRAY_PIECES).fetch_all(&mut *connection).await? {
        let about = format!("table blob_piece, blob {}", row.try_get::<i64, _>(0)?);
        report.findings.push(Finding::new(None, about, "belongs to no blob"));
    }
    for row in sqlx::query(sql::WRONG_BLOB_REFS).fetch_all(&mut *connection).await? {
        let chat = chat_of(&row, 0)?;
        let about = about(row.try_get(2)?);
        report.findings.push(Finding::new(
            chat.as_ref(),
            about,
            "the chat refers to another blob by this id",
        ));
    }
    let mut after = 0;
    let mut order = KeyOrder::new("check", "blob");
    loop {
        cancel.check("check")?;
        // Each blob is read in a transaction of its own, because others may write during the check.
        let mut transaction = connection.begin().await?;
        let next =
            sqlx::query(sql::BLOB_AFTER).bind(after).fetch_all(&mut *transaction).await?.pop();
        let Some(row) = next else { return Ok(()) };
        after = row.try_get(0)?;
        order.next(after)?;
        let chat = chat_of(&row, 3)?;
        let mut add = |problem| {
            let hash = row.try_get(1)?;
            report.findings.push(Finding::new(chat.as_ref(), about(hash), problem));
            Ok::<_, Fault>(())
        };
        if chat.is_none() {
            add("belongs to no chat")?;
        }
        match problem(&mut transaction, &row).await {
            Ok(None) => {}
            Ok(Some(problem)) | Err(Fault::Corrupt(problem, _)) => add(problem)?,
            Err(fault) => return Err(fault),
        }
        transaction.commit().await?;
        report.blobs += 1;
        cancel.report("blob", report.blobs);
    }
}

/// Returns the problem with the bytes of a blob, if there is one.
async fn problem(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
) -> Result<Option<&'static str>> {
    let id = blobs::id_of(row.try_get(1)?)?;
    let (size, pieces): (i64, i64) = (row.try_get(2)?, row.try_get(5)?);
    let bytes = blobs::bytes(connection, row.try_get(0)?, 0..count(size)?).await?;
    if BlobId::of(&bytes) != id {
        return Ok(Some("its bytes differ from its id"));
    }
    Ok((pieces != blobs::pieces(bytes.len())).then_some("has more bytes than its row states"))
}

fn chat_of(row: &SqliteRow, column: usize) -> Result<Option<ChatRef>> {
    let user: Option<&str> = row.try_get(column)?;
    let chat: Option<&str> = row.try_get(column + 1)?;
    Ok(user.zip(chat).map(|(user, chat)| ChatRef::new(user, chat)))
}

fn about(hash: &[u8]) -> String {
    blobs::id_of(hash).map_or_else(|_| "a blob".to_owned(), |id| format!("blob {id}"))
}
