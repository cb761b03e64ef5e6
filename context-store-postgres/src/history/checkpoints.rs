//! Checkpoints: named places in a chat.

use context_core::base::CheckpointName;
use context_core::store::{Checkpoint, RefChange};
use context_core::{ChatRef, Error, MessageId, Timestamp};
use sqlx::Row;

use crate::chat::access::{lock_chat, of_chat, rows_of_chat};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::history::messages::find;
use crate::history::{prune, ref_log};
use crate::values::numbers::count;
use crate::values::place::branch_of;
use crate::values::rows::{optional_text, text};
use crate::{chat::rows as chat_rows, checksums, sql};

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
    let before = position(session, no, &checkpoint.name).await?;
    let set = session.query(sql::SET_CHECKPOINT).bind(no).bind(checkpoint.name.as_str().as_bytes());
    let set =
        set.bind(checkpoint.message.as_str().as_bytes()).bind(checkpoint.created_at.as_micros());
    let set = set.bind(checksums::checkpoint(&checkpoint));
    session.execute(set).await?;
    chat_rows::touch(session, no, checkpoint.created_at).await?;
    let (branch, from) = before.unzip();
    if from.as_ref() != Some(&checkpoint.message) {
        let messages = match branch {
            Some(branch) => count(prune::prune(session, no, branch).await?)?,
            None => 0,
        };
        let (name, to) = (checkpoint.name.clone(), checkpoint.message.clone());
        let change = RefChange::CheckpointSet { checkpoint: name, from, to, messages };
        ref_log::add(session, no, checkpoint.created_at, &[change]).await?;
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
    at: Timestamp,
) -> Result<bool> {
    let no = lock_chat(session, "delete_checkpoint", chat).await?;
    let before = position(session, no, name).await?;
    let delete = session.query(sql::DELETE_CHECKPOINT).bind(no).bind(name.as_str().as_bytes());
    let deleted = session.execute(delete).await? > 0;
    if let Some((branch, from)) = before {
        let messages = count(prune::prune(session, no, branch).await?)?;
        let change = RefChange::CheckpointDeleted { checkpoint: name.clone(), from, messages };
        ref_log::add(session, no, at, &[change]).await?;
    }
    chat_rows::touch(session, no, at).await?;
    Ok(deleted)
}

/// Returns the message that a checkpoint points to, and the branch that owns the message, if the
/// checkpoint exists.
async fn position(
    session: &mut Session<'_>,
    chat: i64,
    name: &CheckpointName,
) -> Result<Option<(i64, MessageId)>> {
    let query = session.query(sql::CHECKPOINT).bind(chat).bind(name.as_str().as_bytes());
    let Some(row) = session.first(query).await? else { return Ok(None) };
    Ok(Some((branch_of(row.try_get(0)?), MessageId::from(text(&row, 1)?))))
}
