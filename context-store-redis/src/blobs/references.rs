//! References of chats to blobs, as far as creating and deleting chats needs them. The layout is
//! described in [`blobs`](crate::blobs).

use context_core::{ChatRef, UserId};

use crate::chat::entries::user_call;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::keys::Keys;
use crate::scripts::{BLOB_FORGET, BLOBS_CLEAR};

/// Returns the name of a holder of references: a chat, by its name and number.
pub(crate) fn holder(chat: &str, number: u64) -> String {
    format!("{}.{number}", Keys::name_of(chat))
}

/// Removes the references of earlier chats of the name, now that the chat with this number exists.
pub(crate) async fn forget_earlier(shared: &Shared, chat: &ChatRef, number: u64) -> Result<()> {
    let mut call = user_call(shared, &BLOB_FORGET, &chat.user);
    call.arg(Keys::name_of(chat.chat.as_str())).arg(holder(chat.chat.as_str(), number));
    let _dropped: u64 = shared.connection.call(&call).await?;
    Ok(())
}

/// Removes the remaining blob keys of a user who has no chats.
pub(crate) async fn clear(shared: &Shared, user: &UserId) -> Result<()> {
    let _cleared: u64 = shared.connection.call(&user_call(shared, &BLOBS_CLEAR, user)).await?;
    Ok(())
}
