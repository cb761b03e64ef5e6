//! Entries of chats in the list of their user, and the removal of stale ones.
//!
//! The list is in another slot than the chats, together with the blobs of the user. An entry of a
//! chat that does not exist is stale, and is removed together with the references of the chat to
//! blobs.

use context_core::{ChatRef, UserId};
use redis::{Cmd, Script, ScriptInvocation, cmd};

use crate::connections::shared::Shared;
use crate::error::Result;
use crate::keys::{BLOB_KINDS, Keys};
use crate::scripts::{ABSENT, UNLIST};

/// The lifetime of the mark of a removed entry, in milliseconds. It is far longer than a creation
/// can take.
const MARK: u64 = 3_600_000;

/// Removes a chat that does not exist from the list of its user. Returns how many blobs were
/// removed with it.
pub(crate) async fn sweep(shared: &Shared, user: &UserId, chat: &str) -> Result<u64> {
    let list = shared.keys.chats(user);
    let number: Option<String> = shared.connection.run(cmd("ZSCORE").arg(&list).arg(chat)).await?;
    let Some(number) = number else { return Ok(0) };
    let chat_ref = ChatRef::new(user.clone(), chat);
    let mut call = ABSENT.key(shared.keys.chat(&chat_ref));
    call.key(shared.keys.swept(&chat_ref)).arg(&number).arg(MARK);
    match shared.connection.call::<u8>(&call).await? {
        1 => unlist(shared, user, chat, &number).await,
        _ => Ok(0),
    }
}

/// The number of entries that a creation checks, if chats expire.
const SAMPLE: usize = 8;

/// Removes all stale entries of a user.
pub(crate) async fn sweep_all(shared: &Shared, user: &UserId) -> Result<()> {
    sweep_those(shared, user, cmd("ZRANGE").arg(shared.keys.chats(user)).arg(0).arg(-1)).await
}

/// Removes stale entries among a few random ones of a user. The list of a user who creates expiring
/// chats without ever listing them then stays about as long as the number of chats.
pub(crate) async fn sweep_some(shared: &Shared, user: &UserId) -> Result<()> {
    sweep_those(shared, user, cmd("ZRANDMEMBER").arg(shared.keys.chats(user)).arg(SAMPLE)).await
}

/// Removes those of these entries that have no chat.
async fn sweep_those(shared: &Shared, user: &UserId, entries: &Cmd) -> Result<()> {
    let names: Vec<String> = shared.connection.run(entries).await?;
    let key = |name: &String| shared.keys.chat(&ChatRef::new(user.clone(), name.as_str()));
    let there = shared.connection.fields_of_all(names.iter().map(key).collect(), &["o"]).await?;
    for (name, generation) in names.iter().zip(there) {
        if generation.iter().all(Option::is_none) {
            sweep(shared, user, name).await?;
        }
    }
    Ok(())
}

/// Returns a call of a script about the list of a user's chats and their blobs, with its keys: the
/// list, the bytes, the references and their order.
pub(crate) fn user_call<'a>(
    shared: &Shared,
    script: &'a Script,
    user: &UserId,
) -> ScriptInvocation<'a> {
    let mut call = script.prepare_invoke();
    call.key(shared.keys.chats(user));
    for kind in BLOB_KINDS {
        call.key(shared.keys.of_user(user, kind));
    }
    call
}

/// Removes a deleted chat from the list of its user, if its entry still has this number, together
/// with all references of chats of its name. Returns how many blobs were removed.
async fn unlist(shared: &Shared, user: &UserId, chat: &str, number: &str) -> Result<u64> {
    let mut call = user_call(shared, &UNLIST, user);
    call.arg(chat).arg(number).arg(Keys::name_of(chat));
    shared.connection.call(&call).await
}
