//! Checkpoints: named places in a chat.

use context_core::{ChatRef, Checkpoint, CheckpointName, Error, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::Result;
use crate::messages::find;
use crate::place::branch_of;
use crate::pool::Session;
use crate::rows::text;
use crate::scope::{chat_no, lock_chat};
use crate::{chat_rows, prune, sql};

pub(crate) async fn set(
    session: &mut Session<'_>,
    chat: &ChatRef,
    checkpoint: Checkpoint,
) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let no = lock_chat(session, OPERATION, chat).await?;
    if find(session, no, std::iter::once(&checkpoint.message)).await?.is_empty() {
        return Err(Error::not_found(OPERATION, "message", &checkpoint.message).into());
    }
    let before = branch_at(session, no, &checkpoint.name).await?;
    let set = session.query(sql::SET_CHECKPOINT).bind(no).bind(checkpoint.name.as_str().as_bytes());
    let set = set.bind(checkpoint.message.as_str().as_bytes()).bind(checkpoint.created_at.as_micros());
    session.execute(set).await?;
    chat_rows::touch(session, no, checkpoint.created_at).await?;
    if let Some(before) = before {
        prune::prune(session, no, before).await?;
    }
    Ok(checkpoint)
}

pub(crate) async fn list(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Vec<Checkpoint>> {
    let no = chat_no(session, operation, chat).await?;
    let query = session.query(sql::CHECKPOINTS).bind(no);
    let rows = session.all(query).await?;
    let checkpoint = |row: &PgRow| {
        let (name, message) = (text(row, 0)?, text(row, 1)?);
        Ok(Checkpoint::new(name.into(), message.into(), Timestamp::from_micros(row.try_get(2)?)))
    };
    rows.iter().map(checkpoint).collect()
}

pub(crate) async fn delete(session: &mut Session<'_>, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
    let no = lock_chat(session, "delete_checkpoint", chat).await?;
    let before = branch_at(session, no, name).await?;
    let delete = session.query(sql::DELETE_CHECKPOINT).bind(no).bind(name.as_str().as_bytes());
    let deleted = session.execute(delete).await? > 0;
    if let Some(before) = before {
        prune::prune(session, no, before).await?;
    }
    Ok(deleted)
}

/// The branch that owns the message a checkpoint points at, if there is such a checkpoint.
async fn branch_at(session: &mut Session<'_>, chat: i64, name: &CheckpointName) -> Result<Option<i64>> {
    let query = session.query(sql::CHECKPOINT).bind(chat).bind(name.as_str().as_bytes());
    let row = session.first(query).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.map(branch_of))
}
