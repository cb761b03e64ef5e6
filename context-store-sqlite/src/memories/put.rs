//! Adding the rows of records, and updating the counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use context_core::store::MemoryWrite;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::{MEMORY, VECTOR, WORD};
use crate::connections::batch_insert::BatchInsert;
use crate::error::{Fault, Result};
use crate::memories::remove::{CountChanges, remove_records, sweep};
use crate::memories::rows::{json_answer, json_filed};
use crate::memories::scopes::{Scopes, need_session};
use crate::memories::word_list::WordList;
use crate::memories::write::mark;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::signed;

/// A record to write.
pub(super) struct RecordWrite<'a> {
    pub(super) write: &'a MemoryWrite,
    pub(super) body: Vec<u8>,
    pub(super) version: u64,
    /// The place of the record, if it exists already.
    pub(super) place: Option<i64>,
    /// Whether the record may have a mark of a forgotten one.
    pub(super) marked: bool,
}

pub(super) struct Inserts {
    pub(super) memories: BatchInsert,
    pub(super) lists: BatchInsert,
    pub(super) index: BatchInsert,
    pub(super) vectors: BatchInsert,
}

pub(super) static INSERTS: LazyLock<Inserts> = LazyLock::new(|| Inserts {
    memories: BatchInsert::with_columns(
        "memory",
        &[
            "place", "scope", "kind", "id", "version", "key", "session", "message", "bytes",
            "body", "sum",
        ],
    ),
    lists: BatchInsert::with_columns("memory_words", &["place", "list"]),
    index: BatchInsert::with_columns("memory_index", &["rowid", "words"]),
    vectors: BatchInsert::with_columns("memory_vector", &["place", "kind", "model", "data", "sum"]),
});

/// A record with its numbers in the file.
struct NumberedRecord<'a> {
    put: RecordWrite<'a>,
    scope: i64,
    session: Option<i64>,
    list: WordList,
}

/// Writes records in their order.
pub(super) async fn put<'a>(
    connection: &mut SqliteConnection,
    mut scopes: Scopes<'a>,
    puts: Vec<RecordWrite<'a>>,
) -> Result<()> {
    let replaced: Vec<i64> = puts.iter().filter_map(|put| put.place).collect();
    let removal = remove_records(connection, &replaced).await?;
    let rows = run(connection, sqlx::query(sql::LAST)).await?;
    let row =
        rows.first().ok_or(Fault::Corrupt("the last place of a memory is not known", None))?;
    let (mut last_place, mut last_word): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    let mut records = Vec::with_capacity(puts.len());
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
        records.push(NumberedRecord {
            put,
            scope,
            session,
            list: WordList { place, kind, words: Vec::new() },
        });
    }
    number(connection, &mut records, &mut last_word).await?;
    insert(connection, &records).await?;
    let mut counts = CountChanges::default();
    for NumberedRecord { put, scope, list, .. } in &records {
        let bytes = signed(put.write.record.text.len());
        counts.add(1, *scope, list, bytes, put.write.vector.is_some());
    }
    counts.write(connection).await?;
    unmark(connection, &records).await?;
    run(connection, sqlx::query(sql::MOVE_LAST).bind(last_place).bind(last_word)).await?;
    sweep(connection, &removal).await
}

/// The words of a kind: the number of records that contain each word, and the number of the word.
type Words<'a> = BTreeMap<&'a str, (u32, i64)>;

/// Assigns numbers to new words and updates the number of records per word.
async fn number(
    connection: &mut SqliteConnection,
    records: &mut [NumberedRecord<'_>],
    last_word: &mut i64,
) -> Result<()> {
    // Sorted like the table, so that the table is read in order once.
    let mut vocabulary: BTreeMap<(i64, i64), Words<'_>> = BTreeMap::new();
    let mut counted = Vec::with_capacity(records.len());
    for record in records.iter() {
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
    let mut lists = Vec::with_capacity(records.len());
    for (record, words) in records.iter().zip(counted) {
        let numbers = vocabulary.get(&(record.scope, record.list.kind));
        let number = |(word, count): (&str, u32)| Some((numbers?.get(word)?.1, count));
        let mut words: Vec<(i64, u32)> = words.into_iter().filter_map(number).collect();
        words.sort_unstable();
        lists.push(words);
    }
    for (record, words) in records.iter_mut().zip(lists) {
        record.list.words = words;
    }
    Ok(())
}

async fn insert(connection: &mut SqliteConnection, records: &[NumberedRecord<'_>]) -> Result<()> {
    let inserts = &*INSERTS;
    for batch in inserts.memories.batches(records) {
        let query = batch.query(|query, row| {
            let record = &row.put.write.record;
            let version = i64::try_from(row.put.version).unwrap_or(i64::MAX);
            let body = row.put.body.as_slice();
            let message = record.source.as_ref().and_then(|source| source.message.as_ref());
            query
                .bind(row.list.place)
                .bind(row.scope)
                .bind(row.list.kind)
                .bind(record.id.as_str())
                .bind(version)
                .bind(record.key.as_deref())
                .bind(row.session)
                .bind(message.map(|message| message.as_str()))
                .bind(signed(record.text.len()))
                .bind(body)
                .bind(MEMORY.sum([row.list.place.into(), version.into(), body.into()]))
        });
        run(connection, query).await?;
    }
    for batch in inserts.lists.batches(records) {
        let query = batch.query(|query, row| query.bind(row.list.place).bind(row.list.to_bytes()));
        run(connection, query).await?;
    }
    let indexed: Vec<&WordList> =
        records.iter().map(|row| &row.list).filter(|list| !list.words.is_empty()).collect();
    for batch in inserts.index.batches(&indexed) {
        let query = batch.query(|query, list| query.bind(list.place).bind(list.tokens()));
        run(connection, query).await?;
    }
    let vectors =
        records.iter().filter_map(|row| Some((&row.list, row.put.write.vector.as_ref()?)));
    let vectors: Vec<_> = vectors.collect();
    for batch in inserts.vectors.batches(&vectors) {
        let query = batch.query(|query, (list, vector)| {
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
async fn unmark(connection: &mut SqliteConnection, records: &[NumberedRecord<'_>]) -> Result<()> {
    let marked = records.iter().filter(|row| row.put.marked);
    let marks: Vec<(i64, [u8; 16])> =
        marked.map(|row| (row.scope, mark(&row.put.write.record))).collect();
    if !marks.is_empty() {
        let pairs = json_filed(marks.iter().map(|(scope, mark)| (*scope, mark.as_slice())));
        run(connection, sqlx::query(sql::FORGET_MARKS).bind(pairs)).await?;
    }
    Ok(())
}
