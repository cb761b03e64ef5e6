//! Checkpoints: named places in a chat.

use context_core::base::CheckpointName;
use context_core::store::{Checkpoint, RefChange};
use context_core::{ChatRef, Error, MessageId, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::chat::tails;
use crate::checksums::CHECKPOINT;
use crate::connections::Writer;
use crate::counts::{ChatCount, ListPart};
use crate::error::Result;
use crate::history::messages::find;
use crate::history::{prune, ref_log};
use crate::values::numbers::count;
use crate::values::place::branch_of;
use crate::{chat, sql};

pub(crate) async fn set(
    writer: &mut Writer,
    chat: &ChatRef,
    checkpoint: Checkpoint,
) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let full_text = writer.full_text;
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, OPERATION, chat).await?;
    tails::fold(&mut transaction, no).await?;
    if find(&mut transaction, no, std::iter::once(&checkpoint.message)).await?.is_empty() {
        return Err(Error::not_found(OPERATION, "message", &checkpoint.message).into());
    }
    let before = position(&mut transaction, no, &checkpoint.name).await?;
    let set = sqlx::query(sql::SET_CHECKPOINT).bind(no).bind(checkpoint.name.as_str());
    let set = set.bind(checkpoint.message.as_str()).bind(checkpoint.created_at.as_micros());
    set.execute(&mut *transaction).await?;
    let named = [("chat", no.into()), ("name", checkpoint.name.as_str().into())];
    CHECKPOINT.seal(&mut transaction, &named).await?;
    chat::rows::touch(&mut transaction, no, checkpoint.created_at).await?;
    let (branch, from) = before.unzip();
    if from.as_ref() != Some(&checkpoint.message) {
        let messages = match branch {
            Some(branch) => count(prune::prune(&mut transaction, no, branch, full_text).await?)?,
            None => 0,
        };
        let (name, to) = (checkpoint.name.clone(), checkpoint.message.clone());
        let change = RefChange::CheckpointSet { checkpoint: name, from, to, messages };
        ref_log::add(&mut transaction, no, checkpoint.created_at, &[change]).await?;
    }
    transaction.commit().await?;
    Ok(checkpoint)
}

pub(crate) async fn list(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Vec<Checkpoint>> {
    let mut transaction = connection.begin().await?;
    let no = chat_no(&mut transaction, operation, chat).await?;
    let rows = sqlx::query(sql::CHECKPOINTS).bind(no).fetch_all(&mut *transaction).await?;
    ChatCount::Checkpoints.compare(&mut transaction, no, ListPart::All(rows.len())).await?;
    transaction.commit().await?;
    let checkpoint = |row: &SqliteRow| {
        CHECKPOINT.check(row, 0)?;
        let (name, message): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
        Ok(Checkpoint::new(name.into(), message.into(), Timestamp::from_micros(row.try_get(3)?)))
    };
    rows.iter().map(checkpoint).collect()
}

pub(crate) async fn delete(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &CheckpointName,
    at: Timestamp,
) -> Result<bool> {
    let full_text = writer.full_text;
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, "delete_checkpoint", chat).await?;
    tails::fold(&mut transaction, no).await?;
    let before = position(&mut transaction, no, name).await?;
    let delete = sqlx::query(sql::DELETE_CHECKPOINT).bind(no).bind(name.as_str());
    let deleted = delete.execute(&mut *transaction).await?.rows_affected() > 0;
    if let Some((branch, from)) = before {
        let messages = count(prune::prune(&mut transaction, no, branch, full_text).await?)?;
        let change = RefChange::CheckpointDeleted { checkpoint: name.clone(), from, messages };
        ref_log::add(&mut transaction, no, at, &[change]).await?;
    }
    chat::rows::touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    Ok(deleted)
}

/// Returns the message that a checkpoint points to, and the branch that owns the message, if the
/// checkpoint exists.
async fn position(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &CheckpointName,
) -> Result<Option<(i64, MessageId)>> {
    let query = sqlx::query(sql::CHECKPOINT).bind(chat).bind(name.as_str());
    let Some(row) = query.fetch_all(connection).await?.pop() else { return Ok(None) };
    Ok(Some((branch_of(row.try_get(0)?), MessageId::from(row.try_get::<&str, _>(1)?))))
}
