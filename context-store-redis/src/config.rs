//! The configuration of the store. Nothing is read from the environment or from files.

use std::fmt;
use std::time::Duration;

use context_core::{Error, Result};

const OPERATION: &str = "open";

const UNKNOWN_OPTION: &str = "unknown option in the url: there are chat_ttl_s, connection_timeout_ms, create, prefix, protocol and response_timeout_ms";

/// The default prefix of keys.
const PREFIX: &str = "context:";
/// The maximum length of the prefix, in bytes.
const MAX_PREFIX_BYTES: usize = 256;

/// The address of the server and the settings of a store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisConfig {
    /// The server, or nodes of a cluster from which the others are found: `redis://`, `rediss://`
    /// (with the feature `tls`) or `unix://`, each with the driver's syntax for user, password,
    /// database and protocol.
    pub nodes: Vec<String>,
    /// Whether these are nodes of a cluster (with the feature `cluster`).
    pub cluster: bool,
    /// The prefix of every key. Stores with different prefixes are independent of each other. The
    /// prefix must not have braces, which determine the slot of a key in a cluster.
    pub prefix: String,
    /// Whether to open the store without writing. No key is written then, not even those that count
    /// handles or hold the time of use of a blob, and each call that would write returns
    /// [`Unsupported`](context_core::ErrorKind::Unsupported).
    pub read_only: bool,
    /// Whether to create the store if it does not exist. If this is false, opening a missing store
    /// returns [`NotFound`](context_core::ErrorKind::NotFound), but a store of an older version is
    /// still upgraded.
    pub create: bool,
    /// The time that a chat, or a round of a trajectory, is kept after its last write, by the clock
    /// of the server. `None` keeps it forever. Each expires as a whole. Memories are kept until
    /// they are forgotten, whatever this setting.
    pub chat_ttl: Option<Duration>,
    /// The longest wait for a response. It must be long enough for the largest chat that is read at
    /// once.
    pub response_timeout: Duration,
    /// The longest wait for a connection.
    pub connection_timeout: Duration,
}

impl RedisConfig {
    /// Returns the configuration of a store on this server: keys begin with `context:`, chats never
    /// expire, the response timeout is 30 seconds and the connection timeout five.
    pub fn new(node: impl Into<String>) -> Self {
        Self {
            nodes: vec![node.into()],
            cluster: false,
            prefix: PREFIX.to_owned(),
            read_only: false,
            create: true,
            chat_ttl: None,
            response_timeout: Duration::from_secs(30),
            connection_timeout: Duration::from_secs(5),
        }
    }

    /// Returns the configuration of a store on the cluster of these nodes.
    pub fn cluster(nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let nodes = nodes.into_iter().map(Into::into).collect();
        Self { nodes, cluster: true, ..Self::new("") }
    }

