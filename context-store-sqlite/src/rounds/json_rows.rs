//! Rows as JSON text: the rows of many rounds are read as one value per round and table.
//!
//! The driver returns every column of every row as a separate value, which costs more than the rows
//! themselves. The database therefore writes the rows as JSON, an array of arrays, which is parsed
//! here. Strings without escapes are borrowed.

use std::borrow::Cow;
use std::fmt;

use context_core::trajectory::RoundRef;
use context_store_kit::checksum::{Checksum, Fields};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Row, SqlSafeStr};

use crate::checksums::rounds::{DIFFERS, rows_of};
use crate::error::{Fault, Result};
use crate::sql::run;

/// SQLite's error code for a value that exceeds the size limit.
const TOO_BIG: &str = "18";

/// The error for a row of a round that was not requested.
pub(crate) const STRAY: Fault =
    Fault::Corrupt("a row belongs to a round that was not requested", None);

/// The statements that read the rows of a table for some rounds.
pub(crate) struct RowsQuery {
    /// Returns the rows of all rounds of a list.
    pub(crate) all: String,
    /// Returns single rows, for rounds that are too large for one value.
    pub(crate) each: String,
}

impl RowsQuery {
    /// Builds the statements for these columns of `table`, which has the alias `t`. The column
    /// `round` must be in the JSON list ?1.
    pub(crate) fn new(table: &str, columns: &str) -> Self {
        Self {
            all: format!(
                "SELECT j.key, (SELECT json_group_array(json_array({columns})) FROM {table} t WHERE t.round = j.value) FROM json_each(?1) j"
            ),
            each: format!(
                "SELECT j.key, json_array(json_array({columns})) FROM json_each(?1) j CROSS JOIN {table} t ON t.round = j.value"
            ),
        }
    }
}

/// Lists of rows, each with the index of its round.
pub(crate) struct JsonRows(Vec<(usize, String)>);

impl JsonRows {
    /// Reads the rows of the rounds in a JSON list.
    pub(crate) async fn read(
        connection: &mut SqliteConnection,
        gather: &'static RowsQuery,
        list: &str,
    ) -> Result<Self> {
        match Self::run(connection, &gather.all, list).await {
            Err(Fault::Driver(error)) if is_too_big(&error) => {
                Self::run(connection, &gather.each, list).await
            }
            read => read,
        }
    }

    async fn run(
        connection: &mut SqliteConnection,
        text: &'static str,
        list: &str,
    ) -> Result<Self> {
        let rows = run(connection, sqlx::query(text.into_sql_str()).bind(list)).await?;
        let lists = rows.iter().map(|row| {
            let at = usize::try_from(row.try_get::<i64, _>(0)?).map_err(|_| STRAY)?;
            Ok((at, row.try_get::<String, _>(1)?))
        });
        Ok(Self(lists.collect::<Result<_>>()?))
    }

    /// Returns the rows of each list.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = Result<(usize, Rows<'_>)>> {
        const UNREADABLE: Fault = Fault::Corrupt("rows of a round cannot be read", None);
        let lists = self.0.iter().filter(|(_, list)| list != "[]");
        lists.map(|(at, list)| Ok((*at, serde_json::from_str(list).map_err(|_| UNREADABLE)?)))
    }
}

fn is_too_big(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == TOO_BIG)
}

/// Rows of equal width in one vector. A vector per row would cost more than its content.
pub(crate) struct Rows<'a> {
    width: usize,
    cells: Vec<Cell<'a>>,
}

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.cells.len() / self.width
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cells<'_, 'a>> {
        self.cells.chunks(self.width).map(Cells)
    }
}

/// Compares the rows of a round in one table with their checksums.
pub(crate) struct RowChecksums {
    /// The checksum of the names of the round, which each row's checksum begins with.
    round: Checksum,
    fields: Fields,
}

impl RowChecksums {
    pub(crate) fn of(table: &str, round: &RoundRef) -> Self {
        Self { round: rows_of(table, round), fields: Fields::default() }
    }

    /// Compares the values of a row with the checksum in its last column.
    pub(crate) fn check(&mut self, row: &Cells<'_, '_>) -> Result<()> {
        self.compare(row.0, 0)
    }

    /// Compares an edge with its checksum. The position of the edge is in the bits above the
    /// checksum of the rest.
    pub(crate) fn check_edge(&mut self, row: &Cells<'_, '_>) -> Result<()> {
        match row.0.split_first() {
            Some((Cell::Number(position), rest)) => self.compare(rest, *position << 32),
            _ => Err(DIFFERS),
        }
    }

    fn compare(&mut self, cells: &[Cell<'_>], above: i64) -> Result<()> {
        let Some((Cell::Number(kept), values)) = cells.split_last() else { return Err(DIFFERS) };
        self.fields.clear();
        for cell in values {
            match cell {
                Cell::Null => self.fields.none(),
                Cell::Number(number) => self.fields.int(*number),
                Cell::Text(text) => self.fields.text(text),
            }
        }
        let sum = i64::from(self.round.clone().fields(&self.fields).value());
        if sum | above == *kept { Ok(()) } else { Err(DIFFERS) }
    }
}

/// The columns of a row, from 0.
pub(crate) struct Cells<'r, 'a>(&'r [Cell<'a>]);

enum Cell<'a> {
    Null,
    Number(i64),
    Text(Cow<'a, str>),
}

impl<'r> Cells<'r, '_> {
    pub(crate) fn text(&self, column: usize) -> Result<&'r str> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            _ => Err(Fault::Corrupt("a column of a round is not a text", None)),
        }
    }

    /// Returns a text, or `None` for NULL.
    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&'r str>> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T> {
        const NO_NUMBER: Fault =
            Fault::Corrupt("a column of a round is not a number in its range", None);
        match self.0.get(column) {
            Some(Cell::Number(number)) => T::try_from(*number).map_err(|_| NO_NUMBER),
            _ => Err(NO_NUMBER),
        }
    }
}

impl<'de> Deserialize<'de> for Rows<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_seq(RowsVisitor)
    }
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = Rows<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> std::result::Result<Rows<'de>, A::Error> {
        let mut cells = Vec::new();
        let mut width = 0;
        while rows.next_element_seed(RowSeed(&mut cells))?.is_some() {
            if width == 0 {
                width = cells.len();
            }
            if width == 0 || !cells.len().is_multiple_of(width) {
                return Err(serde::de::Error::custom("rows are of different length"));
            }
        }
        Ok(Rows { width: width.max(1), cells })
    }
}

/// Appends a row to the others.
struct RowSeed<'r, 'de>(&'r mut Vec<Cell<'de>>);

impl<'de> DeserializeSeed<'de> for RowSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> std::result::Result<(), A::Error> {
        while let Some(cell) = row.next_element()? {
            self.0.push(cell);
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a whole number or a text")
    }

    fn visit_unit<E>(self) -> std::result::Result<Cell<'de>, E> {
        Ok(Cell::Null)
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Cell<'de>, E> {
        Ok(Cell::Number(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<Cell<'de>, E> {
        i64::try_from(number).map(Cell::Number).map_err(|_| E::custom("too large"))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text)))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> std::result::Result<Cell<'de>, E> {
        Err(E::custom("a number with a fraction"))
    }
}
