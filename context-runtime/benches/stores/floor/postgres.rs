//! tokio-postgres with prepared statements, one connection.

use async_trait::async_trait;
use context_runtime::store::Node;
use tokio_postgres::{Client, Statement};

use super::{Floor, columns};
use crate::bare_servers;

const APPEND: &str = "WITH new AS (
        INSERT INTO message(id, role, content, words)
        SELECT id, role, content, to_tsvector('simple', words)
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given(id, role, content, words))
    UPDATE branch SET head = $5 WHERE id = 1";
const SEARCH: &str = "SELECT id, content, ts_rank(words, query)
    FROM message, to_tsquery('simple', $1) AS query WHERE words @@ query ORDER BY 3 DESC, seq DESC LIMIT 20";

pub(crate) struct BareConnection {
    client: Client,
    append: Statement,
    scan: Statement,
    search: Statement,
}

impl BareConnection {
    pub(crate) async fn create(url: &str, schema: &str) -> Self {
        let client = bare_servers::postgres(url).await;
        let tables = format!(
            "CREATE SCHEMA {schema}; SET search_path = {schema};
             CREATE TABLE message(seq BIGSERIAL PRIMARY KEY, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
                 content TEXT NOT NULL, words TSVECTOR NOT NULL);
             CREATE INDEX message_words ON message USING gin(words) WITH (fastupdate = off);
             CREATE TABLE branch(id INTEGER PRIMARY KEY, head TEXT);
             INSERT INTO branch VALUES (1, NULL);"
        );
        client.batch_execute(&tables).await.unwrap();
        let append = client.prepare(APPEND).await.unwrap();
        let scan =
            client.prepare("SELECT id, role, content FROM message ORDER BY seq").await.unwrap();
        let search = client.prepare(SEARCH).await.unwrap();
        Self { client, append, scan, search }
    }
}

#[async_trait(?Send)]
impl Floor for BareConnection {
    async fn append(&self, nodes: &[Node]) {
        let texts: Vec<String> =
            nodes.iter().map(|node| node.message().unwrap().readable_text()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (mut ids, mut roles, mut contents) = (Vec::new(), Vec::new(), Vec::new());
        for (id, role, content) in nodes.iter().map(columns) {
            ids.push(id);
            roles.push(role);
            contents.push(content);
        }
        let head = *ids.last().unwrap();
        self.client.execute(&self.append, &[&ids, &roles, &contents, &texts, &head]).await.unwrap();
    }

    async fn scan(&self) -> usize {
        let rows = self.client.query(&self.scan, &[]).await.unwrap();
        let texts = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
        std::hint::black_box(texts.collect::<Vec<(String, String, String)>>()).len()
    }

    async fn search(&self, words: &[String]) -> Option<usize> {
        let rows = self.client.query(&self.search, &[&words.join(" & ")]).await.unwrap();
        let hits = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
        Some(std::hint::black_box(hits.collect::<Vec<(String, String, f32)>>()).len())
    }
}
