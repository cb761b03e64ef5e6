//! tokio-postgres with prepared statements on a pool of connections.

use std::sync::Mutex;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Statement};

use super::{ROLES, ids};
use crate::bare_servers;
use crate::data;
use crate::place::Place;
use crate::run::{Side, Texts};

const TURN: &str = "WITH new AS (
        INSERT INTO message(chat, id, role, content)
        SELECT $1, id, role, content FROM unnest($2::text[], $3::text[], $4::text[]) AS given(id, role, content))
    UPDATE branch SET head = $5 WHERE chat = $1";
const TURN_WITH_WORDS: &str = "WITH new AS (
        INSERT INTO message(chat, id, role, content, words)
        SELECT $1, id, role, content, to_tsvector('simple', content)
        FROM unnest($2::text[], $3::text[], $4::text[]) AS given(id, role, content))
    UPDATE branch SET head = $5 WHERE chat = $1";
const READ: &str = "SELECT id, role, content FROM message WHERE chat = $1 ORDER BY seq";
const SEARCH: &str = "SELECT id, content, ts_rank(words, query)
    FROM message, plainto_tsquery('simple', $1) AS query WHERE words @@ query ORDER BY 3 DESC, seq DESC LIMIT 20";

pub(crate) struct Bare {
    reads: bool,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

struct Connection {
    client: Client,
    turn: Statement,
    read: Statement,
    search: Option<Statement>,
}

impl Bare {
    pub(crate) async fn create(
        place: &Place,
        full_text: bool,
        reads: bool,
        chats: usize,
        messages: usize,
    ) -> Self {
        let schema = place.name();
        let words = if full_text { ", words TSVECTOR NOT NULL" } else { "" };
        // Words do not wait, as in the store: what is left for later would not be measured.
        let index = match full_text {
            true => {
                "CREATE INDEX message_words ON message USING gin(words) WITH (fastupdate = off);"
            }
            false => "",
        };
        let tables = format!(
            "CREATE SCHEMA {schema}; SET search_path = {schema};
             CREATE TABLE message(chat INTEGER NOT NULL, seq BIGSERIAL, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
                 content TEXT NOT NULL{words}, PRIMARY KEY (chat, seq));
             {index}
             CREATE TABLE branch(chat INTEGER PRIMARY KEY, head TEXT);
             INSERT INTO branch SELECT generate_series(0, {chats} - 1)"
        );
        bare_servers::postgres(&place.url).await.batch_execute(&tables).await.unwrap();
        let mut idle = Vec::new();
        for _ in 0..place.connections {
            let client = bare_servers::postgres(&place.url).await;
            client.batch_execute(&format!("SET search_path = {schema}")).await.unwrap();
            let turn = if full_text { TURN_WITH_WORDS } else { TURN };
            let turn = client.prepare(turn).await.unwrap();
            let read = client.prepare(READ).await.unwrap();
            let search = if full_text { Some(client.prepare(SEARCH).await.unwrap()) } else { None };
            idle.push(Connection { client, turn, read, search });
        }
        let permits = Semaphore::new(idle.len());
        let bare = Self { reads, idle: Mutex::new(idle), permits };
        let texts: Vec<String> = (0..messages).map(data::text).collect();
        for chat in 0..chats {
            bare.insert(chat, &texts).await;
        }
        bare
    }

    async fn insert(&self, chat: usize, texts: &[String]) {
        let ids: Vec<String> = texts.iter().flat_map(|_| ids()).take(texts.len()).collect();
        let roles: Vec<&str> = (0..texts.len()).map(|i| ROLES[i % 2]).collect();
        let head = ids.last();
        let chat = chat as i32;
        self.with(async |connection| {
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&chat, &ids, &roles, &texts, &head];
            connection.client.execute(&connection.turn, &values).await.unwrap();
        })
        .await;
    }

    /// Runs work on a connection of the pool.
    async fn with(&self, work: impl AsyncFnOnce(&Connection)) {
        let _permit = self.permits.acquire().await.unwrap();
        let connection = self.idle.lock().unwrap().pop().unwrap();
        work(&connection).await;
        self.idle.lock().unwrap().push(connection);
    }
}

#[async_trait]
impl Side for Bare {
    async fn turn(&self, chat: usize, texts: &Texts) {
        if self.reads {
            self.with(async |connection| {
                let rows =
                    connection.client.query(&connection.read, &[&(chat as i32)]).await.unwrap();
                let rows = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
                std::hint::black_box(rows.collect::<Vec<(String, String, String)>>());
            })
            .await;
        }
        self.insert(chat, texts).await;
    }

    async fn search(&self, _chat: usize, words: &str) {
        self.with(async |connection| {
            if let Some(search) = &connection.search {
                let rows = connection.client.query(search, &[&words]).await.unwrap();
                let hits = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
                std::hint::black_box(hits.collect::<Vec<(String, String, f32)>>());
            }
        })
        .await;
    }

    async fn recall(&self, chat: usize, words: &str) {
        self.search(chat, words).await;
    }
}
