//! How a store is opened.
//!
//! What a URL leaves out, the driver takes from where every client of PostgreSQL looks: the
//! variables `PGHOST`, `PGUSER`, `PGPASSWORD` and so on, and `.pgpass`. Nothing else here reads the
//! environment.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use context_core::{Error, Result};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool};

const OPERATION: &str = "open";

/// The longest name PostgreSQL keeps; it cuts off the rest without a word.
const MAX_SCHEMA_BYTES: usize = 63;

/// What of a URL is the driver's to read.
const OF_THE_DRIVER: [&str; 16] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "application_name",
    "options",
];

/// Where the store is and how it is used.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresConfig {
    pub(crate) server: Server,
    /// The schema that holds the tables: a store of its own. Any name of up to 63 bytes.
    pub schema: String,
    /// Whether the store is only looked at. Nothing is written then: no database, schema, table,
    /// migration or row. Every piece of work is a transaction that the server itself lets only
    /// read, and each call that would write is
    /// [`Unsupported`](context_core::ErrorKind::Unsupported). `create` and `create_database` count
    /// for nothing.
    pub read_only: bool,
    /// Whether to make the schema if there is none, and to bring an older one up to date. Without,
    /// the role needs no more rights than to read and write the tables.
    pub create: bool,
    /// Whether to make the database if there is none, which the role must be allowed to
    /// (`CREATEDB`). Of no meaning without [`create`](Self::create), or with a pool of the
    /// caller's.
    pub create_database: bool,
    /// How many connections there are at most, at least one. Of no meaning with a pool of the
    /// caller's.
    pub connections: usize,
    /// How long to wait for a free connection, and for the server to take a new one.
    pub connect_timeout: Duration,
    /// How long an operation may take in all, waiting for other writers included. Upkeep may take
    /// longer.
    pub operation_timeout: Duration,
    /// How many prepared statements a connection keeps; 0 for a pooler that gives each transaction
    /// another connection. Of no meaning with a pool of the caller's.
    pub statement_cache: usize,
    /// Whether the schema has full-text search. This is decided when the schema is made; none means
    /// yes then, and whatever it is afterwards.
    pub full_text: Option<bool>,
    /// Whether to work under row-level security.
    pub row_security: bool,
    /// Whether to use the extension pgvector where the server has it, and to make it known to the
    /// database where the role may. Memories are then ranked by their vectors in the server, else
    /// in the program, which gives the same answers.
    pub pgvector: bool,
}

/// Whom to talk to.
#[derive(Clone)]
pub(crate) enum Server {
    /// Holds the password.
    At(Box<PgConnectOptions>),
    Pool(PgPool),
}

