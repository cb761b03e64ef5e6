//! Rows as JSON text: the rows of a round in a table are read as one value.
//!
//! The driver returns every column of every row as a separate value, which costs more than the rows
//! themselves. The database therefore writes the rows as JSON, an array of arrays, which is parsed
//! here, row by row. Strings without escapes are borrowed.

use std::borrow::Cow;
use std::fmt;

use context_core::trajectory::RoundRef;
use context_store_kit::checksum::{Checksum, Fields};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};

use crate::checksums::rounds::{DIFFERS, rows_of};
use crate::error::{Fault, Result};

const UNREADABLE: Fault = Fault::Corrupt("rows of a round cannot be read", None);

/// The rows of one table: how they are read, and how they are checked.
pub(crate) struct RowsQuery {
    table: String,
    /// The number of columns.
    width: usize,
    /// An expression whose value is all rows of round `j.value`.
    pub(crate) list: String,
    /// Returns the rows of round ?1 one by one, for rounds that are too large for one value.
    pub(crate) each: String,
}

impl RowsQuery {
    /// Builds the statements for these columns of a table. The last one is the checksum.
    pub(crate) fn new(table: &str, columns: &[&str]) -> Self {
        let row: Vec<String> = columns.iter().map(|column| format!("t.{column}")).collect();
        let row = format!("json_array({})", row.join(", "));
        Self {
            table: table.to_owned(),
            width: columns.len(),
            list: format!(
                "(SELECT json_group_array({row}) FROM {table} t WHERE t.round = j.value)"
            ),
            each: format!("SELECT json_array({row}) FROM {table} t WHERE t.round = ?1"),
        }
    }

    /// Calls `read` for each row of a round in a list of rows.
    pub(crate) fn read<'a>(
        &self,
        round: &RoundRef,
        list: &'a str,
        read: impl FnMut(&mut CheckedRow<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        if list == "[]" {
            return Ok(());
        }
        let sums = RowChecksums { round: rows_of(&self.table, round), fields: Fields::default() };
        let mut rows = RowReader { width: self.width, sums, read, fault: None };
        let mut parser = serde_json::Deserializer::from_str(list);
        let parsed = parser.deserialize_seq(&mut rows).and_then(|()| parser.end());
        match (rows.fault, parsed) {
            (Some(fault), _) => Err(fault),
            (None, parsed) => parsed.map_err(|_| UNREADABLE),
        }
    }
}

/// Compares the rows of a round in one table with their checksums.
struct RowChecksums {
    /// The checksum of the names of the round, which each row's checksum begins with.
    round: Checksum,
    fields: Fields,
}

/// A row whose checksum is not compared yet.
pub(crate) struct CheckedRow<'r, 'a> {
    sums: &'r mut RowChecksums,
    cells: &'r mut [Cell<'a>],
}

impl<'r, 'a> CheckedRow<'r, 'a> {
    /// Compares the values of the row with the checksum in its last column, and returns them.
    pub(crate) fn check(&mut self) -> Result<Cells<'_, 'a>> {
        self.compare(0, 0)?;
        Ok(Cells(self.cells))
    }

    /// Compares an edge with its checksum. The position of the edge is in the bits above the
    /// checksum of the rest.
    pub(crate) fn check_edge(&mut self) -> Result<Cells<'_, 'a>> {
        match self.cells.first() {
            Some(Cell::Number(position)) => {
                let above = *position << 32;
                self.compare(1, above)?;
                Ok(Cells(self.cells))
            }
            _ => Err(DIFFERS),
        }
    }

    fn compare(&mut self, first: usize, above: i64) -> Result<()> {
        let Some((Cell::Number(kept), values)) = self.cells[first..].split_last() else {
            return Err(DIFFERS);
        };
        let fields = &mut self.sums.fields;
        fields.clear();
        for cell in values {
            match cell {
                Cell::Null => fields.none(),
                Cell::Number(number) => fields.int(*number),
                Cell::Text(text) => fields.text(text),
            }
        }
        let sum = i64::from(self.sums.round.clone().fields(fields).value());
        if sum | above == *kept { Ok(()) } else { Err(DIFFERS) }
    }
}

/// The columns of a row, from 0.
pub(crate) struct Cells<'r, 'a>(&'r mut [Cell<'a>]);

enum Cell<'a> {
    Null,
    Number(i64),
    Text(Cow<'a, str>),
}

const NO_TEXT: Fault = Fault::Corrupt("a column of a round is not a text", None);

impl<'a> Cells<'_, 'a> {
    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            _ => Err(NO_TEXT),
        }
    }

    /// Takes a text out of the row.
    pub(crate) fn take_text(&mut self, column: usize) -> Result<Cow<'a, str>> {
        match self.0.get_mut(column) {
            Some(Cell::Text(text)) => Ok(std::mem::take(text)),
            _ => Err(NO_TEXT),
        }
    }

    /// Returns a text, or `None` for NULL.
    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&str>> {
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

/// Parses a list of rows and hands each to a function.
struct RowReader<F> {
    width: usize,
    sums: RowChecksums,
    read: F,
    /// The error of the function, which ends the list.
    fault: Option<Fault>,
}

impl<'de, F: FnMut(&mut CheckedRow<'_, 'de>) -> Result<()>> Visitor<'de> for &mut RowReader<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> std::result::Result<(), A::Error> {
        // One list for all rows: a list for each would cost more than its content.
        let mut cells: Vec<Cell<'de>> = Vec::with_capacity(self.width);
        while rows.next_element_seed(RowSeed(&mut cells))?.is_some() {
            if cells.len() != self.width {
                return Err(A::Error::custom("a row of another length"));
            }
            let mut row = CheckedRow { sums: &mut self.sums, cells: &mut cells };
            if let Err(fault) = (self.read)(&mut row) {
                self.fault = Some(fault);
                return Err(A::Error::custom("a row that is not accepted"));
            }
            cells.clear();
        }
        Ok(())
    }
}

/// Appends the columns of a row.
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
