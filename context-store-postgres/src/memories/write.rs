//! Writing memories: with the user locked, the stored state is read, then all records are written
//! or none.
//!
//! A record that changes is removed with its counters and added again at the same place.

use std::collections::HashMap;

use context_core::UserId;
use context_core::memory::{MemoryRecord, MemoryScope, StoredMemory};
use context_core::store::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten};
use sqlx::Row;

use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::memories::add::{NewRecord, add};
use crate::memories::pgvector::Pgvector;
use crate::memories::rows::{bind_scopes, names, record};
use crate::sql::memories as sql;
use crate::values::numbers::count;

/// The locked row of a user's memories.
pub(crate) struct LockedUser {
    pub(crate) no: i64,
    /// The number of records ever created.
    pub(crate) written: i64,
}

/// Locks the memories of the user until the transaction ends. Returns `None` if the user has none.
pub(crate) async fn lock(session: &mut Session<'_>, user: &UserId) -> Result<Option<LockedUser>> {
    let query = session.query(sql::LOCK_MEMORY_USER).bind(user.as_str().as_bytes());
    let row = session.first(query).await?;
    row.map(|row| Ok(LockedUser { no: row.try_get(0)?, written: row.try_get(1)? })).transpose()
}

/// The stored state of a record.
#[derive(Default)]
pub(crate) struct StoredState {
    pub(crate) place: i64,
    pub(crate) version: u64,
    pub(crate) shelf: i64,
    /// Only read if the write needs it for a comparison.
    record: Option<MemoryRecord>,
    exists: bool,
    forgotten: bool,
}

impl StoredState {
    fn stored(&self) -> Option<StoredMemory> {
        let place = self.place.unsigned_abs();
        self.record.clone().map(|record| StoredMemory::new(record, self.version, place))
    }

    /// Decides the result of a write. Returns `None` for a conflict.
    fn decide(&self, write: &MemoryWrite) -> Option<MemoryWritten> {
        let stored = self.stored();
        Some(match write.expected {
            _ if stored.is_some_and(|stored| write.is_replay_of(&stored)) => {
                MemoryWritten::Written(self.version)
            }
            MemoryExpected::Absent if self.exists => MemoryWritten::Unchanged(self.version),
            MemoryExpected::Absent if self.forgotten => MemoryWritten::Forgotten,
            MemoryExpected::Version(expected) if expected != self.version => return None,
            _ => MemoryWritten::Written(self.version + 1),
        })
    }
}

pub(crate) async fn write(
    session: &mut Session<'_>,
    pgvector: Option<&Pgvector>,
    writes: &[MemoryWrite],
) -> Result<MemoryOutcome> {
    let Some(first) = writes.first() else { return Ok(MemoryOutcome::Applied(Vec::new())) };
    let user = &first.record.scope.user;
    let locked = match lock(session, user).await? {
        Some(locked) => locked,
        None => {
            let query = session.query(sql::ADD_MEMORY_USER).bind(user.as_str().as_bytes());
            let row = session.only(query).await?;
            LockedUser { no: row.try_get(0)?, written: row.try_get(1)? }
        }
    };
    let (scopes, of_write) = scopes_of(writes);
    let mut numbers = numbers(session, &scopes).await?;
    let known = known(session, writes, &of_write, &numbers).await?;
    let mut decided = Vec::with_capacity(writes.len());
    for (at, (write, known)) in writes.iter().zip(&known).enumerate() {
        let Some(written) = known.decide(write) else {
            // The user's row may have been created only for this call.
            let remove =
                session.query(sql::REMOVE_EMPTY_MEMORY_USER).bind(user.as_str().as_bytes());
            session.execute(remove).await?;
            return Ok(MemoryOutcome::Conflict { write: at, stored: known.stored().map(Box::new) });
        };
        decided.push(written);
    }
    let written: Vec<usize> = (0..writes.len())
        .filter(|at| {
            matches!(decided[*at],
            MemoryWritten::Written(version) if version != known[*at].version)
        })
        .collect();
    if written.is_empty() {
        return Ok(MemoryOutcome::Applied(decided));
    }
    let changed: Vec<i64> =
        written.iter().filter(|at| known[**at].exists).map(|at| known[*at].place).collect();
    if !changed.is_empty() {
        let remove = session.query(sql::REMOVE_MEMORIES).bind(&changed);
        session.execute(remove).await?;
    }
    create_scopes(session, user, &scopes, &mut numbers).await?;
    let mut next = locked.written;
    let mut added = Vec::with_capacity(written.len());
    for at in written {
        let place = if known[at].exists {
            known[at].place
        } else {
            next += 1;
            (locked.no << 32) + next
        };
        let scope = numbers.get(&of_write[at]).copied();
        let scope = scope.ok_or(Fault::Corrupt("a scope of memories does not exist", None))?;
        added.push(NewRecord { write: &writes[at], scope, place, version: known[at].version + 1 });
    }
    let shelves =
        add(session, pgvector, &LockedUser { no: locked.no, written: next }, &added).await?;
    if known.iter().any(|known| known.exists && !shelves.contains(&known.shelf)) {
        // A record that changed its kind may have been the last one of the old kind.
        let remove = session.query(sql::REMOVE_EMPTY_SHELVES).bind(user.as_str().as_bytes());
        session.execute(remove).await?;
    }
    Ok(MemoryOutcome::Applied(decided))
}

