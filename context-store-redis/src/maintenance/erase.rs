//! Erasing a user: all keys that belong to the user are found by scanning all keys.

use context_core::store::Erasure;
use context_core::{CancelSignal, UserId};
use redis::cmd;

use crate::blobs::references;
use crate::chat::entries::sweep;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::keys::{BLOB_KINDS, Keys};
use crate::scripts::DELETE;
use crate::{memories, rounds, streams};

pub(crate) async fn erase_user(
    shared: &Shared,
    user: &UserId,
    cancel: &CancelSignal,
) -> Result<Erasure> {
    const OPERATION: &str = "erase_user";
    cancel.check(OPERATION)?;
    let pattern = shared.keys.pattern_of_user(user);
    let list = shared.keys.chats(user);
    let blobs = BLOB_KINDS.map(|kind| shared.keys.of_user(user, kind).into_bytes());
    let memory_keys = shared.keys.memories(user).map(String::into_bytes);
    let round_indexes = shared.keys.round_indexes(user).map(String::into_bytes);
    let mut erasure = Erasure::default();
    let keys = shared.connection.scan(&pattern).await?;
    let rounds = keys.iter().map(|key| &key[..]).filter(|key| shared.keys.is_round(key));
    rounds::erase::erase(shared, user, rounds, cancel, &mut erasure).await?;
    let memories = keys.iter().map(|key| &key[..]).filter(|key| shared.keys.is_memory(key));
    memories::erase::erase(shared, user, memories, cancel, &mut erasure).await?;
    for key in keys {
        cancel.check(OPERATION)?;
        if Keys::is_chat(&key) {
            let streams: Option<Vec<u8>> =
                shared.connection.run(cmd("HGET").arg(&key[..]).arg(streams::fields::LIST)).await?;
            let mut call = DELETE.key(&key[..]);
            call.arg("");
            let deleted: i64 = shared.connection.call(&call).await?;
            if let Ok(messages) = u64::try_from(deleted) {
                erasure.chats += 1;
                erasure.messages += messages;
                cancel.report("message", erasure.messages);
                erasure.streams +=
                    streams::fields::listed(streams.as_deref()).map_or(0, |ids| ids.len() as u64);
            }
        } else if !shared.keys.is_record(&key) || key == list.as_bytes() || blobs.contains(&key) {
            // List entries are removed one by one below, together with their blobs, so that a chat
            // that is created meanwhile keeps its own.
        } else if shared.keys.is_round(&key)
            || shared.keys.is_memory(&key)
            || round_indexes.contains(&key)
            || memory_keys.contains(&key)
        {
            // Everything else is removed, except for what is written meanwhile.
        } else {
            let _gone: u64 = shared.connection.run(cmd("UNLINK").arg(&key[..])).await?;
        }
    }
    let names: Vec<String> = shared.connection.run(cmd("ZRANGE").arg(&list).arg(0).arg(-1)).await?;
    for name in names {
        cancel.check(OPERATION)?;
        erasure.blobs += sweep(shared, user, &name).await?;
    }
    references::clear(shared, user).await?;
    let left = shared.connection.scan(&pattern).await?;
    erasure.remaining = left.iter().filter(|key| shared.keys.is_record(key)).count() as u64;
    Ok(erasure)
}
