//! Collecting the sound rows of a damaged file in a database of their own.
//!
//! The trees of the file are walked from their roots, so that deleted rows stay deleted. Where a
//! page of a tree is damaged, the pages below it are found among those that no tree reaches and
//! that are not free, and their rows by their checksums, which name the table.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use context_core::trajectory::{AgentRef, RoundRef};
use context_core::{CancelSignal, Error, ErrorKind, Retry};
use context_store_kit::salvage::{Loss, LostKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};

use super::cells::{TreePage, TreeRow, free_pages, likely_free_pages, tree_page};
use super::pages::Pages;
use super::tables::{SavedTable, Worth, numbers, saved};
use crate::checksums::Value;
use crate::error::{Fault, Result};
use crate::schema;
use crate::sql::run;

const OPERATION: &str = "salvage";

/// The indexes and derived tables that say which rows there were: their names, the table, and the
/// number of values in front of the number of the row.
const INDEXES: [(&str, &str); 8] = [
    ("sqlite_autoindex_chat_1", "chat"),
    ("sqlite_autoindex_branch_1", "branch"),
    ("branch_parent", "parent"),
    ("sqlite_autoindex_stream_1", "stream"),
    ("fragment_chat", "fragment"),
    ("revision_id", "revision"),
    ("sqlite_autoindex_memory_1", "memory"),
    ("trajectory_round_of", "trajectory_round"),
];

/// The content of a damaged file.
pub(super) struct RescuedRows {
    /// A database of the rows, which is deleted when the connection is closed.
    pub(super) connection: SqliteConnection,
    /// The pages and rows that are lost.
    pub(super) losses: Vec<Loss>,
}

struct Collector<'a> {
    pages: Pages,
    tables: Vec<SavedTable>,
    rescued: RescuedRows,
    cancel: &'a CancelSignal,
    /// The pages that belong to a tree.
    used: HashSet<u32>,
    /// Whether a page of a tree is damaged.
    has_holes: bool,
}

/// Collects the rows of a file.
pub(super) async fn collect(path: &Path, cancel: &CancelSignal) -> Result<RescuedRows> {
    let unreadable = |error: std::io::Error| {
        Error::new(ErrorKind::Unavailable, OPERATION, "the file cannot be read")
            .with_retry(Retry::Never)
            .with_source(error)
    };
    let mut connection = working_copy().await?;
    let tables = saved(&mut connection).await?;
    let pages = Pages::open(path).map_err(unreadable)?;
    let rescued = RescuedRows { connection, losses: Vec::new() };
    let (used, has_holes) = (HashSet::new(), false);
    let mut collector = Collector { pages, tables, rescued, cancel, used, has_holes };
    collector.run().await?;
    Ok(collector.rescued)
}

/// Creates an empty database without triggers, in a temporary file without a name.
async fn working_copy() -> Result<SqliteConnection> {
    const TRIGGERS: &str = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";
    const EXTRA: &str = "CREATE TABLE was_row (kind TEXT, no INTEGER, a, b, c, d);
        CREATE INDEX was_row_no ON was_row (kind, no);
        CREATE INDEX node_pos ON node (pos)";
    let options = SqliteConnectOptions::new().filename("").foreign_keys(false);
    let mut connection = options.connect().await?;
    schema::migrate(&mut connection, Some(false)).await?;
    for row in run(&mut connection, sqlx::query(TRIGGERS)).await? {
        let text = format!("DROP TRIGGER {}", row.try_get::<String, _>(0)?);
        run(&mut connection, sqlx::query(AssertSqlSafe(text))).await?;
    }
    sqlx::raw_sql(EXTRA).execute(&mut connection).await?;
    Ok(connection)
}

fn io_fault(error: std::io::Error) -> Fault {
    let message = "a page of the file cannot be read";
    Error::new(ErrorKind::Unavailable, OPERATION, message).with_source(error).into()
}

