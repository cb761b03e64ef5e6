//! A store for each test on each server.

use std::sync::Arc;

use context_conformance::server_url;
use context_runtime::Store;
use redis::AsyncCommands;
use tokio_postgres::NoTls;

/// A stored value that was changed.
pub(crate) struct Damage {
    /// Its place.
    pub(crate) what: String,
    undo: Undo,
}

enum Undo {
    Statement(String),
    /// A key and its value, as Redis dumps it.
    Key(Vec<u8>, Vec<u8>),
}

/// Random numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

/// Returns another value of a column, both as text.
fn changed(kind: &str, value: &str, numbers: &mut Numbers) -> Option<String> {
    if let Ok(number) = value.parse::<i64>()
        && kind != "text"
    {
        return Some(number.checked_add(1 + numbers.below(3) as i64)?.to_string());
    }
    // The text of bytes is `\x` and hexadecimal digits.
    let start = if kind == "bytea" { 2 } else { 0 };
    let mut text: Vec<char> = value.chars().collect();
    let at = start + numbers.below(text.len().checked_sub(start).filter(|rest| *rest > 0)?);
    text[at] = if text[at] == '1' { '2' } else { '1' };
    Some(text.into_iter().collect())
}

async fn postgres(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn redis(url: &str) -> redis::aio::MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// The stores of one test.
pub(crate) struct Servers {
    /// The schema on one server, the prefix on the other.
    name: String,
    postgres: String,
    redis: String,
    pub(crate) stores: Vec<(&'static str, Arc<dyn Store>)>,
}

impl Servers {
    pub(crate) async fn open(test: &str) -> Self {
        let name = format!("{test}_{}", std::process::id());
        let [postgres, redis] =
            ["CONTEXT_TEST_POSTGRES_URL", "CONTEXT_TEST_REDIS_URL"].map(server_url);
        let mut servers = Self { name, postgres, redis, stores: Vec::new() };
        for server in ["postgres", "redis"] {
            let store = servers.again(server).await.unwrap();
            servers.stores.push((server, store));
        }
        servers
    }

    /// Opens the store on a server once more.
    pub(crate) async fn again(&self, server: &str) -> context_runtime::Result<Arc<dyn Store>> {
        context_runtime::open(&self.url(server)).await
    }

    fn url(&self, server: &str) -> String {
        let Self { name, postgres, redis, .. } = self;
        match server {
            "postgres" => format!("{postgres}?schema={name}&connections=2"),
            _ => format!("{redis}?prefix={name}:"),
        }
    }

    /// Changes a stored value that the seed selects. `None` if the server refuses the change.
    pub(crate) async fn damage(&self, server: &str, seed: u64) -> Option<Damage> {
        match server {
            "postgres" => self.damage_row(&self.postgres, seed).await,
            _ => self.damage_key(&self.redis, seed).await,
        }
    }

    /// Sets a changed value back.
    pub(crate) async fn undo(&self, damage: Damage) {
        match damage.undo {
            Undo::Statement(statement) => {
                let client = postgres(&self.postgres).await;
                client.batch_execute(&statement).await.unwrap();
            }
            Undo::Key(key, dump) => {
                let mut connection = redis(&self.redis).await;
                let mut restore = redis::cmd("RESTORE");
                restore.arg(key).arg(0).arg(dump).arg("REPLACE");
                let () = restore.query_async(&mut connection).await.unwrap();
            }
        }
    }

    async fn damage_row(&self, url: &str, seed: u64) -> Option<Damage> {
        const COLUMNS: &str = "SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE n.nspname = $1 AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attgenerated = '' AND c.relname NOT IN ('store', 'migration')
              AND format_type(a.atttypid, NULL) IN ('bytea', 'text', 'bigint', 'integer')
            ORDER BY 1, 2";
        let (name, mut numbers) = (&self.name, Numbers(seed));
        let client = postgres(url).await;
        let columns = client.query(COLUMNS, &[name]).await.unwrap();
        for _ in 0..1_000 {
            let column = &columns[numbers.below(columns.len())];
            let [table, column, kind]: [String; 3] = [0, 1, 2].map(|at| column.get(at));
            let rows = format!(
                "SELECT ctid::text, \"{column}\"::text FROM {name}.\"{table}\"
                 WHERE \"{column}\" IS NOT NULL ORDER BY ctid"
            );
            let rows = client.query(&rows, &[]).await.unwrap();
            if rows.is_empty() {
                continue;
            }
            let row = &rows[numbers.below(rows.len())];
            let (place, value): (String, String) = (row.get(0), row.get(1));
            let Some(changed) = changed(&kind, &value, &mut numbers) else { continue };
            let set = |place: &str, value: &str| {
                let value = value.replace('\'', "''");
                format!(
                    "UPDATE {name}.\"{table}\" SET \"{column}\" = '{value}'::{kind}
                     WHERE ctid = '{place}' RETURNING ctid::text"
                )
            };
            // Constraints refuse some changes.
            let Ok(moved) = client.query(&set(&place, &changed), &[]).await else { continue };
            let Some(moved) = moved.first() else { continue };
            let what = format!("{table}.{column} of row {place}");
            return Some(Damage { what, undo: Undo::Statement(set(moved.get(0), &value)) });
        }
        None
    }

    async fn damage_key(&self, url: &str, seed: u64) -> Option<Damage> {
        let mut numbers = Numbers(seed);
        let mut connection = redis(url).await;
        let mut keys: Vec<Vec<u8>> = connection.keys(format!("{}:*", self.name)).await.unwrap();
        keys.sort();
        for _ in 0..1_000 {
            let key = &keys[numbers.below(keys.len())];
            let dump: Vec<u8> =
                redis::cmd("DUMP").arg(key).query_async(&mut connection).await.unwrap();
            let kind: String =
                redis::cmd("TYPE").arg(key).query_async(&mut connection).await.unwrap();
            let flipped = |mut value: Vec<u8>, numbers: &mut Numbers| {
                let at = numbers.below(value.len().max(1));
                value.get_mut(at).map(|byte| *byte ^= 1 << numbers.below(7))?;
                Some(value)
            };
            let what = match &*kind {
                "hash" => {
                    let mut fields: Vec<(Vec<u8>, Vec<u8>)> =
                        connection.hgetall(key).await.unwrap();
                    fields.sort();
                    let (field, value) = fields.swap_remove(numbers.below(fields.len()));
                    let Some(value) = flipped(value, &mut numbers) else { continue };
                    let shown = String::from_utf8_lossy(&field).into_owned();
                    let _added: u64 = connection.hset(key, field, value).await.unwrap();
                    format!("field {shown} of {}", String::from_utf8_lossy(key))
                }
                "string" => {
                    let value: Vec<u8> = connection.get(key).await.unwrap();
                    let Some(value) = flipped(value, &mut numbers) else { continue };
                    let () = connection.set(key, value).await.unwrap();
                    String::from_utf8_lossy(key).into_owned()
                }
                _ => continue,
            };
            return Some(Damage { what, undo: Undo::Key(key.clone(), dump) });
        }
        None
    }

    /// Removes what stores leave after all users are erased. Not on drop, so that a failed test can
    /// be inspected.
    pub(crate) async fn clear(self) {
        let Self { name, postgres, redis, stores } = self;
        drop(stores);
        let (client, connection) = tokio_postgres::connect(&postgres, NoTls).await.unwrap();
        let running = tokio::spawn(connection);
        client.batch_execute(&format!("DROP SCHEMA {name} CASCADE")).await.unwrap();
        drop(client);
        running.await.unwrap().unwrap();
        let client = redis::Client::open(redis).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let keys: Vec<Vec<u8>> = connection.keys(format!("{name}:*")).await.unwrap();
        if !keys.is_empty() {
            let _removed: u64 = connection.del(keys).await.unwrap();
        }
    }
}
