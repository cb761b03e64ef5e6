//! References of chats to blobs, as far as those who create and delete chats have to do with them.
//! How they are kept, [`blobs`](crate::blobs) says.

use context_core::{ChatRef, UserId};
use redis::{Script, ScriptInvocation};

use crate::error::Result;
use crate::keys::{BLOBS, Keys, REFERENCES};
use crate::scripts::{BLOB_FORGET, BLOBS_CLEAR, UNLIST};
use crate::shared::Shared;

/// The bytes, the references and their order: kinds of keys of a user.
pub(crate) const KINDS: [&str; 3] = [BLOBS, REFERENCES, "referred"];

/// A script about a user's blobs, with its keys: the list of chats, and those of [`KINDS`].
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

/// What refers to blobs: a chat, by its name and number.
pub(crate) fn holder(chat: &str, number: u64) -> String {
    format!("{}.{number}", Keys::name_of(chat))
}

/// Drops what earlier chats of the name have left behind, now that the one with this number is
/// there.
pub(crate) async fn forget_earlier(shared: &Shared, chat: &ChatRef, number: u64) -> Result<()> {
    let mut call = of_user(shared, &BLOB_FORGET, &chat.user);
    call.arg(Keys::name_of(chat.chat.as_str())).arg(holder(chat.chat.as_str(), number));
    let _dropped: u64 = shared.connection.call(&call).await?;
    Ok(())
}

/// Takes a chat that is gone from the list of its user, if its entry still has this number, with
/// all that chats of its name refer to. Says how many blobs went.
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

/// Removes what is left of the blobs of a user who has no chats.
pub(crate) async fn clear(shared: &Shared, user: &UserId) -> Result<()> {
    let _cleared: u64 = shared.connection.call(&of_user(shared, &BLOBS_CLEAR, user)).await?;
    Ok(())
}
