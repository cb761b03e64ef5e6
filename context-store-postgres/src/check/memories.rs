//! The check of memories: rows that belong to nothing, the counters of shelves and words, and each
//! record against its row. A shelf is a row of `memory_shelf`: the records of one kind in one
//! scope.

use context_core::CancelSignal;
use context_core::memory::MemoryScope;
use context_core::store::{CheckReport, Finding, KeyOrder};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connections::{Pool, Session, Work};
use crate::error::{Fault, Result};
use crate::memories::rows::{record, scope};
use crate::memories::vectors::vector;
use crate::sql::memories as sql;
use crate::values::numbers::signed;
use crate::values::place::own_of;
use crate::values::rows::{lossy_text, optional_text, text};

/// The number of records read at once.
const BATCH: i64 = 500;

pub(crate) async fn check(
    pool: &Pool,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut session = pool.begin(Work::Snapshot, None).await?;
    let checked = strays(&mut session, report).await;
    session.end(checked).await?;
    scopes(pool, cancel, report).await?;
    let mut after = 0;
    let mut order = KeyOrder::new("check", "shelf of memories");
    loop {
        cancel.check("check")?;
        // Each shelf is read in a transaction of its own, because others may write during the
        // check.
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let checked = next_shelf(&mut session, after, cancel, report).await;
        match session.end(checked).await? {
            None => return Ok(()),
            Some(no) => {
                order.next(no)?;
                after = no;
            }
        }
    }
}

/// Reports rows that belong to nothing.
async fn strays(session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
    let tables = [
        ("memory", sql::STRAY_MEMORIES, "belongs to no shelf"),
        ("memory_vector", sql::STRAY_VECTORS, "belongs to no memory"),
        ("memory_word", sql::STRAY_MEMORY_WORDS, "belongs to no shelf"),
    ];
    for (table, statement, problem) in tables {
        let query = session.query(statement);
        for row in session.all(query).await? {
            let about = format!("table {table}, {}", row.try_get::<i64, _>(0)?);
            report.findings.push(Finding::new(None, about, problem));
        }
    }
    let query = session.query(sql::LOST_SCOPES);
    for row in session.all(query).await? {
        let about = format!("memories of scope {}", row.try_get::<i64, _>(0)?);
        report.findings.push(Finding::new(None, about, "the scope does not exist"));
    }
    let query = session.query(sql::STRAY_SCOPES);
    for row in session.all(query).await? {
        let about = format!("memories of {}", lossy_text(&row, 0)?);
        report.findings.push(Finding::new(None, about, "the scope is empty or belongs to no user"));
    }
    Ok(())
}

/// Checks the names and the marks of every scope.
async fn scopes(pool: &Pool, cancel: &CancelSignal, report: &mut CheckReport) -> Result<()> {
    let mut after: i64 = 0;
    loop {
        cancel.check("check")?;
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let query = session.query(sql::SCOPES_AFTER).bind(after).bind(BATCH);
        let rows = session.all(query).await;
        let rows = session.end(rows).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.try_get(0)?;
        for row in &rows {
            let scope = scope_of(row)?;
            let about = format!("memories of {scope}");
            let mut found =
                |problem: &str| report.findings.push(Finding::new(None, &about, problem));
            if row.try_get::<&[u8], _>(5)? != scope.key().as_bytes() {
                found("are stored under the key of another scope");
            }
            if row.try_get::<i64, _>(6)? != row.try_get::<i64, _>(7)? {
                found("the number of marks of forgotten records differs from the stored count");
            }
            if row.try_get::<i64, _>(8)? > 0 {
                found("the checksum of a mark of a forgotten record does not match");
            }
        }
    }
}

/// Returns the scope that four columns name, the first of them being the user.
fn scope_of(row: &PgRow) -> Result<MemoryScope> {
    let name = |column| lossy_text(row, column);
    Ok(scope(&name(1)?, [&*name(2)?, &*name(3)?, &*name(4)?]))
}

/// Checks the shelf after a number and returns its number, or `None` if there is no further shelf.
async fn next_shelf(
    session: &mut Session<'_>,
    after: i64,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<Option<i64>> {
    let query = session.query(sql::SHELF_AFTER).bind(after);
    let Some(row) = session.first(query).await? else { return Ok(None) };
    let no = row.try_get(0)?;
    let (scope, kind) = (scope_of(&row)?, lossy_text(&row, 5)?);
    let about = format!("memories of {scope}, kind {kind}");
    let mut found = |problem: String| report.findings.push(Finding::new(None, &about, problem));
    let (counted, actual): (Vec<i64>, Vec<i64>) = (row.try_get(6)?, row.try_get(7)?);
    if counted != actual {
        found(format!("counts {counted:?} records, words, vectors and bytes, but has {actual:?}"));
    }
    if !row.try_get::<bool, _>(8)? {
        found("has no records, or has records outside of its range of places".to_owned());
    }
    let wrong: i64 = row.try_get(9)?;
    if wrong > 0 {
        found(format!("the stored counts of {wrong} words differ from the actual counts"));
    }
    let mut place: i64 = 0;
    loop {
        cancel.check("check")?;
        let query = session.query(sql::MEMORIES_AFTER).bind(no).bind(place).bind(BATCH);
        let rows = session.all(query).await?;
        let Some(last) = rows.last() else { return Ok(Some(no)) };
        place = last.try_get(0)?;
        for row in &rows {
            let problem = match problem(row, &scope, &kind) {
                Err(Fault::Corrupt(problem, _)) => Some(problem),
                found => found?,
            };
            if let Some(problem) = problem {
                let about = format!("{about}, place {}", own_of(row.try_get(0)?));
                report.findings.push(Finding::new(None, about, problem));
            }
            report.memories += 1;
        }
    }
}

/// Returns the problem with a record, if there is one.
fn problem(row: &PgRow, scope: &MemoryScope, kind: &str) -> Result<Option<&'static str>> {
    let record = record(row, [0, 1, 2])?;
    let source = record.source.as_ref();
    let alike = record.scope == *scope
        && record.kind == kind
        && record.id.as_str() == text(row, 3)?
        && record.key.as_deref() == optional_text(row, 4)?
        && source.map(|source| source.session.as_str()) == optional_text(row, 5)?
        && source.and_then(|source| Some(source.message.as_ref()?.as_str()))
            == optional_text(row, 6)?
        && signed(record.text.len()) == row.try_get::<i64, _>(7)?;
    if !alike {
        return Ok(Some("the columns of its row differ from the record"));
    }
    if row.try_get::<i64, _>(1)? < 1 {
        return Ok(Some("its version is less than 1"));
    }
    let Some(model) = optional_text(row, 8)? else { return Ok(None) };
    let vector = vector(row.try_get(0)?, model, row.try_get(10)?)?;
    let fits = row.try_get(9).is_ok_and(|length: i64| signed(vector.values.len()) == length);
    Ok((!fits).then_some("the length of its vector differs from the length in its row"))
}
