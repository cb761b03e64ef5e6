//! The tables whose rows are saved, and whether a row is sound.

use std::collections::HashMap;

use context_core::trajectory::{RoundRef, TrajectoryNodeKind};
use context_store_kit::pack;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::cells::TreeRow;
use crate::checksums::rounds::{EDGE, MESSAGE, edge_sum, head_sum, sum_of};
use crate::checksums::{ALL, CHAT, CHAT_NAME, Table, Value};
use crate::error::{Fault, Result};
use crate::memories::WordList;
use crate::rounds::node_tables;
use crate::sql::run;

/// The tables whose rows are saved, those first that others refer to. The rest can be derived, or
/// is not a part of what is saved.
const SAVED: [&str; 19] = [
    "chat",
    "branch",
    "run",
    "node",
    "revision",
    "checkpoint",
    "fragment",
    "blob",
    "blob_piece",
    "blob_ref",
    "stream",
    "stream_chunk",
    "memory_scope",
    "memory_kind",
    "memory",
    "memory_word",
    "memory_words",
    "memory_vector",
    "trajectory_round",
];
const OF_ROUNDS: [&str; 3] = ["trajectory_edge", "trajectory_version", "trajectory_message"];

/// A table, as its rows are in a file.
#[derive(Debug)]
pub(super) struct SavedTable {
    pub(super) name: String,
    /// The columns in the order in which they are stored.
    columns: Vec<String>,
    /// The column that is the number of the row and is not stored itself.
    number: Option<usize>,
    /// The number of columns that every row has, whichever version wrote it.
    pub(super) has_numbers: bool,
}

/// The worth of a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// All of it is sound, or whoever reads its values compares their checksums.
    Sound,
    /// A chat whose names are sound, and the rest is not, or a branch that is damaged.
    Partly,
    Damaged,
}

/// Returns the tables in the order in which they are saved.
pub(super) async fn saved(connection: &mut SqliteConnection) -> Result<Vec<SavedTable>> {
    let of_kinds = TrajectoryNodeKind::ALL.map(node_tables::name);
    let names = SAVED.into_iter().map(str::to_owned).chain(of_kinds);
    let mut tables = Vec::new();
    for name in names.chain(OF_ROUNDS.map(str::to_owned)) {
        tables.push(SavedTable::of(connection, name).await?);
    }
    Ok(tables)
}

impl SavedTable {
    async fn of(connection: &mut SqliteConnection, name: String) -> Result<Self> {
        const COLUMNS: &str = "SELECT i.name, i.type, i.pk, l.wr FROM pragma_table_info(?1) i
            JOIN pragma_table_list l ON l.name = ?1 ORDER BY i.cid";
        let rows = run(connection, sqlx::query(COLUMNS).bind(name.as_str())).await?;
        let mut columns = Vec::new();
        let (mut number, mut has_numbers) = (None, true);
        for row in &rows {
            let column: (String, &str) = (row.try_get(0)?, row.try_get(1)?);
            let (key, without): (i64, bool) = (row.try_get(2)?, row.try_get(3)?);
            has_numbers = !without;
            if has_numbers && key == 1 && column.1 == "INTEGER" {
                number = Some(columns.len());
            }
            columns.push((key, column.0));
        }
        if has_numbers {
            // A key of several columns is an index beside the table.
            let keys = columns.iter().filter(|(key, _)| *key > 0).count();
            number = number.filter(|_| keys == 1);
        } else {
            // The columns of the key are stored first.
            columns.sort_by_key(|(key, _)| if *key > 0 { *key } else { i64::MAX });
        }
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(Self { name, columns, number, has_numbers })
    }

