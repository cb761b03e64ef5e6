//! Memory records: the implementation of each call. The layout is described in
//! [`names`](crate::memories::names).
//!
//! All memories of a user are in one slot, so a write is one script, and a record and all of its
//! list entries appear and disappear together. Reads take several round trips, and a record that is
//! forgotten meanwhile is left out. Memories do not expire, because the time to live of chats does
//! not apply to them.

pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod lists;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod scopes;
pub(crate) mod vectors;

use async_trait::async_trait;
use context_core::UserId;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, StoredMemory,
};
use context_core::store::{
    Cursor, MemoriesFound, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome,
    MemoryRecordStore, MemoryStats, MemoryWrite, MemoryWritten, Page, check_memory_writes,
};
use redis::{Script, ScriptInvocation, Value};

use crate::error::{Fault, Result};
use crate::history::fields::read_number;
use crate::memories::lists::{Kept, Scopes, read_record};
use crate::memories::names::broken;
use crate::reply::Reply;
use crate::scripts::MEMORY_WRITE;
use crate::shared::{ATTEMPTS, Shared, check_bytes};
use crate::{memories, seals};

#[async_trait]
impl MemoryRecordStore for Shared {
    async fn write_memories(&self, writes: &[MemoryWrite]) -> context_core::Result<MemoryOutcome> {
        check_memory_writes(writes)?;
        write(self, writes).await.map_err(|fault| fault.during("write_memories"))
    }

