//! Adding many rows with few statements.
//!
//! Each statement is a round trip to the connection's thread, which costs more than most rows do.
//! Statements are prepared for a few numbers of rows. A statement with more rows than needed is
//! filled up with empty rows.

use std::sync::OnceLock;

use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{SqlSafeStr, Sqlite};

/// The numbers of rows of the statements, ascending. Any other number uses the next larger
/// statement. Empty rows have a cost too.
const SIZES: [usize; 11] = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64];
/// The maximum number of rows of a statement.
const MOST: usize = SIZES[SIZES.len() - 1];

/// NULL, the value of every column of an empty row.
const NONE: Option<i64> = None;

/// Adds rows of a table whose first column is never null.
pub(crate) struct BatchInsert {
    into: String,
    columns: usize,
    /// Built when they are first used.
    statements: [OnceLock<String>; SIZES.len()],
}

/// Rows that one statement adds.
pub(crate) struct InsertBatch<'a, T> {
    pub(crate) rows: &'a [T],
    statement: &'static str,
    /// The number of values of the empty rows.
    blank: usize,
}

impl BatchInsert {
    pub(crate) fn new(table: &str, columns: &[String]) -> Self {
        Self {
            into: format!("INSERT INTO {table} ({})", columns.join(", ")),
            columns: columns.len(),
            statements: Default::default(),
        }
    }

    fn statement(&self, size: usize) -> &str {
        self.statements[size].get_or_init(|| {
            let row = format!("({})", vec!["?"; self.columns].join(", "));
            let (into, values) = (&self.into, vec![row; SIZES[size]].join(", "));
            match SIZES[size] {
                1 => format!("{into} VALUES {values}"),
                _ => format!("{into} SELECT * FROM (VALUES {values}) WHERE column1 IS NOT NULL"),
            }
        })
    }

    pub(crate) fn with_columns(table: &str, columns: &[&str]) -> Self {
        Self::new(table, &columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    /// Splits rows into groups, each with the statement that adds it.
    pub(crate) fn batches<'a, T>(
        &'static self,
        rows: &'a [T],
    ) -> impl Iterator<Item = InsertBatch<'a, T>> {
        rows.chunks(MOST).map(|rows| {
            let size = SIZES.partition_point(|size| *size < rows.len()).min(SIZES.len() - 1);
            let blank = (SIZES[size] - rows.len()) * self.columns;
            InsertBatch { rows, statement: self.statement(size), blank }
        })
    }

    /// Returns all statements, for the test that prepares them.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        (0..SIZES.len()).map(|size| self.statement(size))
    }
}

impl<'a, T> InsertBatch<'a, T> {
    /// Returns the statement with all its values. `bind` binds the values of one row.
    pub(crate) fn query<'q>(
        &self,
        bind: impl FnMut(
            Query<'q, Sqlite, SqliteArguments>,
            &'a T,
        ) -> Query<'q, Sqlite, SqliteArguments>,
    ) -> Query<'q, Sqlite, SqliteArguments> {
        let query = self.rows.iter().fold(sqlx::query(self.statement.into_sql_str()), bind);
        (0..self.blank).fold(query, |query, _| query.bind(NONE))
    }
}