impl Collector<'_> {
    async fn run(&mut self) -> Result<()> {
        sqlx::query("BEGIN").execute(&mut self.rescued.connection).await?;
        if self.pages.cut_off > 0 {
            self.has_holes = true;
            let why =
                format!("the file is cut off: its last {} pages are lost", self.pages.cut_off);
            self.lose("the file", why);
        }
        let roots = self.roots()?;
        for at in 0..self.tables.len() {
            let Some(root) = roots.get(&self.tables[at].name).copied() else {
                let table = format!("table {}", self.tables[at].name);
                self.lose(table, "the schema of the file does not say where it is");
                self.has_holes = true;
                continue;
            };
            self.walk(root, &format!("table {}", self.tables[at].name.clone()), Some(at)).await?;
        }
        let named: HashMap<&str, &str> = INDEXES.into_iter().collect();
        for (name, root) in &roots {
            if self.tables.iter().any(|table| table.name == *name) {
                continue;
            }
            match named.get(&**name).copied() {
                Some(kind) => self.walk_index(*root, kind).await?,
                None if name == "chat_tally" => self.walk_index(*root, "tally").await?,
                None => self.mark(*root)?,
            }
        }
        if self.has_holes {
            self.orphans().await?;
        }
        sqlx::query("COMMIT").execute(&mut self.rescued.connection).await?;
        Ok(())
    }

    /// Notes a loss. The rows of `node` are derived from the messages.
    fn lose(&mut self, what: impl std::fmt::Display, why: impl Into<String>) {
        let what = what.to_string();
        if what.starts_with("table node,") {
            return;
        }
        self.rescued.losses.push(Loss::new(LostKind::Rows, what, why));
    }

    /// Reads a page of a tree that was not read before.
    fn page(&mut self, number: u32) -> Result<Option<TreePage>> {
        self.cancel.check(OPERATION)?;
        if !self.used.insert(number) {
            return Ok(None);
        }
        self.cancel.report("page", self.used.len() as u64);
        tree_page(&mut self.pages, number, &mut self.used).map_err(io_fault)
    }

    /// Returns the first page of each table and index.
    fn roots(&mut self) -> Result<HashMap<String, u32>> {
        let mut roots = HashMap::new();
        let mut next = vec![1];
        while let Some(number) = next.pop() {
            let Some(page) = self.page(number)? else {
                self.lose(format!("the schema, page {number}"), "the page is damaged");
                self.has_holes = true;
                continue;
            };
            next.extend(page.children);
            for row in page.rows {
                if let [_, Value::Text(name), _, Value::Int(root), ..] = &row.values[..]
                    && let Ok(root @ 1..) = u32::try_from(*root)
                {
                    check_version(name, row.values.get(4))?;
                    roots.insert(name.clone().into_owned(), root);
                }
            }
        }
        Ok(roots)
    }

    /// Saves the rows of a table.
    async fn walk(&mut self, root: u32, name: &str, table: Option<usize>) -> Result<()> {
        let mut next = vec![root];
        while let Some(number) = next.pop() {
            let page = self.page(number)?;
            let has_numbers = table.map(|at| self.tables[at].has_numbers);
            let fits =
                |page: &TreePage| page.rows.is_empty() || Some(page.has_numbers) == has_numbers;
            let Some(page) = page.filter(fits) else {
                self.set_aside(number);
                self.lose(format!("{name}, page {number}"), "the page is damaged");
                continue;
            };
            next.extend(page.children.iter().rev());
            if page.damaged > 0 {
                let why = format!("{} of its rows cannot be read", page.damaged);
                self.lose(format!("{name}, page {number}"), why);
            }
            let Some(at) = table else { continue };
            for row in page.rows {
                if !self.save(at, &row, false).await? {
                    self.set_aside(number);
                    let numbers = numbers(&self.tables[at], &row);
                    let what = format!("{name}, page {number}, row {numbers}");
                    self.lose(what, "its checksum differs");
                }
            }
        }
        Ok(())
    }

    /// Leaves a page that is damaged to [`orphans`](Self::orphans): it may be one of another table.
    fn set_aside(&mut self, number: u32) {
        self.has_holes = true;
        self.used.remove(&number);
    }

    /// Saves a row, and returns whether all of it is sound.
    async fn save(&mut self, table: usize, row: &TreeRow, is_orphan: bool) -> Result<bool> {
        let Self { tables, rescued, .. } = self;
        let table = &tables[table];
        let Some(mut values) = table.values(row) else { return Ok(false) };
        let worth = table.worth(&values, row.cut_off);
        match worth {
            Worth::Sound => {}
            Worth::Damaged => return Ok(false),
            Worth::Partly if is_orphan => return Ok(false),
            Worth::Partly => set_details_aside(&table.name, &mut values),
        }
        let added = table.add(&mut rescued.connection, &values).await?;
        Ok((added || is_orphan) && worth == Worth::Sound)
    }

    /// Notes which rows an index names.
    async fn walk_index(&mut self, root: u32, kind: &str) -> Result<()> {
        const NOTE: &str = "INSERT INTO was_row (kind, no, a, b, c, d) VALUES (?, ?, ?, ?, ?, ?)";
        let mut next = vec![root];
        while let Some(number) = next.pop() {
            // A damaged index loses nothing, because it is not a part of what is saved.
            let Some(page) = self.page(number)? else { continue };
            next.extend(page.children);
            for mut row in page.rows {
                let no = match row.number {
                    Some(number) => Value::Int(number),
                    None => row.values.pop().unwrap_or(Value::Null),
                };
                row.values.resize(row.values.len().max(5), Value::Null);
                let tally = kind == "tally";
                let values = row.values.into_iter().skip(usize::from(tally)).take(4);
                let query = no.bind(sqlx::query(NOTE).bind(kind));
                let query = values.fold(query, |query, value| value.bind(query));
                run(&mut self.rescued.connection, query).await?;
            }
        }
        Ok(())
    }

    /// Marks the pages of a tree that is not saved.
    fn mark(&mut self, root: u32) -> Result<()> {
        let mut next = vec![root];
        while let Some(number) = next.pop() {
            next.extend(self.page(number)?.map(|page| page.children).unwrap_or_default());
        }
        Ok(())
    }

    /// Saves the rows on pages that no tree reaches and that are not free.
    async fn orphans(&mut self) -> Result<()> {
        let free = match free_pages(&mut self.pages).map_err(io_fault)? {
            Some(free) => free,
            None => likely_free_pages(&mut self.pages).map_err(io_fault)?,
        };
        let mut orphans: Vec<u32> = (2..=self.pages.count)
            .filter(|number| !free.contains(number) && !self.used.contains(number))
            .collect();
        let first = self.tables.iter().position(|table| table.name == "trajectory_round");
        let first = first.unwrap_or(self.tables.len()) + 1;
        // The rows of a round are told by its names, so they come after all rounds.
        for tables in [0..first, first..self.tables.len()] {
            let rounds = if tables.start == 0 { HashMap::new() } else { self.rounds().await? };
            let mut left = Vec::new();
            for number in orphans {
                self.used.remove(&number);
                let Some(page) = self.page(number)? else { continue };
                for row in &page.rows {
                    for at in tables.clone() {
                        if self.save_orphan(at, row, &rounds).await? {
                            break;
                        }
                    }
                }
                left.push(number);
            }
            orphans = left;
        }
        Ok(())
    }

    async fn save_orphan(
        &mut self,
        table: usize,
        row: &TreeRow,
        rounds: &HashMap<i64, RoundRef>,
    ) -> Result<bool> {
        let candidate = &self.tables[table];
        let values = candidate.values(row);
        if !values.is_some_and(|values| candidate.takes_orphan(row, &values, rounds)) {
            return Ok(false);
        }
        self.save(table, row, true).await
    }

    /// Returns the rounds that were saved, by their numbers.
    async fn rounds(&mut self) -> Result<HashMap<i64, RoundRef>> {
        const ROUNDS: &str = "SELECT no, user, session, agent, round FROM trajectory_round";
        let mut rounds = HashMap::new();
        for row in run(&mut self.rescued.connection, sqlx::query(ROUNDS)).await? {
            let agent = AgentRef::new(
                row.try_get::<&str, _>(1)?,
                row.try_get::<&str, _>(2)?,
                row.try_get(3)?,
            );
            rounds.insert(row.try_get(0)?, agent.round(row.try_get(4)?));
        }
        Ok(rounds)
    }
}

/// Refuses a file whose rows have no checksums, because damage could not be told. The statement of
/// the first table says so, whatever else of the schema is lost.
fn check_version(name: &str, statement: Option<&Value<'static>>) -> Result<()> {
    match statement {
        Some(Value::Text(text)) if name == "chat" && !text.contains("name_sum") => {
            let message = "the file is of another program, or of a version without checksums, in \
                           which damage cannot be told";
            Err(Error::new(ErrorKind::Unsupported, OPERATION, message).into())
        }
        _ => Ok(()),
    }
}

/// Replaces what cannot be trusted in a chat or a branch whose row is damaged.
fn set_details_aside(table: &str, values: &mut HashMap<&str, Value<'static>>) {
    let mut set = |column: &'static str, value: Value<'static>| values.insert(column, value);
    match table {
        "chat" => {
            set("title", Value::Null);
            set("metadata", Value::from("{}".to_owned()));
            set("active", Value::from("main".to_owned()));
            set("created_at", Value::Int(0));
            set("sum", Value::Null);
        }
        _ => {
            set("sum", Value::Null);
        }
    }
}
