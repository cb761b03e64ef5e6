//! The check of every row's checksum, of the order of keys, and of the schema.

use context_core::CancelSignal;
use context_core::store::{CheckReport, Finding, KeyOrder};
use sqlx::sqlite::SqliteConnection;

use crate::check::report_damage;
use crate::checksums::{ALL, Table, Value};
use crate::error::{Fault, Result};
use crate::schema;

/// The number of rows read at once.
const BATCH: usize = 64;

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    full_text: bool,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut rows = 0;
    for table in ALL {
        let walked = check_table(connection, table, cancel, report, &mut rows).await;
        report_damage(report, &format!("table {}", table.name), walked)?;
    }
    let compared = check_schema(connection, full_text, report).await;
    report_damage(report, "schema", compared)
}

async fn check_table(
    connection: &mut SqliteConnection,
    table: &Table,
    cancel: &CancelSignal,
    report: &mut CheckReport,
    checked: &mut u64,
) -> Result<()> {
    let mut order = KeyOrder::new("check", table.name);
    let mut after: Option<Vec<Value<'static>>> = None;
    loop {
        cancel.check("check")?;
        let rows = table.next_rows(connection, after.take(), BATCH).await?;
        for row in &rows {
            let key = (0..table.key).map(|at| Ok(Value::of(row, at)?.into_owned()));
            let key: Vec<Value<'static>> = key.collect::<Result<_>>()?;
            order.next(key.clone())?;
            if table.check(row, 0).is_err() {
                // The numbers of the key identify the row. Names belong to the user and are not
                // reported.
                let numbers = key.iter().filter_map(|value| match value {
                    Value::Int(number) => Some(number.to_string()),
                    _ => None,
                });
                let about =
                    format!("table {}, row {}", table.name, numbers.collect::<Vec<_>>().join("/"));
                report.findings.push(Finding::new(None, about, "its checksum differs"));
            }
            after = Some(key);
        }
        if rows.is_empty() {
            return Ok(());
        }
        *checked += rows.len() as u64;
        cancel.report("row", *checked);
    }
}

/// Compares tables, indexes, views and triggers with those that the migrations create.
async fn check_schema(
    connection: &mut SqliteConnection,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    if !schema::is_sealed(connection).await? {
        report.findings.push(Finding::new(None, "schema", "its checksum differs"));
    }
    let expected = schema::made_by_migrations(full_text).await?;
    let actual = schema::of(connection).await?;
    for (name, text) in expected {
        if actual.get(name) != Some(text) {
            report.findings.push(Finding::new(
                None,
                format!("schema {name}"),
                "differs from the schema that this program creates",
            ));
        }
    }
    for name in actual.keys().filter(|name| !expected.contains_key(*name)) {
        report.findings.push(Finding::new(
            None,
            format!("schema {name:?}"),
            "is not a part of the store",
        ));
    }
    Ok::<_, Fault>(())
}
