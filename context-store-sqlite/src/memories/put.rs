//! Adding the rows of records, and updating the counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use context_core::store::MemoryWrite;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::run;
use crate::error::{Fault, Result};
use crate::insert::Insert;
use crate::memories::lists::List;
use crate::memories::remove::{Counts, sweep, take_out};
use crate::memories::rows::{json_answer, json_filed};
use crate::memories::scopes::{Scopes, need_session};
use crate::memories::write::mark;
use crate::place::signed;
use crate::sql::memories as sql;
use crate::sums::{MEMORY, VECTOR, WORD};

/// A record to write.
pub(super) struct Put<'a> {
    pub(super) write: &'a MemoryWrite,
    pub(super) body: Vec<u8>,
    pub(super) version: u64,
    /// The place of the record, if it exists already.
    pub(super) place: Option<i64>,
    /// Whether the record may have a mark of a forgotten one.
    pub(super) marked: bool,
}

pub(super) struct Inserts {
    pub(super) memories: Insert,
    pub(super) lists: Insert,
    pub(super) index: Insert,
    pub(super) vectors: Insert,
}

pub(super) static INSERTS: LazyLock<Inserts> = LazyLock::new(|| Inserts {
    memories: Insert::named(
        "memory",
        &[
            "place", "scope", "kind", "id", "version", "key", "session", "message", "bytes",
            "body", "sum",
        ],
    ),
    lists: Insert::named("memory_words", &["place", "list"]),
    index: Insert::named("memory_index", &["rowid", "words"]),
    vectors: Insert::named("memory_vector", &["place", "kind", "model", "data", "sum"]),
});

/// A record with its numbers in the file.
struct Filed<'a> {
    put: Put<'a>,
    scope: i64,
    session: Option<i64>,
    list: List,
}

/// Writes records in their order.
pub(super) async fn put<'a>(
    connection: &mut SqliteConnection,
    mut scopes: Scopes<'a>,
    puts: Vec<Put<'a>>,
) -> Result<()> {
    let replaced: Vec<i64> = puts.iter().filter_map(|put| put.place).collect();
    let gone = take_out(connection, &replaced).await?;
    let rows = run(connection, sqlx::query(sql::LAST)).await?;
    let row =
        rows.first().ok_or(Fault::Corrupt("the last place of a memory is not known", None))?;
    let (mut last_place, mut last_word): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    let mut filed = Vec::with_capacity(puts.len());
    for put in puts {
        let record = &put.write.record;
        let (scope, kind) = scopes.need_kind(connection, &record.scope, &record.kind).await?;
        let session = match record.source.as_ref().map(|source| source.session.as_str()) {
            None => None,
            Some(session) => Some(match sessions.get(session) {
                Some(no) => *no,
                None => {
                    let no = need_session(connection, &record.scope.user, session).await?;
                    sessions.insert(session, no);
                    no
                }
            }),
        };
        let place = put.place.unwrap_or_else(|| {
            last_place += 1;
            last_place
        });
        filed.push(Filed { put, scope, session, list: List { place, kind, words: Vec::new() } });
    }
    number(connection, &mut filed, &mut last_word).await?;
    insert(connection, &filed).await?;
    let mut counts = Counts::default();
    for Filed { put, scope, list, .. } in &filed {
        let bytes = signed(put.write.record.text.len());
        counts.add(1, *scope, list, bytes, put.write.vector.is_some());
    }
    counts.write(connection).await?;
    unmark(connection, &filed).await?;
    run(connection, sqlx::query(sql::MOVE_LAST).bind(last_place).bind(last_word)).await?;
    sweep(connection, &gone).await
}

/// The words of a kind: the number of records that contain each word, and the number of the word.
type Words<'a> = BTreeMap<&'a str, (u32, i64)>;

