//! Removing records with all their rows, and removing rows that are not needed any more.

use std::collections::{BTreeMap, BTreeSet};

use context_core::base::MemoryId;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::error::Result;
use crate::memories::word_list::WordList;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::rows::json_numbers;

/// The number of records that one round of statements removes.
const BATCH: usize = 1000;

/// Changes of the counters.
#[derive(Default)]
pub(super) struct CountChanges {
    /// Records, bytes and vectors by kind.
    kinds: BTreeMap<i64, (i64, i64, i64)>,
    /// Records and words by scope.
    scopes: BTreeMap<i64, (i64, i64)>,
}

impl CountChanges {
    /// Counts a record. `sign` is 1 or -1.
    pub(super) fn add(&mut self, sign: i64, scope: i64, list: &WordList, bytes: i64, vector: bool) {
        let of_kind = self.kinds.entry(list.kind).or_default();
        of_kind.0 += sign;
        of_kind.1 += sign * bytes;
        of_kind.2 += sign * i64::from(vector);
        let of_scope = self.scopes.entry(scope).or_default();
        of_scope.0 += sign;
        of_scope.1 += sign * list.length() as i64;
    }

    pub(super) async fn write(&self, connection: &mut SqliteConnection) -> Result<()> {
        for (kind, (records, bytes, vectors)) in &self.kinds {
            let query =
                sqlx::query(sql::COUNT_KIND).bind(*kind).bind(*records).bind(*bytes).bind(*vectors);
            run(connection, query).await?;
        }
        for (scope, (records, words)) in &self.scopes {
            let query = sqlx::query(sql::COUNT_SCOPE).bind(*scope).bind(*records).bind(*words);
            run(connection, query).await?;
        }
        Ok(())
    }
}

/// The places of removed records, whose lists and words have to be updated.
#[derive(Default)]
pub(super) struct Removal {
    /// The scope and the id of each removed record.
    pub(super) ids: Vec<(i64, MemoryId)>,
    kinds: BTreeSet<i64>,
    sessions: BTreeSet<i64>,
    pub(super) scopes: BTreeSet<i64>,
}

/// Removes records with their words and vectors, and updates the counters.
pub(super) async fn remove_records(
    connection: &mut SqliteConnection,
    places: &[i64],
) -> Result<Removal> {
    let mut removal = Removal::default();
    for places in places.chunks(BATCH) {
        remove_batch(connection, places, &mut removal).await?;
    }
    Ok(removal)
}

async fn remove_batch(
    connection: &mut SqliteConnection,
    places: &[i64],
    removal: &mut Removal,
) -> Result<()> {
    let places = json_numbers(places.iter());
    let mut counts = CountChanges::default();
    let mut words: BTreeMap<i64, u32> = BTreeMap::new();
    for row in run(connection, sqlx::query(sql::GOING).bind(&places)).await? {
        let (scope, kind): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        removal.ids.push((scope, MemoryId::from(row.try_get::<&str, _>(3)?)));
        removal.kinds.insert(kind);
        removal.scopes.insert(scope);
        removal.sessions.extend(row.try_get::<Option<i64>, _>(4)?);
        let list = WordList::from_bytes(row.try_get(7)?)?;
        counts.add(-1, scope, &list, row.try_get(5)?, row.try_get(6)?);
        list.words.iter().for_each(|(no, _)| *words.entry(*no).or_default() += 1);
    }
    let less: Vec<(i64, u32)> = words.into_iter().collect();
    let less = serde_json::to_string(&less).unwrap_or_default();
    for statement in [sql::DISCOUNT_WORDS, sql::FORGET_WORDS] {
        run(connection, sqlx::query(statement).bind(&less)).await?;
    }
    for statement in
        [sql::FORGET_INDEX, sql::FORGET_LISTS, sql::FORGET_VECTORS, sql::FORGET_MEMORIES]
    {
        run(connection, sqlx::query(statement).bind(&places)).await?;
    }
    counts.write(connection).await
}

/// Removes the kinds, sessions and scopes that have lost their last record.
pub(super) async fn sweep(connection: &mut SqliteConnection, removal: &Removal) -> Result<()> {
    let all = [
        (sql::FORGET_KINDS, &removal.kinds),
        (sql::FORGET_SESSIONS, &removal.sessions),
        (sql::FORGET_SCOPES, &removal.scopes),
    ];
    for (statement, numbers) in all {
        if !numbers.is_empty() {
            run(connection, sqlx::query(statement).bind(json_numbers(numbers.iter()))).await?;
        }
    }
    Ok(())
}
