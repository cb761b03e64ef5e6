//! The configuration of the store: the settings that the program gives, and those of a URL.
//!
//! The driver takes parts that a URL omits from where every PostgreSQL client looks: the variables
//! `PGHOST`, `PGUSER`, `PGPASSWORD` and so on, and `.pgpass`. Nothing else reads the environment.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use context_core::{Error, Result};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool};

const OPERATION: &str = "open";

const NO_URL: &str = "the URL is not a valid PostgreSQL URL: in names and passwords, write % as %25, / as %2F, ? as %3F and # as %23";

const UNKNOWN_OPTION: &str = "the URL has an unknown option: there are connect_timeout_ms, connections, create, create_database, full_text, operation_timeout_ms, partitions, pgvector, row_security, schema, statement_cache, and those of the driver, such as sslmode";

/// The longest name that PostgreSQL keeps. It silently truncates longer names.
const MAX_SCHEMA_BYTES: usize = 63;

/// The largest number of partitions. Each takes away from how many chats a store can hold.
const MAX_PARTITIONS: u32 = 64;

/// The options of a URL that are passed to the driver.
const DRIVER_OPTIONS: [&str; 16] = [
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

/// The location and the settings of a store.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresConfig {
    pub(crate) server: Server,
    /// The schema that holds the tables. Each schema is a store of its own. Any name of up to 63
    /// bytes.
    pub schema: String,
    /// Whether to open the store without writing. Nothing is written then: no database, schema,
    /// table, migration or row. All work runs in transactions that are read-only for the server
    /// too, and each call that would write returns
    /// [`Unsupported`](context_core::ErrorKind::Unsupported). `create` and `create_database` have
    /// no effect.
    pub read_only: bool,
    /// Whether to create the schema if it does not exist, and to upgrade an older one. If this is
    /// false, the role needs only the rights to read and write the tables.
    pub create: bool,
    /// Whether to create the database if it does not exist, which requires a role with `CREATEDB`.
    /// It has no effect without [`create`](Self::create), or with a pool of the caller.
    pub create_database: bool,
    /// The maximum number of connections, at least one. It has no effect with a pool of the caller.
    pub connections: usize,
    /// The longest wait for a free connection, and for the server to accept a new one.
    pub connect_timeout: Duration,
    /// The time limit of an operation, including the time it waits for other writers.
    /// Maintenance may take longer.
    pub operation_timeout: Duration,
    /// The number of prepared statements that a connection keeps. Use 0 for a pooler that may use
    /// another connection for each transaction: no statement stays prepared then, and each runs in
    /// a transaction. Other numbers have no effect with a pool of the caller.
    pub statement_cache: usize,
    /// Whether the schema has full-text search. This is fixed when the schema is created. `None`
    /// means yes in this case, and accepts an existing schema either way.
    pub full_text: Option<bool>,
    /// The number of partitions of the tables that grow with messages, by hash of the user: a power
    /// of two up to 64, or 1 for tables that are not divided. This is fixed when the schema is
    /// created. `None` means 1 in this case, and accepts an existing schema either way.
    pub partitions: Option<u32>,
    /// Whether to use row-level security.
    pub row_security: bool,
    /// Whether to use the extension pgvector if the server has it, and to create it in the database
    /// if the role may. The vectors of memories are then ranked in the server, otherwise in the
    /// program. The results are the same.
    pub pgvector: bool,
}

/// The server to connect to.
#[derive(Clone)]
pub(crate) enum Server {
    /// An address with the role and the password.
    Address(Box<PgConnectOptions>),
    /// A pool of the caller.
    Pool(PgPool),
}

