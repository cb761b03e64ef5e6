//! tokio-postgres with prepared statements.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, Statement};

use super::pool::Pool;
use super::{Failed, PAGE, Row};

/// Our default.
const CONNECTIONS: usize = 4;
/// An append is two journeys, as one of ours is: the row of the head is read, and one statement,
/// which is one transaction, moves the head if it still is that one, and adds the messages.
const APPEND: &str = "WITH moved AS (
        INSERT INTO head AS stored (chat, id, length) VALUES ($1, $2, $3)
        ON CONFLICT (chat) DO UPDATE SET id = $2, length = stored.length + $3
            WHERE stored.id = $4
        RETURNING length)
    INSERT INTO message(chat, position, id, body, words)
    SELECT $1, moved.length - $3 + given.at, given.id, given.body,
        to_tsvector('simple', given.text)
    FROM moved, unnest($5::text[], $6::text[], $7::text[]) WITH ORDINALITY
        AS given(id, body, text, at)";
const HEAD: &str = "SELECT id FROM head WHERE chat = $1";
const NEWEST: &str = "SELECT id, body FROM message WHERE chat = $1 ORDER BY position DESC LIMIT $2";

pub(super) struct Database {
    connections: Pool<Connection>,
}

struct Connection {
    client: Client,
    append: Statement,
    head: Statement,
    newest: Statement,
}

impl Database {
    pub(super) async fn open(url: &str, schema: &str) -> Self {
        let tables = format!(
            "CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema};
             CREATE TABLE IF NOT EXISTS message(chat TEXT, position BIGINT, id TEXT NOT NULL,
                 body TEXT NOT NULL, words TSVECTOR, PRIMARY KEY(chat, position),
                 UNIQUE(chat, id));
             CREATE TABLE IF NOT EXISTS head(chat TEXT PRIMARY KEY, id TEXT NOT NULL,
                 length BIGINT NOT NULL);
             CREATE INDEX IF NOT EXISTS message_words ON message USING gin(words);"
        );
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(async move { connection.await.unwrap() });
            client.batch_execute(&tables).await.unwrap();
            let append = client.prepare(APPEND).await.unwrap();
            let head = client.prepare(HEAD).await.unwrap();
            let newest = client.prepare(NEWEST).await.unwrap();
            connections.push(Connection { client, append, head, newest });
        }
        Self { connections: Pool::new(connections) }
    }

    /// Returns whether the messages are new.
    pub(super) async fn append(&self, chat: String, rows: Vec<Row>) -> Result<bool, Failed> {
        let newest = rows.last().map(|row| row.id.clone()).ok_or(Failed)?;
        let count = rows.len() as i64;
        let column = |of: fn(&Row) -> &str| rows.iter().map(of).collect::<Vec<_>>();
        let ids = column(|row| row.id.as_str());
        let (bodies, texts) = (column(|row| row.body.as_str()), column(|row| row.text.as_str()));
        let of = self.connections.take().await;
        loop {
            let head = of.client.query_opt(&of.head, &[&chat]).await.map_err(|_| Failed)?;
            let expected: Option<String> = head.map(|row| row.get(0));
            let written = of
                .client
                .execute(&of.append, &[&chat, &newest, &count, &expected, &ids, &bodies, &texts])
                .await;
            match written {
                // Another request has moved the head.
                Ok(0) => {}
                Ok(_) => return Ok(true),
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                    return Ok(false);
                }
                Err(_) => return Err(Failed),
            }
        }
    }

    /// Returns ids and bodies, newest first. `None` if there is no such chat.
    pub(super) async fn newest(
        &self,
        chat: String,
    ) -> Result<Option<Vec<(String, String)>>, Failed> {
        let of = self.connections.take().await;
        let head = of.client.query_opt(&of.head, &[&chat]).await.map_err(|_| Failed)?;
        if head.is_none() {
            return Ok(None);
        }
        let rows = of.client.query(&of.newest, &[&chat, &PAGE]).await.map_err(|_| Failed)?;
        Ok(Some(rows.iter().map(|row| (row.get(0), row.get(1))).collect()))
    }
}
