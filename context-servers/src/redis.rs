//! A Redis server.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::error::ServerError;
use crate::instance::{Instance, LaunchError};
use crate::resp::Session;
use crate::{port, programs};

const SERVER: &str = "Redis";
const TERM: (Signal, &str) = (Signal::TERM, "TERM");
/// The number of ports to try.
const TRIES: usize = 10;

/// The time at which writes reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// Before each reply: acknowledged writes survive a power loss.
    Always,
    /// Once a second.
    EverySecond,
    /// When the operating system decides: acknowledged writes survive the end of the server
    /// process.
    No,
}

/// The options for starting a Redis server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisOptions {
    /// Whether every write is appended to a file, and when the file is synced. If `None`, the data
    /// are lost when the process ends.
    pub append_only: Option<Fsync>,
    /// Further settings, as in `redis.conf`. Later ones override earlier ones.
    pub settings: Vec<(String, String)>,
}

impl RedisOptions {
    /// Returns the options of a server that persists nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends every write to a file.
    pub fn append_only(mut self, fsync: Fsync) -> Self {
        self.append_only = Some(fsync);
        self
    }

    /// Adds a setting, as in `redis.conf`.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }
}

/// A private Redis server. Dropping it ends the server and removes its data.
#[derive(Debug)]
pub struct Redis {
    instance: Instance,
    program: PathBuf,
    options: RedisOptions,
    port: u16,
}

impl Redis {
    /// Returns the program that [`start`](Self::start) would use.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotInstalled`], which names the installation command.
    pub fn program() -> Result<PathBuf, ServerError> {
        programs::redis()
    }

    /// Returns the version of that program, such as `7.0.15`.
    ///
    /// # Errors
    ///
    /// If the program is missing or cannot be run.
    pub fn version() -> Result<String, ServerError> {
        programs::version(&Self::program()?, "v=")
    }

    /// Starts a server in its own folder and waits until it answers.
    ///
    /// # Errors
    ///
    /// If the server is not installed, does not start, or does not answer within 30 seconds. In the
    /// last two cases, the error contains the end of the log.
    pub fn start(options: RedisOptions) -> Result<Self, ServerError> {
        let program = Self::program()?;
        let instance = Instance::new(SERVER, TERM)?;
        instance.make_data()?;
        let mut server = Self { instance, program, options, port: 0 };
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

    fn launch(&mut self) -> Result<(), LaunchError> {
        let (args, address) = (self.args(), self.address());
        self.instance.launch(&self.program, &args, |id| answers(address, id))
    }

    fn args(&self) -> Vec<String> {
        let text = |path: PathBuf| path.display().to_string();
        let (append, fsync) = match self.options.append_only {
            None => ("no", "no"),
            Some(Fsync::Always) => ("yes", "always"),
            Some(Fsync::EverySecond) => ("yes", "everysec"),
            Some(Fsync::No) => ("yes", "no"),
        };
        let (port, socket, data) =
            (self.port.to_string(), text(self.socket()), text(self.instance.data()));
        let fixed = [
            ("port", port.as_str()),
            ("bind", "127.0.0.1"),
            ("unixsocket", &socket),
            ("dir", &data),
            ("save", ""),
            ("appendonly", append),
            ("appendfsync", fsync),
            ("daemonize", "no"),
        ];
        let given =
            self.options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all = fixed.into_iter().chain(given);
        all.flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]).collect()
    }

    fn socket(&self) -> PathBuf {
        self.instance.folder().join("redis.sock")
    }

    /// Returns the TCP address of the server. Tests may put a proxy in front of it.
    pub fn address(&self) -> SocketAddrV4 {
        port::address(self.port)
    }

    /// Returns the URL over TCP: `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Returns the URL over the Unix socket, which is faster: `redis+unix:///…`.
    pub fn socket_url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Kills the server and all its processes with SIGKILL, and waits until they are gone. The
    /// files stay as they are.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.instance.kill()
    }

    /// Shuts the server down cleanly. The files stay.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.instance.stop(TERM.0)
    }

    /// Restarts the server with the same files at the same address, after it was killed or stopped.
    /// A running server is stopped first.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        let (args, address) = (self.args(), self.address());
        self.instance.relaunch(&self.program, &args, |id| answers(address, id))
    }

    /// Returns the options that the server was started with.
    pub(crate) fn options(&self) -> &RedisOptions {
        &self.options
    }

    /// Returns the process id of the server while it runs.
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

/// Checks that the server answers and is the process with this id. A server that still loads its
/// file replies with an error.
fn answers(address: SocketAddrV4, id: u32) -> Result<(), ServerError> {
    let mut session = Session::open(address)?;
    session.command(&["PING"])?;
    let info = session.command(&["INFO", "server"])?;
    let ours = format!("process_id:{id}");
    if info.lines().any(|line| line == ours) {
        return Ok(());
    }
    let message = format!("it is not process {id}");
    Err(ServerError::Refused { server: SERVER, request: "connections".to_owned(), message })
}
