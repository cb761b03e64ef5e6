//! Conversion of records from rows and of scopes to parameters.

use context_core::memory::{MemoryRecord, MemoryScope, StoredMemory};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::checksums;
use crate::connections::Statement;
use crate::error::{Fault, Result};
use crate::values::numbers::count;

/// Reads a stored record from three columns: its place, its version, and its body.
pub(crate) fn stored(row: &PgRow, [place, version, body]: [usize; 3]) -> Result<StoredMemory> {
    Ok(StoredMemory::new(
        record(row, [place, version, body])?,
        count(row.try_get(version)?)?,
        count(row.try_get(place)?)?,
    ))
}

/// Reads the record from the last of these columns.
pub(crate) fn record(row: &PgRow, [place, version, body]: [usize; 3]) -> Result<MemoryRecord> {
    const DAMAGED: &str = "the checksum of a memory does not match";
    let seal = checksums::memory(row.try_get(place)?, row.try_get(version)?);
    serde_json::from_slice(checksums::open_slice(seal, row.try_get(body)?, DAMAGED)?)
        .map_err(|_| Fault::Corrupt("a memory cannot be read", None))
}

/// Returns the names of a scope, with an empty name for each part that is not set.
pub(crate) fn names(scope: &MemoryScope) -> [&[u8]; 3] {
    fn of(name: Option<&str>) -> &[u8] {
        // Real names are never empty.
        name.unwrap_or_default().as_bytes()
    }
    let session = scope.session.as_ref().map(|session| session.as_str());
    [of(scope.project.as_deref()), of(scope.agent.as_deref()), of(session)]
}

/// Returns the scope with such names.
pub(crate) fn scope(user: &str, [project, agent, session]: [&str; 3]) -> MemoryScope {
    let mut scope = MemoryScope::new(user);
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    (scope.project, scope.agent) = (named(project), named(agent));
    scope.session = named(session).map(Into::into);
    scope
}

/// Binds the user and the names of a scope as the first parameters.
pub(crate) fn bind_scope(statement: Statement, scope: &MemoryScope) -> Statement {
    let [project, agent, session] = names(scope);
    statement.bind(scope.user.as_str().as_bytes()).bind(project).bind(agent).bind(session)
}

/// Returns the scopes of one user without duplicates.
pub(crate) fn unique(scopes: &[MemoryScope]) -> Vec<&MemoryScope> {
    let mut unique: Vec<&MemoryScope> = Vec::with_capacity(scopes.len());
    for scope in scopes {
        if !unique.contains(&scope) {
            unique.push(scope);
        }
    }
    unique
}

/// Binds the user and the names of all scopes.
pub(crate) fn bind_scopes(statement: Statement, scopes: &[&MemoryScope]) -> Statement {
    let column = |at: usize| scopes.iter().map(|scope| names(scope)[at]).collect::<Vec<_>>();
    let user = scopes.first().map_or(&[][..], |scope| scope.user.as_str().as_bytes());
    statement.bind(user).bind(column(0)).bind(column(1)).bind(column(2))
}
