//! Chats: creating, reading, changing, measuring and deleting them, and the list of a user's chats.
//!
//! The list is in another slot than the chats, and no script reaches both. An entry is therefore
//! written before its chat, so a chat is never without an entry. An entry without a chat is
//! ignored, and a call that finds one removes it. A mark in the slot of the chat protects a
//! concurrent creation: entries have numbers, and a creation with a number up to the marked one
//! fails and starts again with a new number.

use context_core::store::{Chat, ChatPatch, ChatSize, ChatSummary, Created, NewChat};
use context_core::{ChatRef, Timestamp};
use redis::cmd;

use crate::blobs::references::forget_earlier;
use crate::chat::change::ChatChange;
use crate::chat::entries::{sweep, sweep_some};
use crate::chat::fields::{self, ChatCounts, Generation, Tip};
use crate::chat::snapshot::{ChatHeader, ChatSnapshot, chat_not_found};
use crate::chat::tree::BranchTree;
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::scripts::{CREATE, DELETE};
use crate::values::{self, unreadable};

/// The fields of a chat that a listing shows.
pub(crate) const SUMMARY: [&str; 3] = ["m", "s", "a"];

/// Reads a chat from the fields of [`SUMMARY`]. Returns `None` if the chat does not exist.
pub(crate) fn summary(values: Vec<Option<Vec<u8>>>) -> Result<Option<ChatSummary>> {
    let [Some(about), Some(tree), Some(counts)] = &values[..] else { return Ok(None) };
    let (tree, counts) = (BranchTree::read(tree)?, ChatCounts::read(counts)?);
    let chat = ChatHeader::read(about)?.chat(tree.active.clone(), counts.updated_at);
    Ok(Some(ChatSummary::new(chat, counts.messages, tree.named().count() as u64)))
}

pub(crate) async fn find(shared: &Shared, chat: &ChatRef) -> Result<Option<Chat>> {
    let values =
        shared.connection.run(cmd("HMGET").arg(shared.keys.chat(chat)).arg(&SUMMARY)).await?;
    Ok(summary(values)?.map(|summary| summary.chat))
}

pub(crate) async fn create(shared: &Shared, new: NewChat) -> Result<Created> {
    let (key, swept) = (shared.keys.chat(&new.chat), shared.keys.swept(&new.chat));
    let (list, name) = (shared.keys.chats(&new.chat.user), new.chat.chat.clone());
    let chat = Chat::new(new);
    for attempt in 0..ATTEMPTS {
        if let Some(existing) = find(shared, &chat.chat).await? {
            return Ok(Created::Existing(existing));
        }
        if attempt == 0 && shared.ttl > 0 {
            sweep_some(shared, &chat.chat.user).await?;
        }
        let number: u64 =
            shared.connection.run(cmd("INCR").arg(shared.keys.of_store("created"))).await?;
        // The number never decreases, because references to blobs require that the entry is no
        // older than the chat.
        let entry = cmd("ZADD").arg(&list).arg("GT").arg(number).arg(name.as_str()).clone();
        let added: u8 = shared.connection.run(&entry).await?;
        let mut call = CREATE.key(&key);
        call.key(&swept).arg(number).arg(shared.ttl);
        for (field, value) in fields_of(&chat, number)? {
            call.arg(field).arg(value);
        }
        if shared.connection.call::<u8>(&call).await? == 1 {
            if added == 0 {
                forget_earlier(shared, &chat.chat, number).await?;
            }
            return Ok(Created::New(chat));
        }
    }
    Err(Fault::Contended)
}

/// Returns the fields of a new chat.
fn fields_of(chat: &Chat, number: u64) -> Result<[(String, Vec<u8>); 7]> {
    let tree = BranchTree::new(chat.active.clone(), chat.created_at);
    let [main] = &tree.pieces[..] else { return Err(unreadable()) };
    let tip = Tip { piece: main.no, own: 0, head: None };
    Ok([
        ("v".to_owned(), checksums::summed("v", &format!("0.{number}"))),
        ("a".to_owned(), ChatCounts { messages: 0, bytes: 0, updated_at: chat.updated_at }.write()),
        ("o".to_owned(), Generation { number, changes: 0 }.write()),
        ("m".to_owned(), ChatHeader::of(chat).write()?),
        ("s".to_owned(), tree.write()?),
        (fields::branch(chat.active.as_str()), tip.write()),
        (fields::piece(main.no), main.write()),
    ])
}

pub(crate) async fn update(
    shared: &Shared,
    chat: &ChatRef,
    patch: &ChatPatch,
    at: Timestamp,
) -> Result<Chat> {
    let decide = |snapshot: &ChatSnapshot| {
        let mut patched = snapshot.chat.clone();
        patch.apply(&mut patched)?;
        patched.updated_at = patched.updated_at.max(at);
        let mut change = ChatChange::at(at);
        change.set("m", ChatHeader::of(&patched).write()?);
        Ok((Some(change), patched))
    };
    shared.change("update_chat", chat, &[], decide).await
}

/// Deletes a chat, unless it was written to after `idle_since`. Returns how many messages it had.
pub(crate) async fn delete(
    shared: &Shared,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
) -> Result<Option<u64>> {
    let mut call = DELETE.key(shared.keys.chat(chat));
    call.arg(idle_since.map(values::time).unwrap_or_default());
    let deleted: i64 = shared.connection.call(&call).await?;
    let Ok(messages) = u64::try_from(deleted) else { return Ok(None) };
    sweep(shared, &chat.user, chat.chat.as_str()).await?;
    Ok(Some(messages))
}

pub(crate) async fn size(shared: &Shared, chat: &ChatRef) -> Result<ChatSize> {
    let counts: Option<Vec<u8>> =
        shared.connection.run(cmd("HGET").arg(shared.keys.chat(chat)).arg("a")).await?;
    let counts = ChatCounts::read(&counts.ok_or_else(|| chat_not_found("chat_size", chat))?)?;
    Ok(ChatSize::new(counts.messages, counts.bytes))
}
