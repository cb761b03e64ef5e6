//! Erasing the memories of a user.

use std::collections::HashSet;

use context_core::store::Erasure;
use context_core::{CancelSignal, UserId};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::Result;
use crate::memories::forget::{counted, drop_scopes};
use crate::memories::{scopes, user_call};
use crate::scripts::MEMORY_CLEAR;

/// Erases the memories of a user, and what is left of memories under these keys.
pub(crate) async fn erase(
    shared: &Shared,
    user: &UserId,
    keys: impl Iterator<Item = &[u8]>,
    cancel: &CancelSignal,
    erasure: &mut Erasure,
) -> Result<()> {
    let names = scopes::names(shared, user).await?;
    for names in names.chunks(64) {
        cancel.check("erase_user")?;
        erasure.memories += drop_scopes(shared, user, names).await?;
        cancel.report("memory", erasure.memories);
    }
    let listed: HashSet<String> = scopes::names(shared, user)
        .await?
        .iter()
        .flat_map(|name| shared.keys.memories_under(user, name))
        .collect();
    // Keys of no listed scope are damage, and are removed as well.
    for key in keys {
        cancel.check("erase_user")?;
        if !std::str::from_utf8(key).is_ok_and(|key| listed.contains(key)) {
            if shared.keys.is_counts(key) {
                erasure.memories += counted(shared, key).await?;
            }
            let _gone: u64 = shared.connection.run(cmd("UNLINK").arg(key)).await?;
        }
    }
    let call = user_call(shared, &MEMORY_CLEAR, user, std::iter::empty());
    let _done: u8 = shared.connection.call(&call).await?;
    Ok(())
}
