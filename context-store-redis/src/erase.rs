//! Erasing a user: everything whose key says that it is theirs, found by looking at all keys.

use context_core::{CancelSignal, Erasure, UserId};
use redis::cmd;

use crate::chats::sweep;
use crate::error::Result;
use crate::keys::Keys;
use crate::scripts::DELETE;
use crate::shared::Shared;

pub(crate) async fn erase_user(shared: &Shared, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
    const OPERATION: &str = "erase_user";
    cancel.check(OPERATION)?;
    let pattern = shared.keys.pattern_of_user(user);
    let list = shared.keys.chats(user);
    let (mut chats, mut messages) = (0, 0);
    for key in shared.connection.scan(&pattern).await? {
        cancel.check(OPERATION)?;
        if Keys::is_chat(&key) {
            let mut call = DELETE.key(&key[..]);
            call.arg("");
            let deleted: i64 = shared.connection.call(&call).await?;
            chats += u64::from(deleted >= 0);
            messages += u64::try_from(deleted).unwrap_or(0);
        } else if !shared.keys.is_record(&key) || key == list.as_bytes() {
            // Entries go one by one below: a chat that is created meanwhile keeps its own.
        } else {
            let _gone: u64 = shared.connection.run(cmd("UNLINK").arg(&key[..])).await?;
        }
    }
    let names: Vec<String> = shared.connection.run(cmd("ZRANGE").arg(&list).arg(0).arg(-1)).await?;
    for name in names {
        cancel.check(OPERATION)?;
        sweep(shared, user, &name).await?;
    }
    let left = shared.connection.scan(&pattern).await?;
    let remaining = left.iter().filter(|key| shared.keys.is_record(key)).count() as u64;
    Ok(Erasure::new(chats, messages, remaining))
}
