//! Servers as processes of their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::database::Database;
use crate::floor;

/// The servers of a side.
const SERVERS: usize = 2;
/// More requests a second than any machine answers: the default is a limit for each user.
const RATE: &str = "1000000";

/// The processes of a side. They end with this value.
pub(crate) struct Servers(Vec<Server>);

struct Server {
    child: Child,
    port: u16,
}

impl Servers {
    /// Starts two `context serve`.
    pub(crate) fn ours(database: &Database) -> Self {
        Self((0..SERVERS).map(|_| Server::start(ours(database, 0))).collect())
    }

    /// Starts two bare servers: this program with other arguments.
    pub(crate) fn floor(database: &Database) -> Self {
        let command = || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([floor::ARGUMENT, &database.url("floor")]);
            command
        };
        Self((0..SERVERS).map(|_| Server::start(command())).collect())
    }

    /// Returns the addresses, which remain the same when a server is started again.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.0.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect()
    }

    /// Kills the first of our servers, and starts it again on its port.
    pub(crate) fn kill_and_restart(&mut self, database: &Database) {
        let port = self.0.remove(0).port;
        self.0.insert(0, Server::start(ours(database, port)));
    }

    /// Returns the seconds of CPU time of all of them, where the system tells it.
    pub(crate) fn cpu(&self) -> Option<f64> {
        self.0.iter().map(|server| cpu(&server.child.id().to_string())).sum()
    }
}

/// Returns the command that serves on a port, or on a free one if it is 0.
fn ours(database: &Database, port: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context"));
    command.args(["--json", "serve", "--user", "ada", "--rate", RATE]);
    command.args(["--port", &port.to_string(), "--store", &database.url("ours")]);
    command
}

/// Returns the seconds of CPU time that a process has used: its number, or `self`.
pub(crate) fn cpu(process: &str) -> Option<f64> {
    // The unit in which Linux tells times to programs.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in brackets, and may contain spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

impl Server {
    /// Starts a server and waits until it has its port.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let record: serde_json::Value = serde_json::from_str(&line).expect("the server starts");
        let port = record["port"].as_u64().unwrap().try_into().unwrap();
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
