//! A PostgreSQL server.

use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::error::ServerError;
use crate::instance::{Instance, LaunchError};
use crate::pg_wire::Session;
use crate::{port, programs};

const SERVER: &str = "PostgreSQL";
/// The superuser, who needs no password.
const USER: &str = "ctx";
/// The signal that ends the server and its processes immediately. Used before the data are removed.
const QUIT: (Signal, &str) = (Signal::QUIT, "QUIT");
/// The signal that ends the server after a checkpoint, without waiting for clients.
const FAST: Signal = Signal::INT;
/// The number of ports to try.
const TRIES: usize = 10;
/// The time limit for a standby to receive the log.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// The options for starting a PostgreSQL server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// Whether a commit waits until it is on disk. Without this, tests are faster, but the last
    /// commits are lost when the server is killed.
    pub durable: bool,
    /// The folder of the programs, one of [`Postgres::all_programs`]. Otherwise the first of them.
    pub programs: Option<PathBuf>,
    /// Further settings, as in `postgresql.conf`. Later ones override earlier ones.
    pub settings: Vec<(String, String)>,
}

impl PostgresOptions {
    /// Returns the options of a server that is fast and not durable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether a commit waits until it is on disk.
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Sets the folder of the programs, for a version other than the usual one.
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.programs = Some(folder.into());
        self
    }

    /// Adds a setting, as in `postgresql.conf`.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }
}

/// A private PostgreSQL server. Dropping it ends the server and removes its data.
#[derive(Debug)]
pub struct Postgres {
    instance: Instance,
    programs: PathBuf,
    options: PostgresOptions,
    port: u16,
}

impl Postgres {
    /// Returns the folder of the programs that [`start`](Self::start) would use.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotInstalled`], which names the installation command.
    pub fn programs() -> Result<PathBuf, ServerError> {
        programs::postgres()
    }

    /// Returns the folders of the programs of all installed versions. The first is that of
    /// [`programs`](Self::programs).
    pub fn all_programs() -> Vec<PathBuf> {
        programs::postgres_versions()
    }

    /// Returns the version of those programs, such as `15.20`.
    ///
    /// # Errors
    ///
    /// If the programs are missing or cannot be run.
    pub fn version() -> Result<String, ServerError> {
        programs::version(&Self::programs()?.join("postgres"), "PostgreSQL)")
    }

