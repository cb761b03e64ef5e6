//! The floor: the same work with rusqlite alone, without owners, idempotency, branches or
//! revisions.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use context_runtime::store::Node;
use rusqlite::{Connection, ToSql, params};

use crate::data;

pub(crate) struct Floor {
    connection: Connection,
    /// The newest linked message.
    head: RefCell<Option<String>>,
    path: PathBuf,
    full_text: bool,
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
        PRIMARY KEY (segment, seq)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5(text, content = '', contentless_delete = 1, tokenize = 'unicode61');
    CREATE TABLE chat(
        user TEXT, id TEXT, title TEXT, metadata TEXT NOT NULL, active TEXT NOT NULL, created INTEGER NOT NULL,
        updated INTEGER NOT NULL, messages INTEGER NOT NULL, branches INTEGER NOT NULL, PRIMARY KEY (user, id));
    CREATE INDEX chat_recent ON chat(user, updated DESC, id);";

/// The number of messages in one transaction of a fill.
const FILLING: usize = 10_000;

impl Floor {
    pub(crate) fn create(path: &Path, full_text: bool) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection, head: RefCell::default(), path: path.to_owned(), full_text }
    }

    fn execute(&self, sql: &str, values: &[&dyn ToSql]) {
        self.connection.prepare_cached(sql).unwrap().execute(values).unwrap();
    }

    pub(crate) fn append(&self, nodes: &[Node]) {
        self.execute("BEGIN IMMEDIATE", &[]);
        nodes.iter().for_each(|node| self.insert(node));
        let id = nodes.last().map(|node| node.id.as_str());
        self.execute("UPDATE branch SET head = ?1, seq = seq + 1 WHERE id = 1", params![id]);
        self.execute("COMMIT", &[]);
    }

    fn insert(&self, node: &Node) {
        let (role, content) = columns(node);
        let parent = self.head.replace(Some(node.id.to_string()));
        let values = params![node.id.as_str(), parent, role, content];
        self.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", values);
        if self.full_text {
            let text = node.message().unwrap().readable_text();
            let row = self.connection.last_insert_rowid();
            self.execute("INSERT INTO words(rowid, text) VALUES (?1, ?2)", params![row, text]);
        }
    }

    /// Writes messages that each name the one before.
    pub(crate) fn fill_linked(&self, n: usize) {
        self.in_steps(n, |i| self.insert(&data::node(i)));
    }

    /// Writes the messages of a segment, in order.
    pub(crate) fn fill_segment(&self, segment: usize, n: usize) {
        self.in_steps(n, |i| {
            let node = data::node(i);
            let (role, content) = columns(&node);
            let values = params![segment as i64, i as i64, node.id.as_str(), role, content];
            self.execute("INSERT INTO segment VALUES (?1, ?2, ?3, ?4, ?5)", values);
        });
    }

    /// Writes chats without messages.
    pub(crate) fn fill_chats(&self, n: usize) {
        self.in_steps(n, |i| {
            let values = params![format!("chat-{i}"), i as i64];
            let sql = "INSERT INTO chat VALUES ('user', ?1, NULL, '{}', 'main', ?2, ?2, 0, 1)";
            self.execute(sql, values);
        });
    }

    fn in_steps(&self, n: usize, insert: impl Fn(usize)) {
        for first in (0..n).step_by(FILLING) {
            self.execute("BEGIN", &[]);
            (first..n.min(first + FILLING)).for_each(&insert);
            self.execute("COMMIT", &[]);
        }
    }

    /// Reads the messages of a segment: three text columns each.
    pub(crate) fn scan(&self, segment: usize) -> Vec<(String, String, String)> {
        let sql = "SELECT id, role, content FROM segment WHERE segment = ?1 ORDER BY seq";
        let mut scan = self.connection.prepare_cached(sql).unwrap();
        let rows = scan
            .query_map([segment as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    pub(crate) fn delete(&self, segment: usize) {
        self.execute("DELETE FROM segment WHERE segment = ?1", params![segment as i64]);
    }

    /// Returns the best twenty messages that have all words, with their text.
    pub(crate) fn search(&self, words: &[String]) -> usize {
        let sql = "SELECT m.id, m.content, hit.rank FROM
            (SELECT rowid, rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT 20) AS hit
            JOIN message AS m ON m.rowid = hit.rowid ORDER BY hit.rank";
        let mut search = self.connection.prepare_cached(sql).unwrap();
        let rows = search.query_map([words.join(" ")], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, f64>(2)?))
        });
        std::hint::black_box(rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()).len()
    }

    /// Lists all chats, by pages of this many, newest first. Returns their number.
    pub(crate) fn list(&self, limit: usize) -> usize {
        let sql = "SELECT id, title, metadata, active, created, updated, messages, branches FROM chat
            WHERE user = 'user' AND (updated, id) < (?1, ?2) ORDER BY updated DESC, id DESC LIMIT ?3";
        let mut select = self.connection.prepare_cached(sql).unwrap();
        let mut after = (i64::MAX, String::new());
        let mut listed = 0;
        loop {
            let rows = select.query_map(params![after.0, after.1, limit as i64], |row| {
                let text = |column| row.get::<_, Option<String>>(column);
                let number = |column| row.get::<_, i64>(column);
                Ok((
                    (text(0)?, text(1)?, text(2)?, text(3)?),
                    (number(4)?, number(5)?, number(6)?, number(7)?),
                ))
            });
            let page: Vec<_> =
                std::hint::black_box(rows.unwrap().collect::<Result<_, _>>().unwrap());
            listed += page.len();
            match page.last() {
                Some(((Some(id), ..), (_, updated, ..))) if page.len() == limit => {
                    after = (*updated, id.clone());
                }
                _ => return listed,
            }
        }
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
