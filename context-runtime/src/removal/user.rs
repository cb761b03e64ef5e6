//! Erasing a user.

use context_core::{Error, ErrorKind, Result, Store, UserId};

use super::{RemovalOptions, RemovalReport};

/// Erases a user: deletes all data of the user from the store, including leftovers in its files as
/// far as the store can clear them. A final search of the whole store
/// [counts](RemovalReport::found) what is still found.
///
/// Returns [`ErrorKind::Unsupported`] if the store does not support maintenance.
pub async fn erase_user(
    store: &dyn Store,
    user: &UserId,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let maintenance = store.maintenance().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "erase_user", "the store does not support maintenance")
            .with("store", store.info().name)
    })?;
    let erased = maintenance.erase_user(user, &options.cancel).await?;
    Ok(RemovalReport {
        chats: erased.chats,
        messages: erased.messages,
        blobs: erased.blobs,
        streams: erased.streams,
        rounds: erased.rounds,
        memories: erased.memories,
        found: erased.remaining,
        ..RemovalReport::default()
    })
}
