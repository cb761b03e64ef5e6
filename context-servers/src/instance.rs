//! A server of any kind: a process in a folder, with a keeper.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::account::Account;
use crate::error::ServerError;
use crate::keeper::Keeper;
use crate::processes::{children, runs, signal};

/// The time limit for a server to answer, or to exit.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(10);
/// The number of log lines in an error.
const LOG_LINES: usize = 40;

/// A shell script that replaces the shell by the program, once the keeper knows the process.
const GATE: &str = "read -r go && exec \"$@\" </dev/null";

/// The reason why a launch failed.
pub(crate) enum LaunchError {
    /// Another process uses the port.
    PortTaken(ServerError),
    /// Any other error.
    Other(ServerError),
}

impl From<ServerError> for LaunchError {
    fn from(error: ServerError) -> Self {
        Self::Other(error)
    }
}

impl From<LaunchError> for ServerError {
    fn from(failed: LaunchError) -> Self {
        match failed {
            LaunchError::PortTaken(error) | LaunchError::Other(error) => error,
        }
    }
}

/// A server, running or not.
#[derive(Debug)]
pub(crate) struct Instance {
    server: &'static str,
    account: Account,
    keeper: Keeper,
    child: Option<Child>,
    /// The signal that ends the server when it is dropped.
    quit: Signal,
}

impl Instance {
    /// Creates a folder for a server that is ended by a signal, given with the name that the shell
    /// knows.
    pub(crate) fn new(server: &'static str, quit: (Signal, &str)) -> Result<Self, ServerError> {
        Self::run_by(Account::choose()?, server, quit)
    }

    /// Creates a folder for a server that runs as this process does, also as root.
    pub(crate) fn ours(server: &'static str, quit: (Signal, &str)) -> Result<Self, ServerError> {
        Self::run_by(Account::Ours, server, quit)
    }

    fn run_by(
        account: Account,
        server: &'static str,
        quit: (Signal, &str),
    ) -> Result<Self, ServerError> {
        let keeper = Keeper::new(account, quit.1)?;
        Ok(Self { server, account, keeper, child: None, quit: quit.0 })
    }

    /// Returns the folder of the server.
    pub(crate) fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    /// Returns the folder of the server's data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Creates the folder for the data.
    pub(crate) fn make_data(&self) -> Result<(), ServerError> {
        let data = self.data();
        fs::create_dir(&data).map_err(ServerError::io("make a folder for data"))?;
        self.account.own(&data)
    }

    /// Returns the process id of the server while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns the end of the server's log.
    pub(crate) fn log(&self) -> String {
        let text = fs::read(self.log_path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.folder().join("log")
    }

    /// Returns a command that runs as the account, in the folder, with its output appended to the
    /// log.
    fn command(&self, program: &Path) -> Result<Command, ServerError> {
        let log = File::options().create(true).append(true).open(self.log_path());
        let log = log.map_err(ServerError::io("open a server's log"))?;
        let again = log.try_clone().map_err(ServerError::io("open a server's log"))?;
        let mut command = Command::new(program);
        command.current_dir(self.folder()).process_group(0).stdout(log).stderr(again);
        self.account.run_as(&mut command);
        // The output is parsed, so it must not be localized. Settings come from the command line
        // only.
        command.env("LC_ALL", "C");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG"))
        {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Runs a program and waits for it to exit.
    pub(crate) fn run(&self, program: &Path, args: &[&str]) -> Result<(), ServerError> {
        let mut command = self.command(program)?;
        let status = command.args(args).stdin(Stdio::null()).status();
        let status = status.map_err(ServerError::io(format!("run {}", program.display())))?;
        if status.success() {
            Ok(())
        } else {
            Err(self.not_ready(format!("could not be set up ({status})")))
        }
    }

    /// Starts the server and waits until it answers. The process id tells this server from another
    /// one that took the port first. A server that does not answer is killed.
    pub(crate) fn launch(
        &mut self,
        program: &Path,
        args: &[String],
        answers: impl Fn(u32) -> Result<(), ServerError>,
    ) -> Result<(), LaunchError> {
        let before = fs::metadata(self.log_path()).map_or(0, |log| log.len());
        let mut command = self.command(Path::new("sh"))?;
        command
            .args(["-c", GATE, "context-servers-gate"])
            .arg(program)
            .args(args)
            .stdin(Stdio::piped());
        let mut child =
            command.spawn().map_err(ServerError::io(format!("start {}", program.display())))?;
        let gate = child.stdin.take();
        let id = child.id();
        self.child = Some(child);
        self.keeper.keep(id)?;
        if let Some(mut gate) = gate {
            gate.write_all(b"go\n").map_err(ServerError::io("start a server"))?;
        }
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                let error = self.not_ready(format!("ended while it started ({status})"));
                return Err(if self.port_taken(before) {
                    LaunchError::PortTaken(error)
                } else {
                    LaunchError::Other(error)
                });
            }
            let last = match answers(id) {
                Ok(()) => return Ok(()),
                Err(last) => last,
            };
            if start.elapsed() > PATIENCE {
                let error =
                    self.not_ready(format!("did not answer in {} s ({last})", PATIENCE.as_secs()));
                self.kill()?;
                return Err(error.into());
            }
            sleep(PAUSE);
        }
    }

    /// Launches the server like [`launch`](Self::launch), at its previous address. Retries while
    /// another process still has the port.
    pub(crate) fn relaunch(
        &mut self,
        program: &Path,
        args: &[String],
        answers: impl Fn(u32) -> Result<(), ServerError>,
    ) -> Result<(), ServerError> {
        let start = Instant::now();
        loop {
            match self.launch(program, args, &answers) {
                Err(LaunchError::PortTaken(_)) if start.elapsed() < PATIENCE => sleep(PAUSE),
                done => return done.map_err(ServerError::from),
            }
        }
    }

    /// Returns the exit status if the server has exited.
    fn ended(&mut self) -> Result<Option<ExitStatus>, ServerError> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait().map_err(ServerError::io("look after a server"))?;
        if status.is_some() {
            self.child = None;
            self.keeper.forget();
        }
        Ok(status)
    }

    fn port_taken(&self, before: u64) -> bool {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let new = log.get(usize::try_from(before).unwrap_or_default()..).unwrap_or_default();
        String::from_utf8_lossy(new).contains("ddress already in use")
    }

    fn not_ready(&self, why: String) -> ServerError {
        ServerError::NotReady { server: self.server, why, log: self.log() }
    }

    /// Kills the server and all its processes with SIGKILL, and waits until they are gone.
    pub(crate) fn kill(&mut self) -> Result<(), ServerError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let family = children(child.id());
        let killed = child.kill();
        family.iter().for_each(|id| signal(*id, Signal::KILL));
        self.keeper.forget();
        killed.and_then(|()| child.wait()).map_err(ServerError::io("kill a server"))?;
        // The children are reaped by the operating system. The server does not start while one of
        // them is left.
        let start = Instant::now();
        while family.iter().any(|id| runs(*id)) && start.elapsed() < PATIENCE {
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the server with a signal, and with SIGKILL if it does not exit in time.
    pub(crate) fn stop(&mut self, by: Signal) -> Result<(), ServerError> {
        let Some(id) = self.id() else { return Ok(()) };
        signal(id, by);
        let start = Instant::now();
        while self.ended()?.is_none() {
            if start.elapsed() > PATIENCE {
                return self.kill();
            }
            sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The data are not read again, and the keeper removes the folder.
        let _gone = self.stop(self.quit);
    }
}
