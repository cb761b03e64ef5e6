//! Checkpoints: named places in a chat.

use context_core::base::CheckpointName;
use context_core::store::Checkpoint;
use context_core::{ChatRef, Error, Timestamp};
use sqlx::Row;

use crate::chat::access::{lock_chat, of_chat, rows_of_chat};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::history::messages::find;
use crate::values::place::branch_of;
use crate::values::rows::optional_text;
use crate::{chat::rows as chat_rows, checksums, history::prune, sql};

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
    let before = branch_of_checkpoint(session, no, &checkpoint.name).await?;
    let set = session.query(sql::SET_CHECKPOINT).bind(no).bind(checkpoint.name.as_str().as_bytes());
    let set =
        set.bind(checkpoint.message.as_str().as_bytes()).bind(checkpoint.created_at.as_micros());
    let set = set.bind(checksums::checkpoint(&checkpoint));
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
    let query = of_chat(session, sql::CHECKPOINTS, chat);
    let rows = rows_of_chat(session, operation, chat, query).await?;
    let mut checkpoints = Vec::with_capacity(rows.len());
    for row in &rows {
        let (Some(name), Some(message)) = (optional_text(row, 0)?, optional_text(row, 1)?) else {
            continue;
        };
        let created_at = Timestamp::from_micros(row.try_get(2)?);
        let checkpoint = Checkpoint::new(name.into(), message.into(), created_at);
        if checksums::checkpoint(&checkpoint) != row.try_get::<i64, _>(3)? {
            return Err(Fault::Corrupt("the checksum of a checkpoint does not match", None));
        }
        checkpoints.push(checkpoint);
    }
    Ok(checkpoints)
}

pub(crate) async fn delete(
    session: &mut Session<'_>,
    chat: &ChatRef,
    name: &CheckpointName,
) -> Result<bool> {
    let no = lock_chat(session, "delete_checkpoint", chat).await?;
    let before = branch_of_checkpoint(session, no, name).await?;
    let delete = session.query(sql::DELETE_CHECKPOINT).bind(no).bind(name.as_str().as_bytes());
    let deleted = session.execute(delete).await? > 0;
    if let Some(before) = before {
        prune::prune(session, no, before).await?;
    }
    Ok(deleted)
}

/// Returns the branch that owns the message a checkpoint points to, if the checkpoint exists.
async fn branch_of_checkpoint(
    session: &mut Session<'_>,
    chat: i64,
    name: &CheckpointName,
) -> Result<Option<i64>> {
    let query = session.query(sql::CHECKPOINT).bind(chat).bind(name.as_str().as_bytes());
    let row = session.first(query).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.map(branch_of))
}