/// Returns the scopes of the writes without duplicates, and the index of the scope of each write.
fn scopes_of(writes: &[MemoryWrite]) -> (Vec<&MemoryScope>, Vec<usize>) {
    let (mut scopes, mut at) = (Vec::new(), HashMap::new());
    let of_write = writes.iter().map(|write| {
        let scope = &write.record.scope;
        *at.entry(scope).or_insert_with(|| {
            scopes.push(scope);
            scopes.len() - 1
        })
    });
    let of_write = of_write.collect();
    (scopes, of_write)
}

/// Returns the numbers of the scopes that exist.
async fn numbers(
    session: &mut Session<'_>,
    scopes: &[&MemoryScope],
) -> Result<HashMap<usize, i64>> {
    let query = bind_scopes(session.query(sql::MEMORY_SCOPES), scopes);
    let mut numbers = HashMap::new();
    for row in session.all(query).await? {
        numbers.insert(nth(row.try_get(0)?)?, row.try_get(1)?);
    }
    Ok(numbers)
}

/// Converts a one-based number of a row's item to an index.
fn nth(n: i64) -> Result<usize> {
    usize::try_from(n - 1)
        .map_err(|_| Fault::Corrupt("a row belongs to no memory of the call", None))
}

/// Creates the scopes that do not exist.
async fn create_scopes(
    session: &mut Session<'_>,
    user: &UserId,
    scopes: &[&MemoryScope],
    numbers: &mut HashMap<usize, i64>,
) -> Result<()> {
    let missing: HashMap<String, usize> = (0..scopes.len())
        .filter(|at| !numbers.contains_key(at))
        .map(|at| (scopes[at].key(), at))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (keys, places): (Vec<&[u8]>, Vec<usize>) =
        missing.iter().map(|(key, at)| (key.as_bytes(), *at)).unzip();
    let column = |of: usize| places.iter().map(|at| names(scopes[*at])[of]).collect::<Vec<_>>();
    let query = session.query(sql::ADD_MEMORY_SCOPES).bind(user.as_str().as_bytes());
    let query = query.bind(column(0)).bind(column(1)).bind(column(2)).bind(keys);
    for row in session.all(query).await? {
        if let Some(at) = missing.get(crate::values::rows::text(&row, 1)?) {
            numbers.insert(*at, row.try_get(0)?);
        }
    }
    Ok(())
}

/// Reads the stored state of the records to write.
async fn known(
    session: &mut Session<'_>,
    writes: &[MemoryWrite],
    of_write: &[usize],
    numbers: &HashMap<usize, i64>,
) -> Result<Vec<StoredState>> {
    let mut known: Vec<StoredState> = writes.iter().map(|_| StoredState::default()).collect();
    if numbers.is_empty() {
        return Ok(known);
    }
    // Number 0 belongs to no scope.
    let scopes: Vec<i64> =
        of_write.iter().map(|at| numbers.get(at).copied().unwrap_or_default()).collect();
    let ids: Vec<&[u8]> = writes.iter().map(|write| write.record.id.as_str().as_bytes()).collect();
    let mark = |write: &MemoryWrite| match write.expected {
        MemoryExpected::Absent => {
            MemoryRecord::mark(&write.record.scope, &write.record.id).to_vec()
        }
        _ => Vec::new(),
    };
    let marks: Vec<Vec<u8>> = writes.iter().map(mark).collect();
    let exact: Vec<bool> =
        writes.iter().map(|write| matches!(write.expected, MemoryExpected::Version(_))).collect();
    let query =
        session.query(sql::MEMORIES_TO_WRITE).bind(scopes).bind(ids).bind(marks).bind(exact);
    for row in session.all(query).await? {
        let found = known.get_mut(nth(row.try_get(0)?)?);
        let found = found.ok_or(Fault::Corrupt("a row belongs to no memory of the call", None))?;
        found.forgotten = row.try_get::<Option<bool>, _>(5)?.unwrap_or_default();
        if let Some(place) = row.try_get::<Option<i64>, _>(1)? {
            found.exists = true;
            (found.place, found.shelf) = (place, row.try_get(3)?);
            found.version = count(row.try_get(2)?)?;
            if row.try_get::<Option<&[u8]>, _>(4)?.is_some() {
                found.record = Some(record(&row, [1, 2, 4])?);
            }
        }
    }
    Ok(known)
}