    /// Parses `redis://…`, `rediss://…` or `unix://…`. A cluster is
    /// `redis+cluster://HOST:PORT,HOST:PORT` (or `rediss+cluster://`), or several addresses
    /// separated by commas. Options behind a `?`, separated by `&`: `prefix=TEXT`,
    /// `create=true|false`, `chat_ttl_s=N`, `response_timeout_ms=N`, `connection_timeout_ms=N`, and
    /// those of the driver: `protocol=resp2|resp3`, and `db=N`, `user=NAME`, `pass=PASSWORD` of a
    /// Unix socket. Any other option is rejected.
    ///
    /// ```
    /// use std::time::Duration;
    /// use context_store_redis::RedisConfig;
    ///
    /// let config = RedisConfig::from_url("redis://localhost/2?prefix=app:&chat_ttl_s=86400")?;
    /// let expected = RedisConfig::new("redis://localhost/2").prefix("app:");
    /// assert_eq!(config, expected.chat_ttl(Duration::from_secs(86_400)));
    /// # Ok::<_, context_core::Error>(())
    /// ```
    pub fn from_url(url: &str) -> Result<Self> {
        let (addresses, options) = url.split_once('?').unwrap_or((url, ""));
        let mut config = match addresses.split_once("+cluster://") {
            Some((scheme, nodes)) => Self::cluster(nodes_of(scheme, nodes)),
            None if addresses.contains(',') => {
                Self::cluster(addresses.split(',').map(|node| with_scheme("redis", node.trim())))
            }
            None => Self::new(addresses),
        };
        let mut of_driver = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let unknown = || Error::invalid(OPERATION, UNKNOWN_OPTION);
            let millis = || value.parse().ok().map(Duration::from_millis);
            let known = match key {
                "prefix" => {
                    config.prefix = value.to_owned();
                    Some(())
                }
                "create" => value.parse().ok().map(|create| config.create = create),
                "chat_ttl_s" => {
                    value.parse().ok().map(|s| config.chat_ttl = Some(Duration::from_secs(s)))
                }
                "response_timeout_ms" => millis().map(|timeout| config.response_timeout = timeout),
                "connection_timeout_ms" => {
                    millis().map(|timeout| config.connection_timeout = timeout)
                }
                _ if of_the_driver(key, addresses) => {
                    of_driver.push(option);
                    Some(())
                }
                // After an unescaped `?`, the rest of a password up to the @ looks like options.
                _ if options.contains('@') => return Err(unknown()),
                _ => return Err(unknown().with("option", key)),
            };
            if known.is_none() {
                return Err(Error::invalid(OPERATION, "bad value in the url").with("option", key));
            }
        }
        if !of_driver.is_empty() {
            for node in &mut config.nodes {
                *node = format!("{node}?{}", of_driver.join("&"));
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Sets the prefix of every key.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets whether to open the store without writing any key.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether to create the store if it does not exist.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets how long a chat or a round is kept after its last write.
    #[must_use]
    pub fn chat_ttl(mut self, ttl: Duration) -> Self {
        self.chat_ttl = Some(ttl);
        self
    }

    /// Sets how long to wait for a response.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Sets how long to wait for a connection.
    #[must_use]
    pub fn connection_timeout(mut self, timeout: Duration) -> Self {
        self.connection_timeout = timeout;
        self
    }

    /// Returns the time to live in milliseconds, or 0 for none.
    pub(crate) fn ttl_millis(&self) -> u64 {
        self.chat_ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
    }

    /// Rejects settings that no store can be opened with. The error never contains an address,
    /// which may hold a password.
    pub(crate) fn check(&self) -> Result<()> {
        const SCHEMES: [&str; 6] =
            ["redis://", "rediss://", "unix://", "redis+unix://", "valkey://", "valkeys://"];
        let known = |node: &String| SCHEMES.iter().any(|scheme| node.starts_with(scheme));
        if self.nodes.is_empty() || !self.nodes.iter().all(known) {
            return Err(Error::invalid(
                OPERATION,
                "the url must begin with redis://, rediss:// or unix://",
            ));
        }
        if !self.cluster && self.nodes.len() > 1 {
            return Err(Error::invalid(
                OPERATION,
                "several addresses are only accepted for a cluster",
            ));
        }
        if self.prefix.len() > MAX_PREFIX_BYTES {
            return Err(Error::invalid(OPERATION, "the prefix has more bytes than the limit")
                .with("limit", MAX_PREFIX_BYTES));
        }
        if self.prefix.contains(['{', '}']) {
            return Err(Error::invalid(OPERATION, "the prefix must not contain braces"));
        }
        // The server stores milliseconds as a signed number and adds its clock to it.
        if self.chat_ttl.is_some() && !(1..=u64::MAX >> 8).contains(&self.ttl_millis()) {
            return Err(Error::invalid(
                OPERATION,
                "the time to live must be at least 1 ms and small enough for the server to count",
            ));
        }
        if self.response_timeout.is_zero() || self.connection_timeout.is_zero() {
            return Err(Error::invalid(OPERATION, "a timeout must not be zero"));
        }
        Ok(())
    }
}

/// Addresses contain passwords, so they are not shown.
impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("nodes", &self.nodes.len())
            .field("cluster", &self.cluster)
            .field("prefix", &self.prefix)
            .field("read_only", &self.read_only)
            .field("create", &self.create)
            .field("chat_ttl", &self.chat_ttl)
            .field("response_timeout", &self.response_timeout)
            .field("connection_timeout", &self.connection_timeout)
            .finish()
    }
}

/// Returns the nodes of one URL. User and password precede the first node and apply to all.
fn nodes_of(scheme: &str, nodes: &str) -> Vec<String> {
    let (login, hosts) = match nodes.rsplit_once('@') {
        Some((login, hosts)) => (format!("{login}@"), hosts),
        None => (String::new(), nodes),
    };
    hosts.split(',').map(|host| format!("{scheme}://{login}{}", host.trim())).collect()
}

/// Whether an option is read by the driver.
fn of_the_driver(option: &str, addresses: &str) -> bool {
    let socket = addresses.starts_with("unix://") || addresses.starts_with("redis+unix://");
    option == "protocol" || socket && matches!(option, "db" | "user" | "pass")
}