    /// Initializes a data folder, starts a server in it and waits until it answers. Takes about two
    /// seconds.
    ///
    /// # Errors
    ///
    /// If the server is not installed, does not start, or does not answer within 30 seconds. In the
    /// last two cases, the error contains the end of the log.
    pub fn start(options: PostgresOptions) -> Result<Self, ServerError> {
        let programs = options.programs.clone().map_or_else(Self::programs, Ok)?;
        let instance = Instance::new(SERVER, QUIT)?;
        let data = instance.data().display().to_string();
        let set_up =
            ["-D", &data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
        instance.run(&programs.join("initdb"), &set_up)?;
        Self::started(instance, programs, options)
    }

    fn started(
        instance: Instance,
        programs: PathBuf,
        options: PostgresOptions,
    ) -> Result<Self, ServerError> {
        let mut server = Self { instance, programs, options, port: 0 };
        let mut tries = 0;
        loop {
            server.port = port::free()?;
            tries += 1;
            match server.launch() {
                Err(LaunchError::PortTaken(_)) if tries < TRIES => {}
                done => return done.map(|()| server).map_err(ServerError::from),
            }
        }
    }

    /// Starts a standby server that replicates this one, and waits until every commit of this
    /// server waits for it: an acknowledged commit is in the logs of both. The standby is started
    /// with the same options.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start). Also if the standby does not receive the log within 30 seconds.
    pub fn synchronous_standby(&self) -> Result<Self, ServerError> {
        let instance = Instance::new(SERVER, QUIT)?;
        let data = instance.data().display().to_string();
        let (host, port) = (self.address().ip().to_string(), self.port.to_string());
        let copy = ["-D", &data, "-h", &host, "-p", &port, "-U", USER, "-c", "fast", "-R"];
        let no_sync = ["--no-sync", "--no-manifest"];
        instance.run(&self.programs.join("pg_basebackup"), &[&copy[..], &no_sync[..]].concat())?;
        let standby = Self::started(instance, self.programs.clone(), self.options.clone())?;
        let begin = Instant::now();
        // The statement fails by a division by zero while no standby receives the log.
        let receives = "SELECT 1 / count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        while let Err(last) = self.execute(receives) {
            if begin.elapsed() > PATIENCE {
                return Err(last);
            }
            sleep(PAUSE);
        }
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.execute("SELECT pg_reload_conf()")?;
        let waits = "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while let Err(last) = self.execute(waits) {
            if begin.elapsed() > PATIENCE {
                return Err(last);
            }
            sleep(PAUSE);
        }
        Ok(standby)
    }

    /// Makes a standby the primary, and waits until it accepts writes. End the old primary first.
    ///
    /// # Errors
    ///
    /// If the server does not run, is no standby, or takes more than 30 seconds.
    pub fn promote(&self) -> Result<(), ServerError> {
        self.execute("SELECT 1 / pg_promote(true, 30)::int")
    }

    /// Executes a statement in the database `postgres`.
    fn execute(&self, sql: &str) -> Result<(), ServerError> {
        Session::open(self.address(), USER, "postgres")?.execute(sql)
    }

    fn launch(&mut self) -> Result<(), LaunchError> {
        let (args, answers) = (self.args(), answers(self.address(), self.instance.data()));
        self.instance.launch(&self.programs.join("postgres"), &args, answers)
    }

    fn args(&self) -> Vec<String> {
        let folder = self.instance.folder().display().to_string();
        let mut args = vec!["-D".to_owned(), self.instance.data().display().to_string()];
        args.extend(["-k".to_owned(), folder, "-p".to_owned(), self.port.to_string()]);
        let fixed = [
            ("listen_addresses", "127.0.0.1"),
            ("max_connections", "300"),
            // Shared memory as files in the folder, which are removed with it even if the server is
            // killed.
            ("dynamic_shared_memory_type", "mmap"),
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
        ];
        let fast = [("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")];
        let fast = fast.into_iter().filter(|_| !self.options.durable);
        let given =
            self.options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in fixed.into_iter().chain(fast).chain(given) {
            args.extend(["-c".to_owned(), format!("{name}={value}")]);
        }
        args
    }

    /// Returns the TCP address of the server. Tests may put a proxy in front of it.
    pub fn address(&self) -> SocketAddrV4 {
        port::address(self.port)
    }

    /// Returns the URL of a database over TCP: `postgres://ctx@127.0.0.1:PORT/DATABASE`. The
    /// database `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{}", self.address(), escaped(database))
    }

    /// Returns the URL of a database over the Unix socket, which is faster.
    pub fn socket_url(&self, database: &str) -> String {
        let folder = escaped(&self.instance.folder().display().to_string());
        format!("postgres://{USER}@localhost:{}/{}?host={folder}", self.port, escaped(database))
    }

    /// Creates an empty database.
    ///
    /// # Errors
    ///
    /// If a database of this name exists, or the server does not run.
    pub fn create_database(&self, name: &str) -> Result<(), ServerError> {
        let name = name.replace('"', "\"\"");
        self.execute(&format!("CREATE DATABASE \"{name}\""))
    }

    /// Whether the server could create this extension.
    ///
    /// # Errors
    ///
    /// If the server does not run.
    pub fn offers(&self, extension: &str) -> Result<bool, ServerError> {
        let name = extension.replace('\'', "''");
        let asked = format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = '{name}')
             THEN RAISE EXCEPTION 'not available'; END IF; END $$"
        );
        match Session::open(self.address(), USER, "postgres")?.execute(&asked) {
            Ok(()) => Ok(true),
            Err(ServerError::Refused { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Kills the server and all its processes with SIGKILL, and waits until they are gone. The data
    /// stay as they are.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.instance.kill()
    }

    /// Shuts the server down cleanly. The data stay.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.instance.stop(FAST)
    }

    /// Restarts the server with the same data at the same address, after it was killed or stopped.
    /// A running server is stopped first.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        let (args, answers) = (self.args(), answers(self.address(), self.instance.data()));
        self.instance.relaunch(&self.programs.join("postgres"), &args, answers)
    }

    /// Returns the id of the server's main process while it runs.
    pub fn id(&self) -> Option<u32> {
        self.instance.id()
    }

    /// Returns the folder of all its files.
    pub fn folder(&self) -> &Path {
        self.instance.folder()
    }

    /// Returns the last lines of the server's log.
    pub fn log(&self) -> String {
        self.instance.log()
    }
}

/// Returns a function that checks whether the server answers. The state file says whether the
/// process owns the port. Only a connection proves that the server answers.
fn answers(address: SocketAddrV4, data: PathBuf) -> impl Fn(u32) -> Result<(), ServerError> {
    move |id| {
        let path = data.join("postmaster.pid");
        let state =
            fs::read_to_string(&path).map_err(ServerError::io("read the server's state"))?;
        let line = |n: usize| state.lines().nth(n).unwrap_or_default().trim();
        if line(0) != id.to_string() || !["ready", "standby"].contains(&line(7)) {
            let message = format!("its state is {:?}", line(7));
            return Err(ServerError::Refused {
                server: SERVER,
                request: "connections".to_owned(),
                message,
            });
        }
        Session::open(address, USER, "postgres").map(drop)
    }
}

/// Percent-encodes a part of a URL.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
