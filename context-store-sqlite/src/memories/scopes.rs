//! Scopes, kinds and sessions, and their numbers in rows.

use std::collections::{HashMap, HashSet};

use context_core::UserId;
use context_core::memory::MemoryScope;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::{KIND, SCOPE, SESSION, Value};
use crate::counts::{self, ListPart, UserCount};
use crate::error::{Fault, Result};
use crate::memories::rows::index_of;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::count;

/// A stored scope.
#[derive(Debug)]
pub(super) struct StoredScope {
    pub(super) no: i64,
    /// The number of records, and the number of words of all records together.
    pub(super) records: u64,
    pub(super) words: u64,
    /// The kinds of the scope.
    pub(super) kinds: HashMap<String, StoredKind>,
}

/// A stored kind of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredKind {
    pub(super) no: i64,
    /// Returns the number of records.
    pub(super) records: i64,
}

/// A session that records come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredSession {
    pub(super) no: i64,
    /// The number of records from it.
    pub(super) records: i64,
}

const MISCOUNTED: Fault = Fault::Corrupt("the checksum of the counts of memories differs", None);

/// The scopes of a user that exist, each once.
#[derive(Debug, Default)]
pub(super) struct Scopes<'a>(pub(super) HashMap<&'a MemoryScope, StoredScope>);

impl<'a> Scopes<'a> {
    /// Reads scopes, which must all be of one user.
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        scopes: impl IntoIterator<Item = &'a MemoryScope>,
    ) -> Result<Self> {
        let mut seen = HashSet::new();
        let asked: Vec<&MemoryScope> =
            scopes.into_iter().filter(|scope| seen.insert(*scope)).collect();
        let Some(first) = asked.first() else { return Ok(Self::default()) };
        let keys: Vec<String> = asked.iter().map(|scope| scope.key()).collect();
        let keys = serde_json::to_string(&keys).unwrap_or_default();
        let query = sqlx::query(sql::SCOPES).bind(first.user.as_str()).bind(keys);
        let mut found = HashMap::new();
        for row in run(connection, query).await? {
            let scope = asked.get(index_of(&row, 0)?).ok_or(Fault::Corrupt(
                "a statement returned a scope that was not requested",
                None,
            ))?;
            let no: i64 = row.try_get(1)?;
            let names =
                (6..11).map(|column| Value::of(&row, column)).collect::<Result<Vec<_>>>()?;
            SCOPE.check_values(std::iter::once(no.into()).chain(names), &row, 11)?;
            if row.try_get::<&str, _>(7)? != scope.key()
                || row.try_get::<&str, _>(6)? != scope.user.as_str()
            {
                return Err(Fault::Corrupt(
                    "a scope of memories is stored under the key of another one",
                    None,
                ));
            }
            let (records, words) = (count(row.try_get(2)?)?, count(row.try_get(3)?)?);
            let filed = found.entry(*scope).or_insert_with(|| StoredScope {
                no,
                records,
                words,
                kinds: HashMap::new(),
            });
            if let Some(kind) = row.try_get::<Option<i64>, _>(4)? {
                let values = [kind.into(), no.into(), row.try_get::<&str, _>(5)?.into()];
                KIND.check_values(values, &row, 12)?;
                let kind = StoredKind { no: kind, records: row.try_get(13)? };
                filed.kinds.insert(row.try_get(5)?, kind);
            }
            if !row.try_get::<bool, _>(14)? {
                return Err(MISCOUNTED);
            }
        }
        for filed in found.values() {
            if filed.kinds.values().map(|kind| kind.records).sum::<i64>()
                != signed_count(filed.records)
            {
                return Err(Fault::Corrupt("kinds of memories of a scope are missing", None));
            }
        }
        Ok(Self(found))
    }

    /// Reads scopes for a call that returns what they contain: a scope that is not found must not
    /// exist.
    pub(super) async fn read_all(
        connection: &mut SqliteConnection,
        scopes: impl IntoIterator<Item = &'a MemoryScope> + Clone,
    ) -> Result<Self> {
        let found = Self::read(connection, scopes.clone()).await?;
        let mut counted = false;
        for absent in scopes.into_iter().filter(|scope| !found.0.contains_key(*scope)) {
            if !counted {
                UserCount::Scopes.compare(connection, &absent.user, ListPart::Middle).await?;
                counted = true;
            }
            let beside =
                sqlx::query(sql::SCOPES_BESIDE).bind(absent.user.as_str()).bind(absent.key());
            counts::check_neighbours(connection, beside).await?;
        }
        Ok(found)
    }

    /// Compares the number of ids in a scope with the stored count.
    pub(super) async fn compare(
        &self,
        connection: &mut SqliteConnection,
        scope: &MemoryScope,
    ) -> Result<()> {
        let Some(filed) = self.0.get(scope) else { return Ok(()) };
        let count = sqlx::query(sql::COUNT_OF_SCOPE).bind(filed.no);
        counts::compare(connection, signed_count(filed.records), ListPart::Middle, MISSING, count)
            .await
    }

    pub(super) fn no(&self, scope: &MemoryScope) -> Option<i64> {
        self.0.get(scope).map(|filed| filed.no)
    }

    /// Returns the numbers of the kinds of these scopes that the predicate selects.
    pub(super) fn kinds(&self, takes: impl Fn(&str) -> bool) -> Vec<i64> {
        let kinds = self.0.values().flat_map(|filed| &filed.kinds);
        let mut kinds: Vec<i64> =
            kinds.filter(|(kind, _)| takes(kind)).map(|(_, kind)| kind.no).collect();
        kinds.sort_unstable();
        kinds
    }

    /// Returns the number of a scope, and creates the scope if it does not exist.
    pub(super) async fn need(
        &mut self,
        connection: &mut SqliteConnection,
        scope: &'a MemoryScope,
    ) -> Result<&mut StoredScope> {
        if !self.0.contains_key(scope) {
            let query = sqlx::query(sql::CREATE_SCOPE)
                .bind(scope.user.as_str())
                .bind(scope.key())
                .bind(scope.project.as_deref())
                .bind(scope.agent.as_deref())
                .bind(scope.session.as_ref().map(|session| session.as_str()));
            let no = new_no(connection, query).await?;
            SCOPE.seal(connection, &[("no", no.into())]).await?;
            self.0.insert(scope, StoredScope { no, records: 0, words: 0, kinds: HashMap::new() });
        }
        self.0.get_mut(scope).ok_or(Fault::Corrupt("a scope of memories was not created", None))
    }

    /// Returns the numbers of a scope and of a kind in it, and creates them if they do not exist.
    pub(super) async fn need_kind(
        &mut self,
        connection: &mut SqliteConnection,
        scope: &'a MemoryScope,
        kind: &str,
    ) -> Result<(i64, i64)> {
        let filed = self.need(connection, scope).await?;
        if let Some(kind) = filed.kinds.get(kind) {
            return Ok((filed.no, kind.no));
        }
        let no =
            new_no(connection, sqlx::query(sql::CREATE_KIND).bind(filed.no).bind(kind)).await?;
        KIND.seal(connection, &[("no", no.into())]).await?;
        filed.kinds.insert(kind.to_owned(), StoredKind { no, records: 0 });
        Ok((filed.no, no))
    }
}

