//! rusqlite with cached statements, in the calling thread.

use std::path::Path;

use async_trait::async_trait;
use context_runtime::store::Node;
use rusqlite::{Connection, params};

use super::{Floor, columns};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456; PRAGMA cache_size = -65536;
    CREATE TABLE message(seq INTEGER PRIMARY KEY, id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL);
    CREATE UNIQUE INDEX message_id ON message(id);
    CREATE TABLE branch(id INTEGER PRIMARY KEY, head TEXT);
    INSERT INTO branch VALUES (1, NULL);
    CREATE VIRTUAL TABLE words USING fts5(text, content = '', contentless_delete = 1, tokenize = 'unicode61');";

pub(crate) struct BareConnection(Connection);

impl BareConnection {
    pub(crate) fn create(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        Self(connection)
    }

    fn execute(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) {
        self.0.prepare_cached(sql).unwrap().execute(values).unwrap();
    }
}

#[async_trait(?Send)]
impl Floor for BareConnection {
    async fn append(&self, nodes: &[Node]) {
        self.execute("BEGIN IMMEDIATE", &[]);
        for node in nodes {
            let (id, role, text) = columns(node);
            self.execute(
                "INSERT INTO message(id, role, content) VALUES (?1, ?2, ?3)",
                params![id, role, text],
            );
            let (row, words) =
                (self.0.last_insert_rowid(), node.message().unwrap().readable_text());
            self.execute("INSERT INTO words(rowid, text) VALUES (?1, ?2)", params![row, words]);
        }
        let head = nodes.last().map(|node| node.id.as_str());
        self.execute("UPDATE branch SET head = ?1 WHERE id = 1", params![head]);
        self.execute("COMMIT", &[]);
    }

    async fn scan(&self) -> usize {
        let mut scan =
            self.0.prepare_cached("SELECT id, role, content FROM message ORDER BY seq").unwrap();
        let text = |row: &rusqlite::Row<'_>, column| row.get::<_, String>(column);
        let rows =
            scan.query_map([], |row| Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?))).unwrap();
        std::hint::black_box(rows.collect::<Result<Vec<_>, _>>().unwrap()).len()
    }

    async fn search(&self, words: &[String]) -> Option<usize> {
        let sql = "SELECT m.id, m.content, hit.rank FROM
            (SELECT rowid, rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT 20) AS hit
            JOIN message AS m ON m.seq = hit.rowid ORDER BY hit.rank";
        let mut search = self.0.prepare_cached(sql).unwrap();
        let rows = search.query_map([words.join(" ")], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, f64>(2)?))
        });
        Some(std::hint::black_box(rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()).len())
    }
}
