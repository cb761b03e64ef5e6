//! Checksums of rows, which are compared whenever a row is read.
//!
//! A row's checksum covers the name of its table, the values in the order of [`Table::columns`],
//! and, where rows are read for a named thing, that name. Rows that are written seldom are sealed
//! by a second statement in the same transaction ([`Table::seal`]). Rows that are written often get
//! their checksum along with their values.

pub(crate) mod rounds;

use std::borrow::Cow;

use context_store_kit::checksum::Checksum;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row, Sqlite, TypeInfo, ValueRef};

use crate::error::{Fault, OTHER_TYPE, Result};
use crate::sql::run;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

pub(crate) type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

impl<'a> Value<'a> {
    pub(crate) fn of(row: &'a SqliteRow, column: usize) -> Result<Self> {
        let raw = row.try_get_raw(column)?;
        let kind = raw.type_info();
        Ok(match kind.name() {
            _ if raw.is_null() => Self::Null,
            "INTEGER" => Self::Int(row.try_get(column)?),
            "TEXT" => Self::Text(Cow::Borrowed(row.try_get(column)?)),
            "BLOB" => Self::Blob(Cow::Borrowed(row.try_get(column)?)),
            _ => return Err(Fault::Corrupt(OTHER_TYPE, None)),
        })
    }

    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Blob(bytes) => Value::Blob(Cow::Owned(bytes.into_owned())),
        }
    }

    pub(crate) fn add_to(&self, sum: Checksum) -> Checksum {
        match self {
            Self::Null => sum.none(),
            Self::Int(number) => sum.int(*number),
            Self::Text(text) => sum.text(text),
            Self::Blob(bytes) => sum.bytes(bytes),
        }
    }

    pub(crate) fn bind<'q>(self, query: Statement<'q>) -> Statement<'q>
    where
        'a: 'q,
    {
        match self {
            Self::Null => query.bind(None::<i64>),
            Self::Int(number) => query.bind(number),
            Self::Text(Cow::Borrowed(text)) => query.bind(text),
            Self::Text(Cow::Owned(text)) => query.bind(text),
            Self::Blob(Cow::Borrowed(bytes)) => query.bind(bytes),
            Self::Blob(Cow::Owned(bytes)) => query.bind(bytes),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(Cow::Owned(bytes))
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A table whose rows have a checksum in the column `sum`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The columns that the checksum covers, those of the key first.
    pub(crate) columns: &'static [&'static str],
    /// The number of columns of the key.
    pub(crate) key: usize,
    /// The column that holds the checksum.
    pub(crate) sum: &'static str,
    /// The error message for a row whose checksum differs.
    differs: &'static str,
}

macro_rules! tables {
    ($($name:ident = $table:literal ($($key:literal),*) ($($column:literal),*) $sum:literal;)*) => {
        $(pub(crate) const $name: Table = Table {
            name: $table,
            columns: &[$($key,)* $($column),*],
            key: [$($key),*].len(),
            sum: $sum,
            differs: concat!("the checksum of a row of table ", $table, " differs"),
        };)*

        /// All tables with checksums.
        pub(crate) const ALL: &[&Table] = &[$(&$name),*];
    };
}

tables! {
    CHAT = "chat" ("no") ("title", "metadata", "active", "created_at") "sum";
    CHAT_NAME = "chat" ("no") ("user", "id") "name_sum";
    BRANCH = "branch" ("no") ("chat", "name", "parent", "base", "created_at") "sum";
    REVISION = "revision" ("no") ("chat", "id", "record", "replaced_at") "sum";
    CHECKPOINT = "checkpoint" ("chat", "name") ("message", "created_at") "sum";
    LEASE = "lease" ("chat") ("owner", "number", "until") "sum";
    APPLIED = "applied" ("chat", "key") ("digest", "branch", "head") "sum";
    FRAGMENT = "fragment" ("no") ("chat", "id", "kind", "version", "metadata", "body") "sum";
    FRAGMENT_VERSION = "fragment_version" ("chat", "number") ("place", "id", "kind", "version", "metadata",
        "body", "at", "message") "sum";
    REF_CHANGE = "ref_change" ("chat", "number") ("at", "change") "sum";
    BLOB = "blob" ("no") ("user", "hash", "size") "sum";
    BLOB_PIECE = "blob_piece" ("pos") ("data") "sum";
    BLOB_REF = "blob_ref" ("chat", "hash") ("blob", "media_type", "created_at", "used_at") "sum";
    STREAM = "stream" ("no") ("chat", "id", "state", "run", "writer", "chunks", "bytes", "error",
        "created_at", "started_at", "cancel_requested_at", "finished_at", "updated_at") "sum";
    STREAM_CHUNK = "stream_chunk" ("pos") ("data") "sum";
    SCOPE = "memory_scope" ("no") ("user", "key", "project", "agent", "session") "sum";
    KIND = "memory_kind" ("no") ("scope", "kind") "sum";
    SESSION = "memory_session" ("no") ("user", "session") "sum";
    // The other columns are derived from the body.
    MEMORY = "memory" ("place") ("version", "body") "sum";
    // The number of records per word is compared by the check.
    WORD = "memory_word" ("scope", "word", "kind") ("no") "sum";
    VECTOR = "memory_vector" ("place") ("model", "data") "sum";
}