impl PostgresConfig {
    /// Returns the configuration of a store in the schema `context` on the server of a PostgreSQL
    /// URL, such as `postgres://role:password@host:5432/database?sslmode=verify-full`. The defaults
    /// are four connections, a connect timeout of ten seconds, and an operation timeout of thirty
    /// seconds.
    ///
    /// Options behind the `?` are those of the driver (`sslmode`, `sslrootcert`, `host`,
    /// `application_name`, …) and `schema=NAME`, `connections=N`, `connect_timeout_ms=N`,
    /// `operation_timeout_ms=N`, `statement_cache=N`, `create=true|false`,
    /// `create_database=true|false`, `full_text=on|off`, `partitions=N`, `row_security=on|off`,
    /// `pgvector=on|off`.
    ///
    /// If the URL omits the server, role, password, database or TLS mode, they are taken from the
    /// environment (`PGHOST`, `PGPASSWORD`, `PGSSLMODE`, …) and from `.pgpass`, as in every
    /// PostgreSQL client.
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
            return Err(Error::invalid(
                OPERATION,
                "the URL must begin with postgres:// or postgresql://",
            ));
        }
        let (server, options) = url.split_once('?').unwrap_or((url, ""));
        let mut driver_options = Vec::new();
        let mut store_options = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            if DRIVER_OPTIONS.contains(&key) || key == "password" || key.starts_with("options[") {
                driver_options.push(option);
            } else {
                store_options.push((key, value));
            }
        }
        let server = if driver_options.is_empty() {
            server.to_owned()
        } else {
            format!("{server}?{}", driver_options.join("&"))
        };
        // The driver's error for a bad URL may contain the URL, and thereby the password.
        let server =
            PgConnectOptions::from_str(&server).map_err(|_| Error::invalid(OPERATION, NO_URL))?;
        let mut config = Self::of(Server::Address(Box::new(server.disable_statement_logging())));
        for (key, value) in store_options {
            let unknown = || Error::invalid(OPERATION, UNKNOWN_OPTION);
            match config.set(key, value) {
                Some(true) => {}
                Some(false) => {
                    return Err(Error::invalid(
                        OPERATION,
                        "an option of the URL has an invalid value",
                    )
                    .with("option", key));
                }
                // After an unescaped `?`, the rest of a password up to the @ looks like options.
                None if options.contains('@') => return Err(unknown()),
                None => return Err(unknown().with("option", key)),
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Returns the configuration of a store in the schema `context` that uses a pool of the caller.
    /// The store assumes nothing about these connections and changes none of their settings,
    /// because every statement names the schema.
    ///
    /// The pool should be created with `test_before_acquire(false)`, and its connection options
    /// with `disable_statement_logging()`. The test and the logging both cost time, and logged
    /// statements contain ids.
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
            partitions: None,
            row_security: false,
            pgvector: true,
        }
    }

    /// Applies an option of a URL. Returns `Some(false)` for an invalid value, and `None` for an
    /// unknown option.
    fn set(&mut self, key: &str, value: &str) -> Option<bool> {
        let millis = || value.parse().ok().map(Duration::from_millis);
        let parsed = match key {
            "schema" => decode_percent(value).map(|schema| self.schema = schema),
            "connections" => value.parse().ok().map(|connections| self.connections = connections),
            "connect_timeout_ms" => millis().map(|timeout| self.connect_timeout = timeout),
            "operation_timeout_ms" => millis().map(|timeout| self.operation_timeout = timeout),
            "statement_cache" => {
                value.parse().ok().map(|statements| self.statement_cache = statements)
            }
            "create" => value.parse().ok().map(|create| self.create = create),
            "create_database" => value.parse().ok().map(|create| self.create_database = create),
            "full_text" => parse_switch(value).map(|on| self.full_text = Some(on)),
            "partitions" => value.parse().ok().map(|partitions| self.partitions = Some(partitions)),
            "row_security" => parse_switch(value).map(|on| self.row_security = on),
            "pgvector" => parse_switch(value).map(|on| self.pgvector = on),
            _ => return None,
        };
        Some(parsed.is_some())
    }

    /// Sets the schema that holds the tables.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets whether to open the store without writing: nothing is created, upgraded or written.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether to create the schema and to upgrade it.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether to create the database if it does not exist.
    #[must_use]
    pub fn create_database(mut self, create: bool) -> Self {
        self.create_database = create;
        self
    }

    /// Sets the maximum number of connections.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long to wait for a connection.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long an operation may take.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// Sets the number of prepared statements that a connection keeps. Use 0 behind a pooler of
    /// transactions.
    #[must_use]
    pub fn statement_cache(mut self, statements: usize) -> Self {
        self.statement_cache = statements;
        self
    }

    /// Sets whether a new schema has full-text search, whose index is updated within every commit.
    /// An existing schema must match this setting.
    #[must_use]
    pub fn full_text(mut self, full_text: bool) -> Self {
        self.full_text = Some(full_text);
        self
    }

    /// Sets the number of partitions of a new schema: a power of two up to 64, or 1. An existing
    /// schema must match this setting. See the documentation of the crate.
    #[must_use]
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// Sets whether to enable PostgreSQL's row-level security for the tables of the schema, and to
    /// name the user in every transaction. See the documentation of the crate.
    #[must_use]
    pub fn row_security(mut self, row_security: bool) -> Self {
        self.row_security = row_security;
        self
    }

    /// Sets whether to use the extension pgvector if the server has it.
    #[must_use]
    pub fn pgvector(mut self, pgvector: bool) -> Self {
        self.pgvector = pgvector;
        self
    }

    /// Whether missing objects may be created.
    pub(crate) fn may_create(&self) -> bool {
        self.create && !self.read_only
    }

    /// Rejects settings that no store can be opened with.
    pub(crate) fn check(&self) -> Result<()> {
        let name = self.schema.as_str();
        if name.is_empty()
            || name.len() > MAX_SCHEMA_BYTES
            || name.contains('\0')
            || name.starts_with("pg_")
        {
            return Err(Error::invalid(
                OPERATION,
                "the name of the schema must have 1 to 63 bytes, no NUL, and not begin with pg_",
            )
            .with("schema", name)
            .with("limit", MAX_SCHEMA_BYTES));
        }
        if self.connections == 0 {
            return Err(Error::invalid(OPERATION, "the store needs at least one connection"));
        }
        if let Some(n) = self.partitions.filter(|n| !n.is_power_of_two() || *n > MAX_PARTITIONS) {
            let message = "the number of partitions must be a power of two";
            return Err(Error::invalid(OPERATION, message)
                .with("partitions", n)
                .with("limit", MAX_PARTITIONS));
        }
        Ok(())
    }
}

