//! Forgetting memories. A record and its list entries are removed in one script. Many records take
//! several scripts.

use context_core::UserId;
use context_core::base::MemoryId;
use context_core::memory::{MemoriesForgotten, MemoryForget, MemoryScope, MemorySource};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::memories;
use crate::memories::lists::Scopes;
use crate::memories::scopes::scopes_within;
use crate::memories::{read::by_id, user_call};
use crate::scripts::{MEMORY_DROP, MEMORY_FORGET};

/// The number of records or scopes removed by one script.
const BATCH: usize = 500;

pub(crate) async fn forget(shared: &Shared, forget: &MemoryForget) -> Result<MemoriesForgotten> {
    match forget {
        MemoryForget::Ids { scope, ids } => of_ids(shared, scope, ids).await,
        MemoryForget::Source { scope, source } => of_source(shared, scope, source).await,
        MemoryForget::Scope(scope) => of_scope(shared, scope).await,
        _ => Err(Fault::Corrupt("this store does not know this way to forget memories", None)),
    }
}

async fn of_ids(
    shared: &Shared,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<MemoriesForgotten> {
    let keys = std::iter::once(shared.keys.memories_of(scope));
    let mut call = user_call(shared, &MEMORY_FORGET, &scope.user, keys);
    call.arg(scope.key()).arg("i");
    ids.iter().for_each(|id| {
        call.arg(id.as_str());
    });
    let removed: u64 = shared.connection.call(&call).await?;
    let left = by_id(shared, scope, ids).await?.into_iter().flatten().count();
    Ok(MemoriesForgotten::new(removed, left as u64))
}

async fn of_source(
    shared: &Shared,
    covering: &MemoryScope,
    source: &MemorySource,
) -> Result<MemoriesForgotten> {
    let term = memories::fields::source(source);
    let mut removed = 0;
    for scope in scopes_within(shared, covering).await? {
        loop {
            let keys = std::iter::once(shared.keys.memories_of(&scope));
            let mut call = user_call(shared, &MEMORY_FORGET, &scope.user, keys);
            call.arg(scope.key()).arg("t").arg(BATCH).arg(&term[..]);
            let gone: usize = shared.connection.call(&call).await?;
            removed += gone as u64;
            if gone < BATCH {
                break;
            }
        }
    }
    let mut remaining = 0;
    for scopes in scopes_within(shared, covering).await?.chunks(BATCH) {
        for known in Scopes::of(shared, scopes).heads(&[], std::slice::from_ref(&term)).await? {
            let heads = known.kinds.iter().flat_map(|kind| kind.heads.iter().flatten());
            remaining += heads.map(|head| head.count).sum::<u64>();
        }
    }
    Ok(MemoriesForgotten::new(removed, remaining))
}

async fn of_scope(shared: &Shared, covering: &MemoryScope) -> Result<MemoriesForgotten> {
    let dropped = scopes_within(shared, covering).await?;
    let names: Vec<String> = dropped.iter().map(MemoryScope::key).collect();
    let removed = drop_scopes(shared, &covering.user, &names).await?;
    // Scopes that are listed now or were listed before, whichever of their keys exist.
    let mut remaining = 0;
    let mut left = scopes_within(shared, covering).await?;
    left.extend(dropped);
    left.sort_unstable();
    left.dedup();
    for scopes in left.chunks(BATCH) {
        let mut pipe = redis::pipe();
        for scope in scopes {
            let [records, vectors, index, counts, _] = shared.keys.memories_of(scope);
            pipe.cmd("HGET").arg(&counts).arg("r");
            pipe.cmd("EXISTS").arg(&[records, vectors, index, counts]);
        }
        let found: Vec<Option<u64>> = shared.connection.pipe(&pipe).await?;
        for of_scope in found.chunks(2) {
            let records = of_scope[0].unwrap_or(0);
            let is_there = of_scope.get(1).copied().flatten().unwrap_or(0) > 0;
            remaining += records.max(u64::from(is_there));
        }
    }
    Ok(MemoriesForgotten::new(removed, remaining))
}

/// Removes whole scopes of a user, by their names. Returns how many records were removed.
pub(crate) async fn drop_scopes(
    shared: &Shared,
    user: &UserId,
    names: &[impl AsRef<[u8]>],
) -> Result<u64> {
    let mut removed = 0;
    for names in names.chunks(BATCH) {
        let keys = names.iter().map(|name| shared.keys.memories_under(user, name.as_ref()));
        let mut call = user_call(shared, &MEMORY_DROP, user, keys);
        names.iter().for_each(|name| {
            call.arg(name.as_ref());
        });
        removed += shared.connection.call::<u64>(&call).await?;
    }
    Ok(removed)
}

/// Returns the number of records that a key of counters holds.
pub(crate) async fn counted(shared: &Shared, key: &[u8]) -> Result<u64> {
    let counted: Option<u64> = shared.connection.run(cmd("HGET").arg(key).arg("r")).await?;
    Ok(counted.unwrap_or(0))
}
