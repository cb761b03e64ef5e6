//! The configuration of the store. Nothing is read from the environment or from files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use context_core::store::Durability;
use context_core::{Error, Result};

const OPERATION: &str = "open";

/// The location and the settings of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The path of the database file. SQLite keeps `-wal` and `-shm` files beside it.
    pub path: PathBuf,
    /// [`Durability::ProcessCrash`] (`synchronous=NORMAL`), or [`Durability::PowerLoss`]
    /// (`synchronous=FULL`), which syncs the disk at every commit.
    pub durability: Durability,
    /// The longest wait while another process holds the write lock.
    pub busy_timeout: Duration,
    /// Whether to create the file if it does not exist.
    pub create: bool,
    /// Whether to open the store without writing: nothing is created, upgraded or written, not even
    /// the files that SQLite keeps beside it. `create` then has no effect.
    pub read_only: bool,
    /// The number of concurrent reads, at least one.
    pub readers: usize,
    /// Whether the file has full-text search. This is fixed when a file is created, or upgraded
    /// from a version without full text. `None` means yes in these cases, and accepts an existing
    /// file either way.
    pub full_text: Option<bool>,
}

impl SqliteConfig {
    /// Returns the configuration of a store in this file: the file is created if it does not exist,
    /// commits survive a crash of the process, the busy timeout is five seconds, and there are four
    /// readers.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::ProcessCrash,
            busy_timeout: Duration::from_secs(5),
            create: true,
            read_only: false,
            readers: 4,
            full_text: None,
        }
    }

    /// Parses `sqlite:PATH`, with options behind a `?`, separated by `&`: `durability=normal|full`,
    /// `busy_timeout_ms=N`, `create=true|false`, `read_only=true|false`, `readers=N`,
    /// `full_text=on|off`.
    ///
    /// Errors contain the names of options but never a value, nor a path that looks as if it
    /// contained a password.
    ///
    /// ```
    /// use context_core::store::Durability;
    /// use context_store_sqlite::SqliteConfig;
    ///
    /// let config = SqliteConfig::from_url("sqlite:chats.db?durability=full")?;
    /// assert_eq!(config, SqliteConfig::new("chats.db").durability(Durability::PowerLoss));
    /// # Ok::<_, context_core::Error>(())
    /// ```
    pub fn from_url(url: &str) -> Result<Self> {
        let Some(rest) = url.strip_prefix("sqlite:") else {
            return Err(Error::invalid(OPERATION, "the url must begin with sqlite:"));
        };
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if names_somebody(path) {
            let message = "a sqlite: url names a file, and takes no user, password or host";
            return Err(Error::invalid(OPERATION, message));
        }
        let mut config = Self::new(path.strip_prefix("//").unwrap_or(path));
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let known = match key {
                "durability" => {
                    durability_of(value).map(|durability| config.durability = durability)
                }
                "busy_timeout_ms" => {
                    value.parse().ok().map(|ms| config.busy_timeout = Duration::from_millis(ms))
                }
                "create" => value.parse().ok().map(|create| config.create = create),
                "full_text" => switch_of(value).map(|on| config.full_text = Some(on)),
                "read_only" => value.parse().ok().map(|read_only| config.read_only = read_only),
                "readers" => value.parse().ok().map(|readers| config.readers = readers),
                _ => return Err(unknown(option)),
            };
            if known.is_none() {
                return Err(Error::invalid(
                    OPERATION,
                    "an option in the url has a value that is not allowed",
                )
                .with("option", key));
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Sets the failures that a commit survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how long to wait while another process holds the write lock.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets whether to create the file if it does not exist.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether to open the store without writing. The store can then be read while others
    /// write, and where neither the file nor its folder is writable. Writing through such a handle
    /// returns [`Unsupported`](context_core::ErrorKind::Unsupported), and so does opening a file of
    /// an older version, which must first be opened once for writing.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets the number of concurrent reads.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets whether a new file has full-text search, whose index is updated within every commit. An
    /// existing file must match this setting. Without the setting, a new file has full-text search,
    /// and an existing file may or may not have it.
    #[must_use]
    pub fn full_text(mut self, full_text: bool) -> Self {
        self.full_text = Some(full_text);
        self
    }

    /// Rejects settings that no store can be opened with.
    pub(crate) fn check(&self) -> Result<()> {
        if self.path.as_os_str().is_empty() || self.path == Path::new(":memory:") {
            return Err(Error::invalid(OPERATION, "the store needs the path of a file"));
        }
        if self.readers == 0 {
            return Err(Error::invalid(OPERATION, "the store needs at least one reader"));
        }
        if self.durability < Durability::ProcessCrash {
            return Err(Error::invalid(OPERATION, "a file survives the process")
                .with("durability", format_args!("{:?}", self.durability)));
        }
        Ok(())
    }
}

/// Whether a path looks like `user:password@host`.
fn names_somebody(path: &str) -> bool {
    let before_at =
        |part: &str| part.split_once('@').is_some_and(|(before, _)| before.contains(':'));
    path.split('/').any(before_at)
}

/// Returns the error for an unknown option. Only the option's name is included, because the rest
/// may be a secret.
fn unknown(option: &str) -> Error {
    let error = Error::invalid(
        OPERATION,
        "unknown option in the url: there are busy_timeout_ms, create, durability, full_text, read_only and readers",
    );
    let name = option.split_once('=').map(|(name, _)| name);
    let is_name =
        |name: &&str| name.len() <= 32 && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    match name.filter(is_name) {
        Some(name) => error.with("option", name),
        None => error,
    }
}

fn durability_of(value: &str) -> Option<Durability> {
    match value {
        "normal" => Some(Durability::ProcessCrash),
        "full" => Some(Durability::PowerLoss),
        _ => None,
    }
}

fn switch_of(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(url: &str, option: Option<&str>) {
        let error = SqliteConfig::from_url(url).unwrap_err();
        assert_eq!(error.get("option"), option, "{error}");
    }

    #[test]
    fn each_option_of_the_page_is_known() {
        let page = include_str!("../../docs/store-urls.md");
        let (_, section) = page.split_once("\n## SQLite\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let options: Vec<&str> = rows.collect();
        assert!(options.len() > 5, "{options:?}");
        for option in &options {
            let url = format!("sqlite:chats.db?{option}");
            assert!(SqliteConfig::from_url(&url).is_ok(), "{url}");
        }
    }

    #[test]
    fn urls_are_read_or_refused() {
        let all = "sqlite:///a/b.db?durability=normal&busy_timeout_ms=20&create=false&readers=2&full_text=off";
        let expected =
            SqliteConfig::new("/a/b.db").busy_timeout(Duration::from_millis(20)).create(false);
        let expected = expected.readers(2).full_text(false);
        assert_eq!(SqliteConfig::from_url(all).unwrap(), expected);
        refused("postgres://x", None);
        refused("sqlite:", None);
        refused("sqlite::memory:", None);
        refused("sqlite:a?readers=0", None);
        refused("sqlite:a?durability=some", Some("durability"));
        refused("sqlite:a?busy_timeout_ms=-1", Some("busy_timeout_ms"));
        refused("sqlite:a?full_text=true", Some("full_text"));
        refused("sqlite:a?mode=ro", Some("mode"));
    }

    #[test]
    fn no_error_repeats_a_secret_of_a_url() {
        for (url, option) in [
            ("sqlite:u:hunter2@host/x.db", None),
            ("sqlite://u:hunter2@host/x.db", None),
            ("sqlite:///data/u:hunter2@host.db", None),
            ("sqlite:x.db?key=hunter2", Some("key")),
            ("sqlite:x.db?hunter2", None),
            ("sqlite:x.db?HUNTER2=1", None),
            ("sqlite:x.db?create=hunter2", Some("create")),
            ("sqlite:x.db?create=true&password=hunter2&readers=2", Some("password")),
            ("sqlite:x.db?durability=hunter2", Some("durability")),
        ] {
            let error = SqliteConfig::from_url(url).unwrap_err();
            assert_eq!(error.get("option"), option, "{url}");
            assert!(!format!("{error} {error:?}").to_lowercase().contains("hunter2"), "{error}");
        }
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Generates parts of URLs in any order, and text that is not a URL.
    fn urls() -> impl Strategy<Value = String> {
        let begin = prop::sample::select(vec!["sqlite:", "sqlite://", "sqlite:///", ""]);
        let pieces: Vec<&str> =
            "? & = %3f %zz # // / : . :memory: a.db durability= normal full busy_timeout_ms= create= \
            true false readers= 0 2 -1 99999999999999999999 full_text= on off"
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
        fn any_url_is_read_or_refused(url in urls()) {
            if let Ok(config) = SqliteConfig::from_url(&url) {
                prop_assert!(config.check().is_ok(), "{url}: {config:?}");
            }
        }
    }
}