impl fmt::Debug for PostgresConfig {
    /// Leaves out the server, because it includes the password.
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
            .field("partitions", &self.partitions)
            .field("row_security", &self.row_security)
            .field("pgvector", &self.pgvector)
            .finish_non_exhaustive()
    }
}

fn parse_switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Decodes the percent-encoded bytes of a URL's value.
fn decode_percent(value: &str) -> Option<String> {
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
    fn each_option_of_the_page_is_known() {
        let page = include_str!("../../docs/store-urls.md");
        let (_, section) = page.split_once("\n## PostgreSQL\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let options: Vec<&str> = rows.collect();
        assert!(options.len() > 5, "{options:?}");
        for option in &options {
            let url = format!("postgres://localhost/chats?{option}");
            assert!(PostgresConfig::from_url(&url).is_ok(), "{url}");
        }
    }

    #[test]
    fn urls_are_read_or_refused() {
        let all = "postgresql://ada:hunter2@[::1]:5433/db?schema=a%20%22b&sslmode=disable&connections=2&create=false\
            &create_database=false&connect_timeout_ms=20&operation_timeout_ms=30&statement_cache=0&full_text=off&partitions=8&row_security=on&pgvector=off";
        let config = PostgresConfig::from_url(all).unwrap();
        assert_eq!(config.schema, "a \"b");
        assert_eq!((config.connections, config.statement_cache), (2, 0));
        assert_eq!(
            (config.create, config.full_text, config.row_security),
            (false, Some(false), true)
        );
        assert!(!config.create_database && !config.pgvector);
        assert_eq!(config.partitions, Some(8));
        assert_eq!(config.connect_timeout, Duration::from_millis(20));
        assert_eq!(config.operation_timeout, Duration::from_millis(30));
        let Server::Address(server) = &config.server else { panic!("no server") };
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
        for odd in ["0", "3", "128"] {
            refused(&format!("postgres://ada:hunter2@host/db?partitions={odd}"), None);
        }
        refused("postgres://ada:hunter2@host/db?sync=1", Some("sync"));
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Generates parts of URLs in any order, and text that is not a URL. Some contain a password.
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
        let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned),
            1 => "\\PC{0,3}"];
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
