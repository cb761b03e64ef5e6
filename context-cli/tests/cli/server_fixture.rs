//! A database and a Redis server for a single test, with snapshots of their content.

use context_conformance::server_url;
use context_servers::{Redis, RedisOptions};
use tokio_postgres::{Client, NoTls};

use crate::harness::Bench;
use crate::others_data::{bench, refusal};

/// A server location for a store, whose content can be changed and inspected directly.
pub(crate) trait ServerFixture {
    /// Returns the URL of a store.
    fn url(&self) -> String;
    /// Returns everything that a command could change, as text that is equal if nothing changed.
    fn everything(&self) -> Vec<String>;
}

/// A separate database on a shared server. Dropped at the end of a test that passes.
pub(crate) struct Postgres {
    runtime: tokio::runtime::Runtime,
    server: String,
    pub(crate) database: String,
}

impl Postgres {
    pub(crate) fn new(test: &str) -> Self {
        let url = server_url("CONTEXT_TEST_POSTGRES_URL");
        let server = url.rsplit_once('/').expect("a database is named").0.to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let database = format!("context_cli_{test}_{}", std::process::id());
        let fixture = Self { runtime: runtime.expect("a runtime"), server, database };
        fixture.on("postgres", &format!("CREATE DATABASE {}", fixture.database));
        fixture
    }

    /// Returns the URL of a store in a database.
    pub(crate) fn url_of(&self, database: &str, schema: &str) -> String {
        format!("{}/{database}?schema={schema}&connections=1", self.server)
    }

    pub(crate) fn with<T>(&self, database: &str, work: impl AsyncFnOnce(&Client) -> T) -> T {
        let url = format!("{}/{database}", self.server);
        self.runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&url, NoTls).await.expect("the server runs");
            let running = tokio::spawn(connection);
            let done = work(&client).await;
            drop(client);
            let _ended = running.await;
            done
        })
    }

    fn on(&self, database: &str, sql: &str) {
        self.with(database, async |client| {
            client.batch_execute(sql).await.expect("the server does it")
        });
    }

    /// Runs statements in the database.
    pub(crate) fn run(&self, sql: &str) {
        self.on(&self.database, sql);
    }

    /// Drops the database.
    pub(crate) fn drop(self) {
        self.on("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.database));
    }
}

impl ServerFixture for Postgres {
    fn url(&self) -> String {
        self.url_of(&self.database, "shop")
    }

    /// Returns the databases whose name starts with the name of this one, and all its schemas,
    /// columns, settings and rows.
    fn everything(&self) -> Vec<String> {
        let catalog = "SELECT format('%s %s %s %s %s', n.nspname, c.relname, c.relkind, a.attname,
                concat_ws(' ', obj_description(c.oid), c.reloptions)) AS line
              FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid
                LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
              WHERE n.nspname !~ '^(pg_|information_schema)'
            UNION ALL SELECT 'database ' || datname FROM pg_database WHERE datname LIKE current_database() || '%'
            UNION ALL SELECT format('sequence %s %s', sequencename, last_value) FROM pg_sequences
            UNION ALL SELECT 'extension ' || extname FROM pg_extension
            UNION ALL SELECT 'function ' || oid::regprocedure FROM pg_proc
              WHERE pronamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(pg_|information_schema)')
            ORDER BY 1";
        let tables =
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname !~ '^(pg_|information_schema)' AND c.relkind = 'r' ORDER BY 1";
        self.with(&self.database, async |client| {
            let texts = async |sql: &str| -> Vec<String> {
                let rows = client.query(sql, &[]).await.expect("the server answers");
                rows.iter().map(|row| row.get(0)).collect()
            };
            let mut all = texts(catalog).await;
            // The id of the transaction that wrote a row is compared as well.
            let rows = |table: &String| {
                format!("SELECT '{table} ' || r.xmin || ' ' || r::text FROM {table} r")
            };
            let rows: Vec<String> = texts(tables).await.iter().map(rows).collect();
            if !rows.is_empty() {
                all.extend(texts(&format!("{} ORDER BY 1", rows.join(" UNION ALL "))).await);
            }
            all
        })
    }
}

/// A server for this test alone.
pub(crate) struct OwnRedis(Redis);

impl OwnRedis {
    pub(crate) fn new() -> Self {
        let _wanted = server_url("CONTEXT_TEST_REDIS_URL");
        Self(Redis::start(RedisOptions::new()).expect("where there is one server there is another"))
    }

    pub(crate) fn connection(&self, database: u8) -> redis::Connection {
        let url = format!("{}/{database}", self.0.url().trim_end_matches('/'));
        let client = redis::Client::open(url).expect("an address");
        client.get_connection().expect("the server runs")
    }

    /// Sends a command, given as words separated by spaces.
    pub(crate) fn run(&self, command: &str) {
        let mut words = command.split(' ');
        let mut sent = redis::cmd(words.next().expect("a command"));
        let _done: redis::Value = sent
            .arg(words.collect::<Vec<_>>())
            .query(&mut self.connection(0))
            .expect("the server does it");
    }
}

impl ServerFixture for OwnRedis {
    fn url(&self) -> String {
        format!("{}?prefix=shop:", self.0.url())
    }

    /// Returns every key of the first databases with its value and expiry time.
    fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        for database in 0..3 {
            let mut server = self.connection(database);
            let mut keys: Vec<Vec<u8>> =
                redis::cmd("KEYS").arg("*").query(&mut server).expect("keys");
            keys.sort_unstable();
            for key in keys {
                let of_key = |name: &str| {
                    let mut command = redis::cmd(name);
                    command.arg(&key);
                    command
                };
                let kind: String = of_key("TYPE").query(&mut server).expect("a type");
                // A read may move entries of a large hash or set in the server's memory, and DUMP
                // shows them in that order.
                let unordered = match &*kind {
                    "hash" => Some("HGETALL"),
                    "set" => Some("SMEMBERS"),
                    _ => None,
                };
                let mut values: Vec<Vec<u8>> = match unordered {
                    Some(all) => of_key(all).query(&mut server).expect("entries"),
                    None => vec![of_key("DUMP").query(&mut server).expect("a value")],
                };
                match &*kind {
                    "hash" => values.as_chunks_mut::<2>().0.sort_unstable(),
                    _ => values.sort_unstable(),
                }
                let holds = values.join(&b' ');
                let goes: i64 = of_key("PEXPIRETIME").query(&mut server).expect("a time");
                all.push(format!(
                    "{database} {} {} {goes}",
                    key.escape_ascii(),
                    holds.escape_ascii()
                ));
            }
        }
        all
    }
}

/// Returns a command line of the table with the store at a URL.
pub(crate) fn on_store(line: &str, url: &str) -> String {
    match line.contains("sqlite:context.db") {
        true => line.replace("sqlite:context.db", url),
        false => format!("--store {url} {line}"),
    }
}

/// A folder with the files of the table.
pub(crate) struct RefusalFixture(pub(crate) Bench);

impl RefusalFixture {
    pub(crate) fn new() -> Self {
        Self(bench())
    }

    /// Checks that the command is refused with this kind of error, and returns the message.
    #[track_caller]
    pub(crate) fn is_refused(&self, line: &str, url: &str, expected: &str) -> String {
        let (status, kind, message) = refusal(&self.0, &on_store(line, url));
        assert_eq!((status, kind.as_str()), (1, expected), "{line} on {url}: {message}");
        message
    }
}
