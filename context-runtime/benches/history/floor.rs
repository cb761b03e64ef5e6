//! The floor: the same work with rusqlite alone, without owners, idempotency, branches or revisions.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use context_runtime::Node;
use rusqlite::{Connection, params};

use crate::ours;

pub(crate) struct Floor {
    connection: Connection,
    /// The newest linked message.
    head: RefCell<Option<String>>,
    path: PathBuf,
}

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456;
    PRAGMA cache_size = -65536; PRAGMA foreign_keys = ON;
    CREATE TABLE message(id TEXT PRIMARY KEY, parent TEXT, role TEXT NOT NULL, content TEXT NOT NULL);
    CREATE INDEX message_parent ON message(parent);
    CREATE TABLE branch(id INTEGER PRIMARY KEY, head TEXT, seq INTEGER NOT NULL);
    INSERT INTO branch VALUES (1, NULL, 0);
    CREATE TABLE segment(
        segment INTEGER, seq INTEGER, id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL,
        PRIMARY KEY (segment, seq)) WITHOUT ROWID;";

impl Floor {
    pub(crate) fn create(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection, head: RefCell::default(), path: path.to_owned() }
    }

    pub(crate) fn append(&self, nodes: &[Node]) {
        let execute = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            self.connection.prepare_cached(sql).unwrap().execute(values).unwrap();
        };
        execute("BEGIN IMMEDIATE", &[]);
        nodes.iter().for_each(|node| self.insert(node));
        let id = nodes.last().map(|node| node.id.as_str());
        execute("UPDATE branch SET head = ?1, seq = seq + 1 WHERE id = 1", params![id]);
        execute("COMMIT", &[]);
    }

    fn insert(&self, node: &Node) {
        let (role, content) = columns(node);
        let parent = self.head.replace(Some(node.id.to_string()));
        let mut insert =
            self.connection.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4)").unwrap();
        insert.execute(params![node.id.as_str(), parent, role, content]).unwrap();
    }

    /// Messages that each name the one before them.
    pub(crate) fn fill_linked(&self, n: usize) {
        self.connection.execute_batch("BEGIN").unwrap();
        (0..n).for_each(|i| self.insert(&ours::node(i)));
        self.connection.execute_batch("COMMIT").unwrap();
    }

    /// Messages side by side, in order.
    pub(crate) fn fill_segment(&self, n: usize) {
        self.connection.execute_batch("BEGIN").unwrap();
        let mut insert =
            self.connection.prepare_cached("INSERT INTO segment VALUES (?1, ?2, ?3, ?4, ?5)").unwrap();
        for i in 0..n {
            let node = ours::node(i);
            let (role, content) = columns(&node);
            insert.execute(params![n as i64, i as i64, node.id.as_str(), role, content]).unwrap();
        }
        self.connection.execute_batch("COMMIT").unwrap();
    }

    /// The messages of a segment: three text columns each.
    pub(crate) fn scan(&self, segment: usize) -> Vec<(String, String, String)> {
        let sql = "SELECT id, role, content FROM segment WHERE segment = ?1 ORDER BY seq";
        let mut scan = self.connection.prepare_cached(sql).unwrap();
        let rows =
            scan.query_map([segment as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        std::fs::metadata(&self.path).unwrap().len()
    }
}

fn columns(node: &Node) -> (&'static str, &str) {
    let content = std::str::from_utf8(node.body().bytes()).unwrap();
    (node.role().unwrap().as_str(), content)
}
