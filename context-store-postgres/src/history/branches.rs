//! Branches: creating, reading, renaming and deleting them.

use context_core::base::limits;
use context_core::store::{Branch, BranchDeletion, RefChange};
use context_core::{BranchName, ChatRef, Error, MessageId, Timestamp};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{lock_chat, of_chat, rows_of_chat};
use crate::chat::branches::{branch_from, find_branch};
use crate::connections::Session;
use crate::error::Result;
use crate::history::{prune, ref_log};
use crate::values::numbers::count;
use crate::values::rows::text;
use crate::{chat::rows as chat_rows, checksums, sql};

/// Adds a branch that forks after a place and has no messages of its own yet. Returns its number.
pub(crate) async fn create_branch(
    session: &mut Session<'_>,
    chat: i64,
    name: &BranchName,
    parent: Option<i64>,
    base: i64,
    head: Option<&MessageId>,
    at: Timestamp,
) -> Result<i64> {
    let insert = session
        .query(sql::CREATE_BRANCH)
        .bind(chat)
        .bind(name.as_str().as_bytes())
        .bind(parent)
        .bind(base)
        .bind(head.map(|head| head.as_str().as_bytes()))
        .bind(at.as_micros())
        .bind(checksums::branch(chat, Some(name.as_str()), (parent, base), at));
    Ok(session.only(insert).await?.try_get(0)?)
}

pub(crate) async fn branches(session: &mut Session<'_>, chat: &ChatRef) -> Result<Vec<Branch>> {
    let query = of_chat(session, sql::BRANCHES_OF, chat);
    let rows = rows_of_chat(session, "branches", chat, query).await?;
    let branch = |row: &PgRow| {
        let active = text(row, 9)?;
        chat_rows::check_active(chat, active, row.try_get(10)?)?;
        branch_from(row, &BranchName::from(active))
    };
    rows.iter().map(branch).collect()
}

pub(crate) async fn activate(
    session: &mut Session<'_>,
    chat: &ChatRef,
    name: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "activate_branch";
    lock_chat(session, OPERATION, chat).await?;
    let found = chat_rows::read(session, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    if find_branch(session, no, name).await?.is_none() {
        return Err(Error::not_found(OPERATION, "branch", name).into());
    }
    if found.active != *name {
        chat_rows::activate(session, (no, chat), name).await?;
        let change = RefChange::BranchActivated { from: found.active, to: name.clone() };
        ref_log::add(session, no, at, &[change]).await?;
    }
    chat_rows::touch(session, no, at).await
}

pub(crate) async fn rename(
    session: &mut Session<'_>,
    chat: &ChatRef,
    name: &BranchName,
    to: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "rename_branch";
    limits::check_id(OPERATION, "branch", to.as_str())?;
    let no = lock_chat(session, OPERATION, chat).await?;
    let found = find_branch(session, no, name).await?;
    let (renamed, ..) = found.ok_or_else(|| Error::not_found(OPERATION, "branch", name))?;
    if name != to && find_branch(session, no, to).await?.is_some() {
        return Err(Error::invalid(OPERATION, "another branch has this name")
            .with("branch", to)
            .into());
    }
    let rename = session.query(sql::RENAME_BRANCH).bind(renamed).bind(to.as_str().as_bytes());
    session.execute(rename.bind(checksums::branch_name(no, Some(to.as_str())))).await?;
    let active = session.query(sql::RENAME_ACTIVE).bind(no);
    let active = active.bind(name.as_str().as_bytes()).bind(to.as_str().as_bytes());
    session.execute(active.bind(checksums::active(chat, to.as_str()))).await?;
    if name != to {
        let change = RefChange::BranchRenamed { from: name.clone(), to: to.clone() };
        ref_log::add(session, no, at, &[change]).await?;
    }
    chat_rows::touch(session, no, at).await
}

/// Deletes a branch if its head is the expected one. Messages that forks and checkpoints need stay
/// in the branch, which loses its name.
pub(crate) async fn delete(
    session: &mut Session<'_>,
    chat: &ChatRef,
    name: &BranchName,
    expected: Option<&MessageId>,
    at: Timestamp,
) -> Result<BranchDeletion> {
    const OPERATION: &str = "delete_branch";
    lock_chat(session, OPERATION, chat).await?;
    let found = chat_rows::read(session, chat).await?;
    let (no, found) = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    let deleted = find_branch(session, no, name).await?;
    let (deleted, _, head) = deleted.ok_or_else(|| Error::not_found(OPERATION, "branch", name))?;
    if head.as_ref() != expected {
        return Ok(BranchDeletion::Conflict { actual: head });
    }
    if found.active == *name {
        let message = "the active branch cannot be deleted; make another one active first";
        return Err(Error::invalid(OPERATION, message).with("branch", name).into());
    }
    chat_rows::touch(session, no, at).await?;
    let unname = session.query(sql::UNNAME_BRANCH).bind(deleted);
    session.execute(unname.bind(checksums::branch_name(no, None))).await?;
    let messages = count(prune::prune(session, no, deleted).await?)?;
    let change = RefChange::BranchDeleted { branch: name.clone(), head, messages };
    ref_log::add(session, no, at, &[change]).await?;
    Ok(BranchDeletion::Deleted { messages })
}