impl PostgresConfig {
    /// The store of schema `context` on the server that a URL of PostgreSQL names, such as
    /// `postgres://role:password@host:5432/database?sslmode=verify-full`. Four connections; ten
    /// seconds of patience for a connection, thirty for an operation.
    ///
    /// Options behind the `?` are those of the driver (`sslmode`, `sslrootcert`, `host`,
    /// `application_name`, …) and `schema=NAME`, `connections=N`, `connect_timeout_ms=N`,
    /// `operation_timeout_ms=N`, `statement_cache=N`, `create=true|false`,
    /// `create_database=true|false`, `full_text=on|off`, `row_security=on|off`, `pgvector=on|off`.
    ///
    /// What the URL leaves out of server, role, password, database and TLS comes from the
    /// environment (`PGHOST`, `PGPASSWORD`, `PGSSLMODE`, …) and from `.pgpass`, as for every client
    /// of PostgreSQL.
    ///
    /// ```
    /// use context_store_postgres::PostgresConfig;
    ///
    /// let config = PostgresConfig::from_url("postgres://ada@localhost/chats?schema=prod&connections=8")?;
    /// assert_eq!((config.schema.as_str(), config.connections), ("prod", 8));
    /// # Ok::<_, context_core::Error>(())
    /// ```
    pub fn from_url(url: &str) -> Result<Self> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(Error::invalid(OPERATION, "the url must begin with postgres://"));
        }
        let (server, options) = url.split_once('?').unwrap_or((url, ""));
        let mut theirs = Vec::new();
        let mut ours = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            if OF_THE_DRIVER.contains(&key) || key == "password" || key.starts_with("options[") {
                theirs.push(option);
            } else {
                ours.push((key, value));
            }
        }
        let server = if theirs.is_empty() {
            server.to_owned()
        } else {
            format!("{server}?{}", theirs.join("&"))
        };
        // What the driver says of a bad URL may quote it, and with it the password.
        let server = PgConnectOptions::from_str(&server)
            .map_err(|_| Error::invalid(OPERATION, "the url is not one of a PostgreSQL server"))?;
        let mut config = Self::of(Server::At(Box::new(server.disable_statement_logging())));
        for (key, value) in ours {
            let unknown = || Error::invalid(OPERATION, "unknown option in the url");
            match config.set(key, value) {
                Some(true) => {}
                Some(false) => {
                    return Err(
                        Error::invalid(OPERATION, "bad value in the url").with("option", key)
                    );
                }
                // Behind a `?` that nobody escaped, the rest of a password looks like options, up
                // to the @.
                None if options.contains('@') => return Err(unknown()),
                None => return Err(unknown().with("option", key)),
            }
        }
        config.check()?;
        Ok(config)
    }

    /// The store of schema `context` on connections that the program already has. Nothing is
    /// assumed of them and nothing is changed on them: every statement names the schema.
    ///
    /// The pool should be made with `test_before_acquire(false)` and a connection's options with
    /// `disable_statement_logging()`: both cost time, and what is logged has ids in it.
    pub fn from_pool(pool: PgPool) -> Self {
        Self::of(Server::Pool(pool))
    }

    fn of(server: Server) -> Self {
        Self {
            server,
            schema: "context".to_owned(),
            read_only: false,
            create: true,
            create_database: true,
            connections: 4,
            connect_timeout: Duration::from_secs(10),
            operation_timeout: Duration::from_secs(30),
            statement_cache: 256,
            full_text: None,
            row_security: false,
            pgvector: true,
        }
    }

    /// Sets what an option of a URL says. False if the value is none, nothing if the option is
    /// none.
    fn set(&mut self, key: &str, value: &str) -> Option<bool> {
        let millis = || value.parse().ok().map(Duration::from_millis);
        let known = match key {
            "schema" => decoded(value).map(|schema| self.schema = schema),
            "connections" => value.parse().ok().map(|connections| self.connections = connections),
            "connect_timeout_ms" => millis().map(|timeout| self.connect_timeout = timeout),
            "operation_timeout_ms" => millis().map(|timeout| self.operation_timeout = timeout),
            "statement_cache" => {
                value.parse().ok().map(|statements| self.statement_cache = statements)
            }
            "create" => value.parse().ok().map(|create| self.create = create),
            "create_database" => value.parse().ok().map(|create| self.create_database = create),
            "full_text" => switch_of(value).map(|on| self.full_text = Some(on)),
            "row_security" => switch_of(value).map(|on| self.row_security = on),
            "pgvector" => switch_of(value).map(|on| self.pgvector = on),
            _ => return None,
        };
        Some(known.is_some())
    }

    /// The schema that holds the tables.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Whether the store is only looked at: nothing is made, brought up to date or written.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether to make the schema and bring it up to date.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to make the database if there is none.
    #[must_use]
    pub fn create_database(mut self, create: bool) -> Self {
        self.create_database = create;
        self
    }

    /// How many connections there are at most.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// How long to wait for a connection.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long an operation may take.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// How many prepared statements a connection keeps. 0 behind PgBouncer in transaction mode,
    /// unless it is of version 1.21 or later and set up to follow prepared statements.
    #[must_use]
    pub fn statement_cache(mut self, statements: usize) -> Self {
        self.statement_cache = statements;
        self
    }

    /// Whether a new schema has full-text search, which is kept up to date within every commit. A
    /// schema that exists must be as is said here.
    #[must_use]
    pub fn full_text(mut self, full_text: bool) -> Self {
        self.full_text = Some(full_text);
        self
    }

    /// Whether to switch on PostgreSQL's row-level security for the tables of the schema, and to
    /// tell the server in every transaction whose rows it is about. See the documentation of the
    /// crate.
    #[must_use]
    pub fn row_security(mut self, row_security: bool) -> Self {
        self.row_security = row_security;
        self
    }

    /// Whether to use the extension pgvector where the server has it.
    #[must_use]
    pub fn pgvector(mut self, pgvector: bool) -> Self {
        self.pgvector = pgvector;
        self
    }

    /// Whether what is missing may be made.
    pub(crate) fn may_create(&self) -> bool {
        self.create && !self.read_only
    }

    /// Refuses what cannot be opened.
    pub(crate) fn check(&self) -> Result<()> {
        let name = self.schema.as_str();
        if name.is_empty()
            || name.len() > MAX_SCHEMA_BYTES
            || name.contains('\0')
            || name.starts_with("pg_")
        {
            return Err(Error::invalid(OPERATION, "no name for a schema")
                .with("schema", name)
                .with("limit", MAX_SCHEMA_BYTES));
        }
        if self.connections == 0 {
            return Err(Error::invalid(OPERATION, "the store needs at least one connection"));
        }
        Ok(())
    }
}

