//! The check of memories: each record must agree with its columns, be found by its words, and be
//! counted.

use std::collections::BTreeMap;

use context_core::CancelSignal;
use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::store::{CheckReport, Finding, KeyOrder};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::history::words::counts;
use crate::memories::{WordList, json_answer, stored_of, token};
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::count;

/// One of this many records is looked up by a word. The number of records per word is compared for
/// every word.
const SAMPLE: i64 = 32;

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for row in run(connection, sqlx::query(sql::STRAYS)).await? {
        let (table, rows): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        if rows > 0 {
            let problem = format!("{rows} rows belong to no other row");
            report.findings.push(Finding::new(None, format!("table {table}"), problem));
        }
    }
    let mut after = 0;
    let mut order = KeyOrder::new("check", "scope");
    loop {
        cancel.check("check")?;
        // Each scope is read in a transaction of its own, because others may write during the
        // check.
        let mut transaction = connection.begin().await?;
        let rows = run(&mut transaction, sqlx::query(sql::SCOPE_AFTER).bind(after)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        after = row.try_get(0)?;
        order.next(after)?;
        let problems = match check_scope(&mut transaction, row, report).await {
            Err(Fault::Corrupt(problem, _)) => vec![problem.to_owned()],
            found => found?,
        };
        let about = format!("memories of {:?}", scope_of(row)?);
        report
            .findings
            .extend(problems.into_iter().map(|problem| Finding::new(None, &about, problem)));
        transaction.commit().await?;
        cancel.report("memory", report.memories);
    }
}

fn scope_of(row: &SqliteRow) -> Result<MemoryScope> {
    let mut scope = MemoryScope::new(row.try_get::<&str, _>(1)?);
    (scope.project, scope.agent) = (row.try_get(3)?, row.try_get(4)?);
    scope.session = row.try_get::<Option<&str>, _>(5)?.map(Into::into);
    Ok(scope)
}

/// The totals that the check has counted itself.
#[derive(Default, PartialEq)]
struct RecordTotals {
    records: u64,
    bytes: u64,
    vectors: u64,
    words: u64,
}

async fn check_scope(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    report: &mut CheckReport,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let (no, scope): (i64, _) = (row.try_get(0)?, scope_of(row)?);
    if row.try_get::<&str, _>(2)? != scope.key() {
        problems.push("the scope is stored under another key".to_owned());
    }
    let mut all = RecordTotals::default();
    for row in run(connection, sqlx::query(sql::KINDS_OF).bind(no)).await? {
        let (kind_no, kind): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
        let mut found = BTreeMap::new();
        let counted =
            check_kind(connection, kind_no, (&scope, kind), &mut found, &mut problems).await?;
        let says = (count(row.try_get(2)?)?, count(row.try_get(3)?)?, count(row.try_get(4)?)?);
        if says != (counted.records, counted.bytes, counted.vectors) {
            problems.push(format!("the counts of kind {kind} are wrong"));
        }
        let query = sqlx::query(sql::WORDS_OF).bind(no).bind(kind_no);
        let words: Vec<(i64, i64)> = json_answer(connection, query).await?;
        if !words.iter().copied().eq(found) {
            problems.push(format!("the counts of the words of kind {kind} are wrong"));
        }
        report.memories += counted.records;
        all.records += counted.records;
        all.words += counted.words;
    }
    if (count(row.try_get(6)?)?, count(row.try_get(7)?)?) != (all.records, all.words) {
        problems.push("the counts of the scope are wrong".to_owned());
    }
    for row in run(connection, sqlx::query(sql::WRONG_WORDS).bind(no)).await? {
        let wrong: i64 = row.try_get(0)?;
        if wrong > 0 {
            problems.push(format!(
                "the index has {wrong} words in more or fewer records than are counted"
            ));
        }
    }
    Ok(problems)
}

/// Checks every record of a kind, and counts the records.
async fn check_kind(
    connection: &mut SqliteConnection,
    kind_no: i64,
    filed: (&MemoryScope, &str),
    found: &mut BTreeMap<i64, i64>,
    problems: &mut Vec<String>,
) -> Result<RecordTotals> {
    let mut counted = RecordTotals::default();
    let mut after = 0;
    let mut order = KeyOrder::new("check", "memory");
    loop {
        let query = sqlx::query(sql::MEMORIES_AFTER).bind(kind_no).bind(after);
        let rows = run(connection, query).await?;
        let Some(last) = rows.last() else { return Ok(counted) };
        after = last.try_get(0)?;
        for row in &rows {
            order.next(row.try_get::<i64, _>(0)?)?;
            counted.records += 1;
            counted.bytes += count(row.try_get(8)?)?;
            counted.vectors += u64::from(row.try_get::<bool, _>(11)?);
            let mut problem = record_problem(row, filed)?;
            match row.try_get::<Option<&[u8]>, _>(9)?.map(WordList::from_bytes) {
                Some(Ok(list)) => {
                    counted.words += list.length();
                    list.words.iter().for_each(|(no, _)| *found.entry(*no).or_default() += 1);
                    if problem.is_none() {
                        problem = list_problem(connection, row, &list, kind_no).await?;
                    }
                }
                _ => problem = problem.or(Some("the list of its words cannot be read")),
            }
            if let Some(problem) = problem {
                problems.push(format!("{}: {problem}", row.try_get::<&str, _>(4)?));
            }
        }
    }
}

/// Returns the disagreement between a record and its columns, if there is one.
fn record_problem(
    row: &SqliteRow,
    (scope, kind): (&MemoryScope, &str),
) -> Result<Option<&'static str>> {
    let record: MemoryRecord = match stored_of(row) {
        Ok(stored) => stored.record,
        Err(Fault::Corrupt(problem, _)) => return Ok(Some(problem)),
        Err(fault) => return Err(fault),
    };
    let source = record.source.as_ref();
    let session = source.map(|source| source.session.as_str());
    let message = source.and_then(|source| source.message.as_ref()).map(|message| message.as_str());
    let user: Option<&str> = row.try_get(12)?;
    let agrees = record.scope == *scope
        && record.kind == kind
        && record.id.as_str() == row.try_get::<&str, _>(4)?
        && record.key.as_deref() == row.try_get(5)?
        && session == row.try_get(6)?
        && message == row.try_get(7)?
        && user.is_none_or(|user| user == scope.user.as_str())
        && record.text.len() as u64 == count(row.try_get(8)?)?;
    Ok((!agrees).then_some("its columns differ from the record"))
}

/// Returns the disagreement between the words of a record and the index, if there is one.
async fn list_problem(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    list: &WordList,
    kind: i64,
) -> Result<Option<&'static str>> {
    let place: i64 = row.try_get(0)?;
    if (list.place, list.kind) != (place, kind) {
        return Ok(Some("has the words of another record"));
    }
    let indexed = row.try_get::<Option<&[u8]>, _>(10)?;
    let expected = (!list.words.is_empty()).then_some([list.words.len() as u64]);
    if indexed.map(counts) != expected.map(Some) {
        return Ok(Some("the index has other words for the record"));
    }
    let last = list.words.last().filter(|_| place % SAMPLE == 1);
    if let Some((no, _)) = last {
        let query = sqlx::query(sql::HAS_WORD).bind(format!("\"{}\"", token(*no))).bind(place);
        if run(connection, query).await?.is_empty() {
            return Ok(Some("is not found by one of its words"));
        }
    }
    Ok(None)
}
