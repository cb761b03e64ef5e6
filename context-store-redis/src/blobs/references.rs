//! References of chats to blobs, as far as creating and deleting chats needs them. The layout is
//! described in [`blobs`](crate::blobs).

use context_core::{ChatRef, UserId};
use redis::{Script, ScriptInvocation};

use crate::error::Result;
use crate::keys::{BLOBS, Keys, REFERENCES};
use crate::scripts::{BLOB_FORGET, BLOBS_CLEAR, UNLIST};
use crate::shared::Shared;

/// The kinds of a user's keys for blobs: the bytes, the references and their order.
pub(crate) const KINDS: [&str; 3] = [BLOBS, REFERENCES, "referred"];

/// Returns a call of a script about a user's blobs, with its keys: the list of chats, and those of
/// [`KINDS`].
pub(crate) fn of_user<'a>(
    shared: &Shared,
    script: &'a Script,
    user: &UserId,
) -> ScriptInvocation<'a> {
    let mut call = script.prepare_invoke();
    call.key(shared.keys.chats(user));
    for kind in KINDS {
        call.key(shared.keys.of_user(user, kind));
    }
    call
}

/// Returns the name of a holder of references: a chat, by its name and number.
pub(crate) fn holder(chat: &str, number: u64) -> String {
    format!("{}.{number}", Keys::name_of(chat))
}

/// Removes the references of earlier chats of the name, now that the chat with this number exists.
pub(crate) async fn forget_earlier(shared: &Shared, chat: &ChatRef, number: u64) -> Result<()> {
    let mut call = of_user(shared, &BLOB_FORGET, &chat.user);
    call.arg(Keys::name_of(chat.chat.as_str())).arg(holder(chat.chat.as_str(), number));
    let _dropped: u64 = shared.connection.call(&call).await?;
    Ok(())
}

/// Removes a deleted chat from the list of its user, if its entry still has this number, together
/// with all references of chats of its name. Returns how many blobs were removed.
pub(crate) async fn unlist(
    shared: &Shared,
    user: &UserId,
    chat: &str,
    number: &str,
) -> Result<u64> {
    let mut call = of_user(shared, &UNLIST, user);
    call.arg(chat).arg(number).arg(Keys::name_of(chat));
    shared.connection.call(&call).await
}

/// Removes the remaining blob keys of a user who has no chats.
pub(crate) async fn clear(shared: &Shared, user: &UserId) -> Result<()> {
    let _cleared: u64 = shared.connection.call(&of_user(shared, &BLOBS_CLEAR, user)).await?;
    Ok(())
}
