//! Running the command, in this process or as a child process with limits.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a command with little work.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Whether the exit status is 0.
    pub succeeded: bool,
    /// The reason why the command did not end properly: a panic, a signal, a timeout.
    pub fault: Option<String>,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: Vec<u8>,
}

impl CommandOutput {
    /// Returns standard error as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// Checks that the command ended properly.
    pub fn sound(&self) -> Result<(), String> {
        match &self.fault {
            Some(fault) => Err(format!("{fault}: {}", self.err())),
            None if self.err().contains("panicked at") => Err(format!("panicked: {}", self.err())),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the arguments of a command on a SQLite store.
pub fn store_args(store: &Path, args: &[&str]) -> Vec<OsString> {
    let url = format!("sqlite:{}", store.display());
    let store = ["context", "--store", url.as_str()].map(OsString::from);
    store.into_iter().chain(args.iter().map(OsString::from)).collect()
}

/// Runs a command in this process.
pub fn run_in_process(args: Vec<OsString>) -> CommandOutput {
    let (out, err) = (SharedBuffer::default(), SharedBuffer::default());
    let run = || context_cli::run_with(args, out.clone(), err.clone());
    let ended = catch_unwind(AssertUnwindSafe(run));
    let fault = ended.is_err().then(|| "panicked".to_owned());
    let succeeded = ended.is_ok_and(|code| code == ExitCode::SUCCESS);
    CommandOutput { succeeded, fault, out: out.take(), err: err.take() }
}

/// Returns the program of the command: the one that `CONTEXT_TORTURE_COMMAND` names, or else this
/// program, which runs the same code when its first argument is `context`.
pub fn child_command(args: &[OsString]) -> io::Result<Command> {
    let mut command = match std::env::var_os("CONTEXT_TORTURE_COMMAND") {
        Some(program) => Command::new(program),
        None => {
            let mut own = Command::new(std::env::current_exe()?);
            own.arg("context");
            own
        }
    };
    command.args(args.iter().skip(1)).stdin(Stdio::null());
    for name in ["CONTEXT_STORE", "CONTEXT_USER"] {
        command.env_remove(name);
    }
    Ok(command)
}

/// Runs a command as a child process with a time limit.
pub fn run_as_child(args: &[OsString], folder: &Path, limit: Duration) -> CommandOutput {
    let run = || -> io::Result<CommandOutput> {
        let mut command = child_command(args)?;
        command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        wait(command, limit)
    };
    run().unwrap_or_else(|error| CommandOutput {
        succeeded: false,
        fault: Some(format!("does not run: {error}")),
        out: Vec::new(),
        err: Vec::new(),
    })
}

/// Waits until a process exits, or kills it at the time limit.
pub fn wait(mut command: Command, limit: Duration) -> io::Result<CommandOutput> {
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = |from: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // After an error, keep what was read so far.
            let _ = from.map(|mut from| from.read_to_end(&mut bytes));
            bytes
        })
    };
    let out = read(out.map(|out| Box::new(out) as Box<dyn Read + Send>));
    let err = read(err.map(|err| Box::new(err) as Box<dyn Read + Send>));
    let begun = Instant::now();
    let mut fault = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > limit {
            fault = Some(format!("hangs: no end within {} s", limit.as_secs()));
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let fault = fault.or_else(|| match status.code() {
        Some(101) => Some("panicked".to_owned()),
        Some(_) => None,
        None => Some(format!("died of {status}")),
    });
    let collected = |bytes: thread::JoinHandle<Vec<u8>>| bytes.join().unwrap_or_default();
    Ok(CommandOutput {
        succeeded: status.success(),
        fault,
        out: collected(out),
        err: collected(err),
    })
}