impl fmt::Debug for PostgresConfig {
    /// Without the server, which the password is part of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("schema", &self.schema)
            .field("read_only", &self.read_only)
            .field("create", &self.create)
            .field("create_database", &self.create_database)
            .field("connections", &self.connections)
            .field("connect_timeout", &self.connect_timeout)
            .field("operation_timeout", &self.operation_timeout)
            .field("statement_cache", &self.statement_cache)
            .field("full_text", &self.full_text)
            .field("row_security", &self.row_security)
            .field("pgvector", &self.pgvector)
            .finish_non_exhaustive()
    }
}

fn switch_of(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// A value of a URL without its percent signs.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(url: &str, option: Option<&str>) {
        let error = PostgresConfig::from_url(url).unwrap_err();
        assert_eq!(error.get("option"), option, "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }

    #[test]
    fn urls_are_read_or_refused() {
        let all = "postgresql://ada:hunter2@[::1]:5433/db?schema=a%20%22b&sslmode=disable&connections=2&create=false\
            &create_database=false&connect_timeout_ms=20&operation_timeout_ms=30&statement_cache=0&full_text=off&row_security=on&pgvector=off";
        let config = PostgresConfig::from_url(all).unwrap();
        assert_eq!(config.schema, "a \"b");
        assert_eq!((config.connections, config.statement_cache), (2, 0));
        assert_eq!(
            (config.create, config.full_text, config.row_security),
            (false, Some(false), true)
        );
        assert!(!config.create_database && !config.pgvector);
        assert_eq!(config.connect_timeout, Duration::from_millis(20));
        assert_eq!(config.operation_timeout, Duration::from_millis(30));
        let Server::At(server) = &config.server else { panic!("no server") };
        assert_eq!((server.get_port(), server.get_username()), (5433, "ada"));
        assert!(!format!("{config:?}").contains("hunter2"));
        refused("sqlite:x", None);
        refused("postgres://ada:hunter2@host:port/db", None);
        refused("postgres://ada:hunter2@host/db?schema=", None);
        refused("postgres://ada:hunter2@host/db?connections=0", None);
        refused("postgres://ada:hunter2@host/db?connections=many", Some("connections"));
        refused("postgres://ada:hunter2@host/db?schema=%f", Some("schema"));
        refused("postgres://ada:hunter2@host/db?schema=pg_mine", None);
        refused("postgres://ada:hunter2@host/db?full_text=true", Some("full_text"));
        refused("postgres://ada:hunter2@host/db?sync=1", Some("sync"));
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Parts of URLs in any order, and what is none; a password among them.
    fn urls() -> impl Strategy<Value = String> {
        let begin = prop::sample::select(vec![
            "postgres://",
            "postgres://ada:hunter2@host/",
            "postgresql://",
            "postgres:",
            "",
        ]);
        let pieces: Vec<&str> =
            "? & = %20 %zz # // / : @ [::1] host , 5432 99999 ada :hunter2@ password=hunter2 schema=s& \
            pg_x connections= 0 2 -1 99999999999999999999 sslmode= disable port= options[x]= \
            statement_cache= operation_timeout_ms= create= true full_text= on"
                .split(' ')
                .collect();
        let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
        (begin, prop::collection::vec(piece, 0..12))
            .prop_map(|(begin, pieces)| begin.to_owned() + &pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn any_url_is_read_or_refused_without_its_password(url in urls()) {
            let shown = match PostgresConfig::from_url(&url) {
                Ok(config) => format!("{config:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            prop_assert!(!shown.contains("hunter2"), "{url}: {shown}");
        }
    }
}