/// Assigns numbers to new words and updates the number of records per word.
async fn number(
    connection: &mut SqliteConnection,
    filed: &mut [Filed<'_>],
    last_word: &mut i64,
) -> Result<()> {
    // Sorted like the table, so that the table is read in order once.
    let mut vocabulary: BTreeMap<(i64, i64), Words<'_>> = BTreeMap::new();
    let mut counted = Vec::with_capacity(filed.len());
    for record in filed.iter() {
        let mut words: HashMap<&str, u32> = HashMap::new();
        record.put.write.words().for_each(|word| *words.entry(word).or_default() += 1);
        let of_kind = vocabulary.entry((record.scope, record.list.kind)).or_default();
        words.keys().for_each(|word| of_kind.entry(word).or_default().0 += 1);
        counted.push(words);
    }
    for ((scope, kind), words) in &mut vocabulary {
        let list: Vec<&str> = words.keys().copied().collect();
        let list = serde_json::to_string(&list).unwrap_or_default();
        let query = sqlx::query(sql::NUMBERS).bind(*scope).bind(*kind).bind(list);
        let known: Vec<Option<i64>> = json_answer(connection, query).await?;
        if known.len() != words.len() {
            return Err(Fault::Corrupt("words of memories have no numbers", None));
        }
        let mut found = Vec::with_capacity(words.len());
        for ((word, (records, no)), known) in words.iter_mut().zip(known) {
            *no = known.unwrap_or_else(|| {
                *last_word += 1;
                *last_word
            });
            let sum = WORD.sum([(*scope).into(), (*word).into(), (*kind).into(), (*no).into()]);
            found.push((*word, *no, *records, sum));
        }
        let found = serde_json::to_string(&found).unwrap_or_default();
        run(connection, sqlx::query(sql::COUNT_WORDS).bind(*scope).bind(*kind).bind(found)).await?;
    }
    let mut lists = Vec::with_capacity(filed.len());
    for (record, words) in filed.iter().zip(counted) {
        let numbers = vocabulary.get(&(record.scope, record.list.kind));
        let number = |(word, count): (&str, u32)| Some((numbers?.get(word)?.1, count));
        let mut words: Vec<(i64, u32)> = words.into_iter().filter_map(number).collect();
        words.sort_unstable();
        lists.push(words);
    }
    for (record, words) in filed.iter_mut().zip(lists) {
        record.list.words = words;
    }
    Ok(())
}

async fn insert(connection: &mut SqliteConnection, filed: &[Filed<'_>]) -> Result<()> {
    let inserts = &*INSERTS;
    for group in inserts.memories.groups(filed) {
        let query = group.query(|query, filed| {
            let record = &filed.put.write.record;
            let version = i64::try_from(filed.put.version).unwrap_or(i64::MAX);
            let body = filed.put.body.as_slice();
            let message = record.source.as_ref().and_then(|source| source.message.as_ref());
            query
                .bind(filed.list.place)
                .bind(filed.scope)
                .bind(filed.list.kind)
                .bind(record.id.as_str())
                .bind(version)
                .bind(record.key.as_deref())
                .bind(filed.session)
                .bind(message.map(|message| message.as_str()))
                .bind(signed(record.text.len()))
                .bind(body)
                .bind(MEMORY.sum([filed.list.place.into(), version.into(), body.into()]))
        });
        run(connection, query).await?;
    }
    for group in inserts.lists.groups(filed) {
        let query =
            group.query(|query, filed| query.bind(filed.list.place).bind(filed.list.to_bytes()));
        run(connection, query).await?;
    }
    let indexed: Vec<&List> =
        filed.iter().map(|filed| &filed.list).filter(|list| !list.words.is_empty()).collect();
    for group in inserts.index.groups(&indexed) {
        let query = group.query(|query, list| query.bind(list.place).bind(list.tokens()));
        run(connection, query).await?;
    }
    let vectors =
        filed.iter().filter_map(|filed| Some((&filed.list, filed.put.write.vector.as_ref()?)));
    let vectors: Vec<_> = vectors.collect();
    for group in inserts.vectors.groups(&vectors) {
        let query = group.query(|query, (list, vector)| {
            let query = query.bind(list.place).bind(list.kind);
            let (model, data) = (vector.model.as_str(), vector.to_bytes());
            let sum = VECTOR.sum([list.place.into(), model.into(), data.as_slice().into()]);
            query.bind(model).bind(data).bind(sum)
        });
        run(connection, query).await?;
    }
    Ok(())
}

/// Removes the marks of records that are written again.
async fn unmark(connection: &mut SqliteConnection, filed: &[Filed<'_>]) -> Result<()> {
    let marked = filed.iter().filter(|filed| filed.put.marked);
    let marks: Vec<(i64, [u8; 16])> =
        marked.map(|filed| (filed.scope, mark(&filed.put.write.record))).collect();
    if !marks.is_empty() {
        let pairs = json_filed(marks.iter().map(|(scope, mark)| (*scope, mark.as_slice())));
        run(connection, sqlx::query(sql::FORGET_MARKS).bind(pairs)).await?;
    }
    Ok(())
}
