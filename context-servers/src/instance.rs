//! What a server of any kind is: a process in a folder, with a keeper.

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

/// How long a server may take to answer, or to end by itself.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const PAUSE: Duration = Duration::from_millis(10);
/// How much of a log an error holds.
const LOG_LINES: usize = 40;

/// The program becomes this shell's process, but not before the keeper knows of it.
const GATE: &str = "read -r go && exec \"$@\" </dev/null";

/// Why a launch failed.
pub(crate) enum Failed {
    /// Somebody else has the port.
    PortTaken(ServerError),
    /// Anything else.
    Other(ServerError),
}

impl From<ServerError> for Failed {
    fn from(error: ServerError) -> Self {
        Self::Other(error)
    }
}

impl From<Failed> for ServerError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::PortTaken(error) | Failed::Other(error) => error,
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
    /// What ends the server at once and in order.
    quit: Signal,
}

impl Instance {
    /// A folder for a server that is ended by a signal, of which the shell knows the name.
    pub(crate) fn new(server: &'static str, quit: (Signal, &str)) -> Result<Self, ServerError> {
        let account = Account::choose()?;
        let keeper = Keeper::new(account, quit.1)?;
        Ok(Self { server, account, keeper, child: None, quit: quit.0 })
    }

    /// The server's folder.
    pub(crate) fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    /// Where the server keeps its data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Makes the folder for the data.
    pub(crate) fn make_data(&self) -> Result<(), ServerError> {
        let data = self.data();
        fs::create_dir(&data).map_err(ServerError::io("make a folder for data"))?;
        self.account.own(&data)
    }

    /// The id of the server's process, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The end of what the server wrote.
    pub(crate) fn log(&self) -> String {
        let text = fs::read(self.log_path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.folder().join("log")
    }

    /// A command whose words go to the log, as the account, in the folder.
    fn command(&self, program: &Path) -> Result<Command, ServerError> {
        let log = File::options().create(true).append(true).open(self.log_path());
        let log = log.map_err(ServerError::io("open a server's log"))?;
        let again = log.try_clone().map_err(ServerError::io("open a server's log"))?;
        let mut command = Command::new(program);
        command.current_dir(self.folder()).process_group(0).stdout(log).stderr(again);
        self.account.run_as(&mut command);
        // What the server says is read, and what it is told is on its command line.
        command.env("LC_ALL", "C");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG"))
        {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Runs a program to its end.
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

    /// Starts the server and waits until it answers: this one, of which the process has the given
    /// id, and not one that was faster to take the port. A server that does not answer is ended.
    pub(crate) fn launch(
        &mut self,
        program: &Path,
        args: &[String],
        answers: impl Fn(u32) -> Result<(), ServerError>,
    ) -> Result<(), Failed> {
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
                    Failed::PortTaken(error)
                } else {
                    Failed::Other(error)
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

    /// As [`launch`](Self::launch), at an address it had before: somebody may still have the port
    /// for a moment.
    pub(crate) fn relaunch(
        &mut self,
        program: &Path,
        args: &[String],
        answers: impl Fn(u32) -> Result<(), ServerError>,
    ) -> Result<(), ServerError> {
        let start = Instant::now();
        loop {
            match self.launch(program, args, &answers) {
                Err(Failed::PortTaken(_)) if start.elapsed() < PATIENCE => sleep(PAUSE),
                done => return done.map_err(ServerError::from),
            }
        }
    }

    /// Whether the server has ended by itself.
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

    /// Ends the server and every process of it by SIGKILL, and waits until they are gone.
    pub(crate) fn kill(&mut self) -> Result<(), ServerError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let family = children(child.id());
        let killed = child.kill();
        family.iter().for_each(|id| signal(*id, Signal::KILL));
        self.keeper.forget();
        killed.and_then(|()| child.wait()).map_err(ServerError::io("kill a server"))?;
        // Not ours to wait for: the system does so, but a server that finds one of the old
        // processes does not start.
        let start = Instant::now();
        while family.iter().any(|id| runs(*id)) && start.elapsed() < PATIENCE {
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the server by a signal, and by SIGKILL if it does not.
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
        // Nothing of it will be read again. The keeper removes the folder.
        let _gone = self.stop(self.quit);
    }
}