fn with_scheme(scheme: &str, node: &str) -> String {
    if node.contains("://") { node.to_owned() } else { format!("{scheme}://{node}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(url: &str, option: Option<&str>) {
        let error = RedisConfig::from_url(url).unwrap_err();
        assert_eq!(error.get("option"), option, "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }

    #[test]
    fn each_option_of_the_page_is_known() {
        let page = include_str!("../../docs/store-urls.md");
        let (_, section) = page.split_once("\n## Redis\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let options: Vec<&str> = rows.collect();
        assert!(options.len() > 5, "{options:?}");
        for option in &options {
            let url = format!("redis://localhost?{option}");
            assert!(RedisConfig::from_url(&url).is_ok(), "{url}");
        }
    }

    #[test]
    fn urls_are_read_or_refused() {
        let all = "rediss://ada:secret@host:6380/1?prefix=p-&create=false&chat_ttl_s=60&response_timeout_ms=7&protocol=resp3&connection_timeout_ms=8";
        let expected =
            RedisConfig::new("rediss://ada:secret@host:6380/1?protocol=resp3").prefix("p-");
        let expected = expected
            .create(false)
            .chat_ttl(Duration::from_secs(60))
            .response_timeout(Duration::from_millis(7));
        let expected = expected.connection_timeout(Duration::from_millis(8));
        assert_eq!(RedisConfig::from_url(all).unwrap(), expected);
        refused("postgres://ada:secret@x", None);
        refused("", None);
        refused("redis://x?prefix={a}", None);
        refused("redis://:secret@x?chat_ttl_s=soon", Some("chat_ttl_s"));
        refused("redis://x?create=maybe", Some("create"));
        refused("redis://x?chat_ttl_s=0", None);
        refused("redis://x?response_timeout_ms=0", None);
        refused("redis://x?response_timeout_ms=-1", Some("response_timeout_ms"));
    }

    #[test]
    fn options_that_nobody_knows_are_named_and_refused() {
        refused("redis://x?conections=4", Some("conections"));
        refused("redis://ada:secret@x/1?prefix=p&chat_ttl=60", Some("chat_ttl"));
        refused("redis+cluster://:secret@a:1,b:2?read_from=replica", Some("read_from"));
        refused("redis://a:1,redis://b:2?sslmode=require", Some("sslmode"));
        // A password that is given like an option is not repeated, nor is one after an unescaped
        // `?`.
        refused("redis://x?password=secret", Some("password"));
        refused("redis://x?pass=secret", Some("pass"));
        refused("redis://x?sslpassword=s%65cret&secret", Some("sslpassword"));
        refused("redis://ada:pa?secret@x", None);
        refused("redis://ada:pa?db=1&secret@x/1", None);
        let socket =
            RedisConfig::from_url("unix:///run/redis.sock?db=2&user=ada&pass=secret&prefix=p")
                .unwrap();
        assert_eq!(
            socket,
            RedisConfig::new("unix:///run/redis.sock?db=2&user=ada&pass=secret").prefix("p")
        );
    }

    #[test]
    fn clusters_are_one_url_or_several() {
        let expected = RedisConfig::cluster(["redis://:secret@a:1", "redis://:secret@b:2"]);
        assert_eq!(RedisConfig::from_url("redis+cluster://:secret@a:1,b:2").unwrap(), expected);
        let expected = RedisConfig::cluster(["redis://a:1", "redis://b:2"]).prefix("p");
        assert_eq!(RedisConfig::from_url("redis://a:1,redis://b:2?prefix=p").unwrap(), expected);
        assert_eq!(RedisConfig::from_url("redis://a:1, b:2?prefix=p").unwrap(), expected);
    }

    #[test]
    fn a_config_shows_no_address() {
        let config = RedisConfig::new("redis://ada:secret@host");
        assert!(!format!("{config:?}").contains("secret"));
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Generates parts of URLs in any order, and text that is not a URL. Some contain a password.
    fn urls() -> impl Strategy<Value = String> {
        let begin = prop::sample::select(vec![
            "redis://",
            "rediss://ada:secret@host/",
            "redis+cluster://",
            "redis+unix:",
            "",
        ]);
        let pieces: Vec<&str> =
            "? & = %20 %zz # // / : @ [::1] host , 6379 99999 ada :secret@ 1 prefix=p& { } chat_ttl_s= \
            0 60 -1 99999999999999999999 response_timeout_ms= connection_timeout_ms= protocol= resp3"
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
            let shown = match RedisConfig::from_url(&url) {
                Ok(config) => format!("{config:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            prop_assert!(!shown.contains("secret"), "{url}: {shown}");
        }
    }
}
