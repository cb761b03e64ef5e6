//! Branches: creating, reading, renaming and deleting them.

use context_core::base::limits;
use context_core::store::{Branch, BranchDeletion, RefChange};
use context_core::{BranchName, ChatRef, Error, MessageId, Timestamp};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::chat::access::chat_no;
use crate::chat::branches::{branches_of, find_branch};
use crate::chat::tails;
use crate::checksums::BRANCH;
use crate::connections::Writer;
use crate::error::Result;
use crate::history::{prune, ref_log};
use crate::values::numbers::count;
use crate::{chat, sql};

/// Adds a branch that forks after a place and has no messages of its own yet. Returns its number.
pub(crate) async fn create_branch(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &BranchName,
    parent: Option<i64>,
    base: i64,
    head: Option<&MessageId>,
    at: Timestamp,
) -> Result<i64> {
    let insert = sqlx::query(sql::CREATE_BRANCH)
        .bind(chat)
        .bind(name.as_str())
        .bind(parent)
        .bind(base)
        .bind(head.map(MessageId::as_str))
        .bind(at.as_micros());
    let no = insert.execute(&mut *connection).await?.last_insert_rowid();
    BRANCH.seal(connection, &[("no", no.into())]).await?;
    Ok(no)
}

pub(crate) async fn branches(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
) -> Result<Vec<Branch>> {
    let mut transaction = connection.begin().await?;
    let found = chat::rows::read(&mut transaction, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found("branches", "chat", &chat.chat))?;
    let branches = branches_of(&mut transaction, no, &found.active).await?;
    transaction.commit().await?;
    Ok(branches)
}

pub(crate) async fn activate(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "activate_branch";
    let mut transaction = writer.begin().await?;
    let found = chat::rows::read(&mut transaction, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    if find_branch(&mut transaction, no, name).await?.is_none() {
        return Err(Error::not_found(OPERATION, "branch", name).into());
    }
    if found.active != *name {
        sqlx::query(sql::ACTIVATE).bind(no).bind(name.as_str()).execute(&mut *transaction).await?;
        chat::rows::seal(&mut transaction, no).await?;
        let change = RefChange::BranchActivated { from: found.active, to: name.clone() };
        ref_log::add(&mut transaction, no, at, &[change]).await?;
    }
    chat::rows::touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    Ok(())
}

pub(crate) async fn rename(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &BranchName,
    to: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "rename_branch";
    limits::check_id(OPERATION, "branch", to.as_str())?;
    let mut transaction = writer.begin().await?;
    let no = chat_no(&mut transaction, OPERATION, chat).await?;
    let found = find_branch(&mut transaction, no, name).await?;
    let found = found.ok_or_else(|| Error::not_found(OPERATION, "branch", name))?;
    let renamed = found.branch;
    if name != to && find_branch(&mut transaction, no, to).await?.is_some() {
        return Err(Error::invalid(OPERATION, "another branch has this name")
            .with("branch", to)
            .into());
    }
    sqlx::query(sql::RENAME_BRANCH)
        .bind(renamed)
        .bind(to.as_str())
        .execute(&mut *transaction)
        .await?;
    let active = sqlx::query(sql::RENAME_ACTIVE).bind(no).bind(name.as_str()).bind(to.as_str());
    active.execute(&mut *transaction).await?;
    BRANCH.seal(&mut transaction, &[("no", renamed.into())]).await?;
    chat::rows::seal(&mut transaction, no).await?;
    if name != to {
        let change = RefChange::BranchRenamed { from: name.clone(), to: to.clone() };
        ref_log::add(&mut transaction, no, at, &[change]).await?;
    }
    chat::rows::touch(&mut transaction, no, at).await?;
    transaction.commit().await?;
    writer.branch_ends.forget(&(chat.clone(), name.clone()));
    Ok(())
}

/// Deletes a branch if its head is the expected one. Messages that forks and checkpoints need stay
/// in the branch, which loses its name.
pub(crate) async fn delete(
    writer: &mut Writer,
    chat: &ChatRef,
    name: &BranchName,
    expected: Option<&MessageId>,
    at: Timestamp,
) -> Result<BranchDeletion> {
    const OPERATION: &str = "delete_branch";
    let full_text = writer.full_text;
    let mut transaction = writer.begin().await?;
    let found = chat::rows::read(&mut transaction, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    let deleted = find_branch(&mut transaction, no, name).await?;
    let deleted = deleted.ok_or_else(|| Error::not_found(OPERATION, "branch", name))?;
    let (deleted, head) = (deleted.branch, deleted.head);
    if head.as_ref() != expected {
        return Ok(BranchDeletion::Conflict { actual: head });
    }
    if found.active == *name {
        let message = "the active branch cannot be deleted; make another one active first";
        return Err(Error::invalid(OPERATION, message).with("branch", name).into());
    }
    tails::fold(&mut transaction, no).await?;
    // The branch may hold the time of the chat's last write, so the chat's row is updated first.
    chat::rows::touch(&mut transaction, no, at).await?;
    sqlx::query(sql::UNNAME_BRANCH).bind(deleted).execute(&mut *transaction).await?;
    BRANCH.seal(&mut transaction, &[("no", deleted.into())]).await?;
    let messages = count(prune::prune(&mut transaction, no, deleted, full_text).await?)?;
    let change = RefChange::BranchDeleted { branch: name.clone(), head, messages };
    ref_log::add(&mut transaction, no, at, &[change]).await?;
    transaction.commit().await?;
    writer.branch_ends.forget(&(chat.clone(), name.clone()));
    Ok(BranchDeletion::Deleted { messages })
}