    async fn memories(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
    ) -> context_core::Result<Vec<StoredMemory>> {
        scope.check_ids("memories", ids)?;
        let found = by_id(self, scope, ids).await.map_err(|fault| fault.during("memories"))?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn list_memories(&self, list: &MemoryList) -> context_core::Result<Page<StoredMemory>> {
        list.check()?;
        memories::order::list(self, list).await.map_err(|fault| fault.during("list_memories"))
    }

    async fn find_memories(&self, find: &MemoryFind) -> context_core::Result<MemoriesFound> {
        find.check()?;
        memories::find::find(self, find).await.map_err(|fault| fault.during("find_memories"))
    }

    async fn memories_beside(
        &self,
        scope: &MemoryScope,
        ids: &[MemoryId],
        each_side: usize,
    ) -> context_core::Result<Vec<Vec<StoredMemory>>> {
        scope.check_neighbours("memories_beside", ids, each_side)?;
        let beside = memories::order::beside(self, scope, ids, each_side).await;
        beside.map_err(|fault| fault.during("memories_beside"))
    }

    async fn forget_memories(
        &self,
        forget: &MemoryForget,
    ) -> context_core::Result<MemoriesForgotten> {
        forget.check()?;
        memories::forget::forget(self, forget)
            .await
            .map_err(|fault| fault.during("forget_memories"))
    }

    async fn memory_stats(
        &self,
        user: &UserId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> context_core::Result<Page<MemoryStats>> {
        limits::check_id("memory_stats", "user", user.as_str())?;
        limits::check_page("memory_stats", limit)?;
        memories::scopes::stats(self, user, limit, after)
            .await
            .map_err(|fault| fault.during("memory_stats"))
    }
}

/// Returns a call of a script about memories of a user, with the keys of some scopes.
pub(crate) fn of_user<'a>(
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

async fn write(shared: &Shared, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
    let Some(first) = writes.first() else { return Ok(MemoryOutcome::Applied(Vec::new())) };
    let mut scopes: Vec<&MemoryScope> = Vec::new();
    let mut parts = Vec::with_capacity(writes.len());
    let mut bytes = 0;
    for write in writes {
        let scope = &write.record.scope;
        let of_scope = scopes.iter().position(|known| *known == scope).unwrap_or(scopes.len());
        if of_scope == scopes.len() {
            scopes.push(scope);
        }
        let record = seals::seal("b", serde_json::to_vec(&write.record).map_err(|_| broken())?);
        let vector = write.vector.as_ref().map(names::write_vector).unwrap_or_default();
        let about = names::about(write);
        bytes += record.len() + vector.len() + about.len();
        parts.push((of_scope, vector, about, record));
    }
    check_bytes("write_memories", bytes)?;
    let mut expected: Vec<String> = writes.iter().map(|write| expected(write.expected)).collect();
    // The script recognizes a replayed record by its text. If the stored text has another key
    // order, the script reports a conflict, and the next attempt marks that record as equal.
    for _ in 0..ATTEMPTS.max(u32::try_from(writes.len()).unwrap_or(u32::MAX)) {
        let keys = scopes.iter().map(|scope| shared.keys.memories_of(scope));
        let mut call = of_user(shared, &MEMORY_WRITE, &first.record.scope.user, keys);
        call.arg(scopes.len());
        scopes.iter().for_each(|scope| {
            call.arg(scope.key());
        });
        for ((write, expected), (scope, vector, about, record)) in
            writes.iter().zip(&expected).zip(&parts)
        {
            let MemoryRecord { id, kind, .. } = &write.record;
            let mark = MemoryRecord::mark(&write.record.scope, id);
            call.arg(scope).arg(id.as_str()).arg(&mark[..]).arg(expected).arg(kind);
            call.arg(&vector[..]).arg(&about[..]).arg(&record[..]);
        }
        let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
        if reply.number()? == 1 {
            let mut written = Vec::with_capacity(writes.len());
            while !reply.is_empty() {
                written.push(written_of(&reply.bytes()?)?);
            }
            return Ok(MemoryOutcome::Applied(written));
        }
        let nth = usize::try_from(reply.number()?).map_err(|_| broken())?;
        let (place, record) = (reply.maybe()?, reply.maybe()?);
        let stored = match place.zip(record) {
            Some((place, record)) => Some(read_record(&record, read_number(&place)?)?),
            None => None,
        };
        let write = writes.get(nth).ok_or_else(broken)?;
        match &stored {
            Some(stored) if write.is_replay_of(stored) => {
                expected[nth] = format!("={}", stored.version)
            }
            _ => return Ok(MemoryOutcome::Conflict { write: nth, stored: stored.map(Box::new) }),
        }
    }
    Err(Fault::Beaten)
}

fn expected(expected: MemoryExpected) -> String {
    match expected {
        MemoryExpected::Anything => "*".to_owned(),
        MemoryExpected::Absent => "a".to_owned(),
        MemoryExpected::Version(version) => version.to_string(),
        // A variant that this store does not know never holds.
        _ => "-".to_owned(),
    }
}

fn written_of(answer: &[u8]) -> Result<MemoryWritten> {
    let version = || read_number(&answer[1..]);
    match answer.first() {
        Some(b'w') => Ok(MemoryWritten::Written(version()?)),
        Some(b'k') => Ok(MemoryWritten::Kept(version()?)),
        Some(b'f') => Ok(MemoryWritten::Forgotten),
        _ => Err(broken()),
    }
}

/// Returns records by their ids, in the order of the ids.
pub(crate) async fn by_id(
    shared: &Shared,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<Vec<Option<StoredMemory>>> {
    let scopes = Scopes::of(shared, std::slice::from_ref(scope));
    let fields: Vec<_> =
        ids.iter().map(|id| (0, [b"i", id.as_str().as_bytes()].concat())).collect();
    let mut there = Vec::with_capacity(ids.len());
    let mut places = Vec::with_capacity(ids.len());
    for known in scopes.fields(Kept::Records, &fields).await? {
        there.push(known.is_some());
        if let Some(known) = known {
            let space = known.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
            places.push((0, read_number(&known[..space])?));
        }
    }
    let mut found = scopes.records(&places).await?.into_iter();
    Ok(there
        .into_iter()
        .map(|is_there| is_there.then(|| found.next().flatten()).flatten())
        .collect())
}
