//! Erasing a user.

use context_core::{Error, ErrorKind, Result, Store, UserId};

use super::{RemovalOptions, RemovalReport};

/// Erases a user: everything of theirs goes from the store, with every trace in its files that the
/// store can clear, and what a search of the whole store finds afterwards is
/// [counted](RemovalReport::found).
///
/// [`ErrorKind::Unsupported`] if the store cannot be maintained.
pub async fn erase_user(
    store: &dyn Store,
    user: &UserId,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let maintenance = store.maintenance().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "erase_user", "the store cannot be maintained")
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