impl Table {
    /// Returns the checksum of a row with these values, in the order of the columns.
    pub(crate) fn sum<'a>(&self, values: impl IntoIterator<Item = Value<'a>>) -> i64 {
        let sum = Checksum::of(self.name);
        i64::from(values.into_iter().fold(sum, |sum, value| value.add_to(sum)).value())
    }

    /// Compares a row that has the columns from `first` on with the checksum after them.
    pub(crate) fn check(&self, row: &SqliteRow, first: usize) -> Result<()> {
        let mut sum = Checksum::of(self.name);
        for column in first..first + self.columns.len() {
            sum = Value::of(row, column)?.add_to(sum);
        }
        self.compare(sum, row, first + self.columns.len())
    }

    /// Compares a row, given by its columns, with the checksum in another column.
    pub(crate) fn check_values<'a>(
        &self,
        values: impl IntoIterator<Item = Value<'a>>,
        row: &SqliteRow,
        column: usize,
    ) -> Result<()> {
        let sum = Checksum::of(self.name);
        self.compare(values.into_iter().fold(sum, |sum, value| value.add_to(sum)), row, column)
    }

    /// Compares a row, given by its columns, with a checksum.
    pub(crate) fn check_sum<'a>(
        &self,
        values: impl IntoIterator<Item = Value<'a>>,
        kept: i64,
    ) -> Result<()> {
        if self.sum(values) == kept { Ok(()) } else { Err(self.differs()) }
    }

    fn compare(&self, sum: Checksum, row: &SqliteRow, column: usize) -> Result<()> {
        let kept: Option<i64> = row.try_get(column)?;
        let kept = kept.and_then(|kept| u32::try_from(kept).ok()).ok_or_else(|| self.differs())?;
        sum.check(kept).map_err(|_| self.differs())
    }

    pub(crate) fn differs(&self) -> Fault {
        Fault::Corrupt(self.differs, None)
    }

    fn list(&self) -> String {
        self.columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
    }

    /// Adds the checksum to the rows that have none and whose columns have the given values.
    pub(crate) async fn seal(
        &self,
        connection: &mut SqliteConnection,
        filter: &[(&str, Value<'_>)],
    ) -> Result<()> {
        let mut text =
            format!("SELECT {} FROM {} WHERE {} IS NULL", self.list(), self.name, self.sum);
        for (at, (column, _)) in (1..).zip(filter) {
            text.push_str(&format!(" AND \"{column}\" = ?{at}"));
        }
        let select = filter
            .iter()
            .fold(sqlx::query(AssertSqlSafe(text)), |query, (_, value)| value.clone().bind(query));
        let rows = run(connection, select).await?;
        self.seal_rows(connection, &rows).await
    }

    /// Adds the checksum to rows, given by the columns that it covers.
    pub(crate) async fn seal_rows(
        &self,
        connection: &mut SqliteConnection,
        rows: &[SqliteRow],
    ) -> Result<()> {
        let keys: Vec<String> = (2..)
            .zip(&self.columns[..self.key])
            .map(|(at, key)| format!("\"{key}\" = ?{at}"))
            .collect();
        let text =
            format!("UPDATE {} SET {} = ?1 WHERE {}", self.name, self.sum, keys.join(" AND "));
        for row in rows {
            let values =
                (0..self.columns.len()).map(|at| Value::of(row, at)).collect::<Result<Vec<_>>>()?;
            let query = sqlx::query(AssertSqlSafe(text.clone())).bind(self.sum(values.clone()));
            let query =
                values.into_iter().take(self.key).fold(query, |query, value| value.bind(query));
            run(connection, query).await?;
        }
        Ok(())
    }

    /// Returns the next rows of the table in the order of its key: their columns, and the checksum
    /// after them.
    pub(crate) async fn next_rows(
        &self,
        connection: &mut SqliteConnection,
        after: Option<Vec<Value<'_>>>,
        limit: usize,
    ) -> Result<Vec<SqliteRow>> {
        let keys: Vec<String> =
            self.columns[..self.key].iter().map(|key| format!("\"{key}\"")).collect();
        let keys = keys.join(", ");
        let behind = after.as_ref().map_or(String::new(), |after| {
            let values: Vec<String> = (1..=after.len()).map(|at| format!("?{at}")).collect();
            format!("WHERE ({keys}) > ({})", values.join(", "))
        });
        let (list, name, sum) = (self.list(), self.name, self.sum);
        let text =
            format!("SELECT {list}, {sum} FROM {name} {behind} ORDER BY {keys} LIMIT {limit}");
        let query = sqlx::query(AssertSqlSafe(text));
        run(connection, after.into_iter().flatten().fold(query, |query, value| value.bind(query)))
            .await
    }
}
