//! Chats: creating, changing, measuring and deleting them.

use context_core::store::{Chat, ChatPatch, ChatSize, Created, NewChat};
use context_core::{ChatRef, Error, Timestamp};
use sqlx::Row;

use crate::chat::access::lock_chat;
use crate::chat::rows::{read, sealed, touch, write};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::history::branches::create_branch;
use crate::values::numbers::count;
use crate::{blobs, checksums, sql, streams};

/// The statements that delete the rows of a chat before the chat's own row.
const DELETE_CONTENT: [&str; 5] = [
    sql::FORGET_RUNS_OF,
    sql::FORGET_BOUNDARIES_OF,
    sql::FORGET_WORDS_OF,
    sql::FORGET_NODES_OF,
    sql::FORGET_BRANCHES_OF,
];

pub(crate) async fn create(session: &mut Session<'_>, new: NewChat) -> Result<Created> {
    let chat = Chat::new(new);
    loop {
        let insert = session
            .query(sql::CREATE_CHAT)
            .bind(chat.chat.user.as_str().as_bytes())
            .bind(chat.chat.chat.as_str().as_bytes())
            .bind(chat.title.as_ref().map(|title| title.as_bytes()))
            .bind(sealed(&chat)?)
            .bind(chat.active.as_str().as_bytes())
            .bind(chat.created_at.as_micros())
            .bind(checksums::active(&chat.chat, chat.active.as_str()));
        if let Some(row) = session.first(insert).await? {
            create_branch(session, row.try_get(0)?, &chat.active, None, 0, None, chat.created_at)
                .await?;
            return Ok(Created::New(chat));
        }
        // The chat exists, unless it has just been deleted.
        if let Some((_, found)) = read(session, &chat.chat).await? {
            return Ok(Created::Existing(found));
        }
    }
}

pub(crate) async fn update(
    session: &mut Session<'_>,
    chat: &ChatRef,
    patch: &ChatPatch,
    at: Timestamp,
) -> Result<Chat> {
    const OPERATION: &str = "update_chat";
    lock_chat(session, OPERATION, chat).await?;
    let found = read(session, chat).await?;
    let (no, mut found) = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    patch.apply(&mut found)?;
    write(session, no, &found).await?;
    touch(session, no, at).await?;
    found.updated_at = found.updated_at.max(at);
    Ok(found)
}

/// Deletes a chat, unless it was written to after `idle_since`.
pub(crate) async fn delete(
    session: &mut Session<'_>,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
) -> Result<bool> {
    match lock_chat(session, "delete_chat", chat).await {
        Err(Fault::Public(error)) if error.is_not_found() => return Ok(false),
        locked => locked?,
    };
    let Some((no, found)) = read(session, chat).await? else { return Ok(false) };
    if idle_since.is_some_and(|since| found.updated_at > since) {
        return Ok(false);
    }
    blobs::forget_chat(session, &chat.user, no).await?;
    streams::forget_chat(session, no).await?;
    for statement in DELETE_CONTENT {
        let forget = session.query(statement).bind(no);
        session.execute(forget).await?;
    }
    let delete = session.query(sql::DELETE_CHAT).bind(no);
    session.execute(delete).await?;
    Ok(true)
}

pub(crate) async fn size(session: &mut Session<'_>, chat: &ChatRef) -> Result<ChatSize> {
    let query = session.query(sql::CHAT_SIZE);
    let query = query.bind(chat.user.as_str().as_bytes()).bind(chat.chat.as_str().as_bytes());
    let row = session.first(query).await?;
    let row = row.ok_or_else(|| Error::not_found("chat_size", "chat", &chat.chat))?;
    let (messages, runs, revisions): (i64, i64, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(ChatSize::new(count(messages)?, count(runs)? + count(revisions)?))
}