/// Returns the number of a session of a user, and creates the session if it does not exist.
pub(super) async fn need_session(
    connection: &mut SqliteConnection,
    user: &UserId,
    session: &str,
) -> Result<i64> {
    match stored_session(connection, user, session).await? {
        Some(filed) => Ok(filed.no),
        None => {
            let query = sqlx::query(sql::CREATE_SESSION).bind(user.as_str()).bind(session);
            let no = new_no(connection, query).await?;
            SESSION.seal(connection, &[("no", no.into())]).await?;
            Ok(no)
        }
    }
}

pub(super) async fn stored_session(
    connection: &mut SqliteConnection,
    user: &UserId,
    session: &str,
) -> Result<Option<StoredSession>> {
    let query = sqlx::query(sql::SESSION).bind(user.as_str()).bind(session);
    let rows = run(connection, query).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let no: i64 = row.try_get(0)?;
    SESSION.check_values([no.into(), user.as_str().into(), session.into()], row, 1)?;
    if !row.try_get::<bool, _>(3)? {
        return Err(MISCOUNTED);
    }
    Ok(Some(StoredSession { no, records: row.try_get(2)? }))
}

pub(super) const MISSING: &str = "memories are missing in an index";

fn signed_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the number of an inserted row.
async fn new_no(
    connection: &mut SqliteConnection,
    query: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
) -> Result<i64> {
    let rows = run(connection, query).await?;
    let row =
        rows.first().ok_or(Fault::Corrupt("a statement that adds a row returned none", None))?;
    Ok(row.try_get(0)?)
}