    /// Returns the values of a row by column, or `None` if the row cannot be of this table.
    pub(super) fn values<'a>(
        &'a self,
        row: &'a TreeRow,
    ) -> Option<HashMap<&'a str, Value<'static>>> {
        if row.number.is_some() != self.has_numbers || row.values.len() > self.columns.len() {
            return None;
        }
        let named = self.columns.iter().map(String::as_str);
        let mut values: HashMap<&str, Value<'static>> =
            named.zip(row.values.iter().cloned()).collect();
        if let (Some(at), Some(number)) = (self.number, row.number) {
            values.insert(&self.columns[at], Value::Int(number));
        }
        Some(values)
    }

    /// Returns whether a row with these values is sound.
    pub(super) fn worth(&self, values: &HashMap<&str, Value<'static>>, cut_off: bool) -> Worth {
        let agrees = |table: &Table| {
            let covered = table.columns.iter().map(|column| values.get(*column).cloned());
            let Some(covered) = covered.collect::<Option<Vec<_>>>() else { return false };
            values.get(table.sum) == Some(&Value::Int(table.sum(covered)))
        };
        let mut sums = ALL.iter().filter(|table| table.name == self.name).peekable();
        if sums.peek().is_none() {
            // Each message of a run has its checksum, so what comes before a cut is kept.
            let may_be_cut = self.name == "run" && values.len() == 2;
            return if cut_off && !may_be_cut { Worth::Damaged } else { Worth::Sound };
        }
        let is_sound = !cut_off && sums.all(|table| agrees(table));
        match &*self.name {
            _ if is_sound => Worth::Sound,
            "chat" if agrees(&CHAT_NAME) && !agrees(&CHAT) => Worth::Partly,
            "branch" => Worth::Partly,
            _ => Worth::Damaged,
        }
    }

    /// Whether the row of a page that no tree reaches is one of this table, as far as its values
    /// tell. Rows of rounds are compared with the checksums of the rounds that are known.
    pub(super) fn takes_orphan(
        &self,
        row: &TreeRow,
        values: &HashMap<&str, Value<'static>>,
        rounds: &HashMap<i64, RoundRef>,
    ) -> bool {
        let sum = values.get("sum");
        match (&*self.name, &row.values[..]) {
            ("run", [Value::Null, Value::Blob(data)]) => {
                !row.cut_off && !data.is_empty() && pack::count(data).is_ok()
            }
            ("memory_words", [Value::Null, Value::Blob(list)]) => {
                WordList::from_bytes(list).is_ok()
            }
            ("run" | "memory_words" | "node", _) => false,
            ("trajectory_round", _) => match (values.get("head"), values.get("key")) {
                (Some(Value::Text(head)), Some(Value::Text(key))) => {
                    sum == Some(&Value::Int(head_sum(head, key)))
                }
                _ => false,
            },
            (name, _) if name.starts_with("trajectory_") => {
                let Some(Value::Int(no)) = values.get("round") else { return false };
                let Some(round) = rounds.get(no) else { return false };
                // The user of a link is that of the round.
                let is_covered = |column: &&String| {
                    let is_of_round = name == MESSAGE && *column == "user";
                    !is_of_round && !matches!(&***column, "round" | "sum")
                };
                let covered = self.columns.iter().filter(is_covered);
                let covered = covered.map(|column| values.get(column.as_str()).cloned());
                let Some(covered) = covered.collect::<Option<Vec<_>>>() else { return false };
                let expected = match (name, &covered[..]) {
                    (EDGE, [Value::Int(position), rest @ ..]) => {
                        edge_sum(round, *position, rest.iter().cloned())
                    }
                    _ => sum_of(name, round, covered),
                };
                sum == Some(&Value::Int(expected))
            }
            _ => true,
        }
    }

    /// Adds a row. Returns whether it was added; a row with the same key is not replaced.
    pub(super) async fn add(
        &self,
        connection: &mut SqliteConnection,
        values: &HashMap<&str, Value<'static>>,
    ) -> Result<bool> {
        let columns: Vec<&String> =
            self.columns.iter().filter(|column| values.contains_key(column.as_str())).collect();
        let names: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let (names, places) = (names.join(", "), places.join(", "));
        let text = format!("INSERT OR IGNORE INTO {} ({names}) VALUES ({places})", self.name);
        let query = columns.iter().filter_map(|column| values.get(column.as_str()));
        let query =
            query.fold(sqlx::query(AssertSqlSafe(text)), |query, value| value.clone().bind(query));
        match query.execute(connection).await.map_err(Fault::from) {
            Ok(done) => Ok(done.rows_affected() > 0),
            // A value is of another type than its column.
            Err(fault) if fault.is_refusal() => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

/// Returns the numbers of a row's key, which identify it without saying a name.
pub(super) fn numbers(table: &SavedTable, row: &TreeRow) -> String {
    if let Some(number) = row.number {
        return number.to_string();
    }
    let key = row.values.iter().take(if table.has_numbers { 0 } else { 2 });
    let numbers = key.filter_map(|value| match value {
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    });
    numbers.collect::<Vec<_>>().join("/")
}
