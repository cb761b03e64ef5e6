//! A Redis server.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::error::ServerError;
use crate::instance::{Failed, Instance};
use crate::resp::Session;
use crate::{port, programs};

const SERVER: &str = "Redis";
const TERM: (Signal, &str) = (Signal::TERM, "TERM");
/// How many ports are tried.
const TRIES: usize = 10;

/// When what was written is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// Before each answer: what was acknowledged outlives a loss of power.
    Always,
    /// Once a second.
    EverySecond,
    /// When the system likes: what was acknowledged outlives the server's process.
    No,
}

/// How a Redis server is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisOptions {
    /// Whether every write is appended to a file, and when that is on the disk. Without, the data
    /// end with the process.
    pub append_only: Option<Fsync>,
    /// Further settings, as in `redis.conf`. Those that come later win.
    pub settings: Vec<(String, String)>,
}

impl RedisOptions {
    /// A server that keeps nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has every write appended to a file.
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

/// A Redis server of our own. Dropping it ends it and removes its data.
#[derive(Debug)]
pub struct Redis {
    instance: Instance,
    program: PathBuf,
    options: RedisOptions,
    port: u16,
}

impl Redis {
    /// The program that [`start`](Self::start) would use.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotInstalled`], which says what to run.
    pub fn program() -> Result<PathBuf, ServerError> {
        programs::redis()
    }

    /// The version of that program, such as `7.0.15`.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be run.
    pub fn version() -> Result<String, ServerError> {
        programs::version(&Self::program()?, "v=")
    }

    /// Starts a server in a folder of its own and waits until it answers.
    ///
    /// # Errors
    ///
    /// If it is not installed, does not start, or does not answer in 30 seconds; the error then
    /// holds the end of the log.
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
                Err(Failed::PortTaken(_)) if tries < TRIES => {}
                done => return done.map(|()| server).map_err(ServerError::from),
            }
        }
    }

    fn launch(&mut self) -> Result<(), Failed> {
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

    /// Where it listens; a proxy may stand in front of it.
    pub fn address(&self) -> SocketAddrV4 {
        port::address(self.port)
    }

    /// Its address, over TCP: `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Its address over a socket, which is faster: `redis+unix:///…`.
    pub fn socket_url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Ends the server and every process of it by SIGKILL, and waits until they are gone. What is
    /// in its files stays as it is.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.instance.kill()
    }

    /// Ends the server in order. What is in its files stays.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.instance.stop(TERM.0)
    }

    /// Starts the server with the same files at the same address, after it was killed or stopped;
    /// one that runs is stopped before.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        let (args, address) = (self.args(), self.address());
        self.instance.relaunch(&self.program, &args, |id| answers(address, id))
    }

    /// The id of the server's process, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.instance.id()
    }

    /// Where all its files are.
    pub fn folder(&self) -> &Path {
        self.instance.folder()
    }

    /// The last lines the server wrote.
    pub fn log(&self) -> String {
        self.instance.log()
    }
}

/// Asks the server of a process whether it is there. One that still reads its file says so instead
/// of answering.
fn answers(address: SocketAddrV4, id: u32) -> Result<(), ServerError> {
    let mut session = Session::open(address)?;
    session.command(&["PING"])?;
    let info = session.command(&["INFO", "server"])?;
    let ours = format!("process_id:{id}");
    if info.lines().any(|line| line == ours) {
        return Ok(());
    }
    let message = format!("it is not process {id}");
    Err(ServerError::Refused { server: SERVER, what: "connections".to_owned(), message })
}
