//! Memory records: writing, reading, finding by words and vectors, forgetting. The layout is
//! described in [`fields`](crate::memories::fields).
//!
//! All memories of a user are in one slot, so a write is one script, and a record and all of its
//! list entries appear and disappear together. Reads take several round trips, and a record that is
//! forgotten meanwhile is left out. Memories do not expire, because the time to live of chats does
//! not apply to them.

pub(crate) mod erase;
pub(crate) mod fields;
pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod lists;
pub(crate) mod read;
pub(crate) mod scopes;
pub(crate) mod vectors;
pub(crate) mod write;

use context_core::UserId;
use redis::{Script, ScriptInvocation};

use crate::connections::shared::Shared;

/// Returns a call of a script about memories of a user, with the keys of some scopes.
pub(crate) fn user_call<'a>(
    shared: &Shared,
    script: &'a Script,
    user: &UserId,
    scopes: impl Iterator<Item = [String; 5]>,
) -> ScriptInvocation<'a> {
    let mut call = script.prepare_invoke();
    shared.keys.memories(user).into_iter().chain(scopes.flatten()).for_each(|key| {
        call.key(key);
    });
    call
}
