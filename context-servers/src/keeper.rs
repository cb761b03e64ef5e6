//! The keeper: a shell that ends a server and removes its folder when the owning process is gone.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::{env, fs};

use crate::account::Account;
use crate::error::ServerError;

const SCRIPT: &str = include_str!("keeper.sh");

/// The maximum length of the path of a temporary folder. The path of a Unix socket is limited to
/// 104 bytes on macOS and 108 on Linux.
const LONGEST: usize = 60;

/// A folder, and a shell that ends the registered server and then removes the folder. Dropping the
/// keeper waits until that is done.
#[derive(Debug)]
pub(crate) struct Keeper {
    folder: PathBuf,
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Keeper {
    /// Creates a folder for an account and starts its keeper, which ends a server with this signal.
    pub(crate) fn new(account: Account, signal: &str) -> Result<Self, ServerError> {
        let folder = tempfile::Builder::new().prefix("ctx-").tempdir_in(base(account));
        let folder = folder.map_err(ServerError::io("make a temporary folder"))?;
        account.own(folder.path())?;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "context-servers-keeper"])
            .arg(folder.path())
            .arg(signal)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C must reach the owner only.
            .process_group(0)
            .spawn()
            .map_err(ServerError::io("start the keeper, a shell"))?;
        let pipe = shell.stdin.take();
        Ok(Self { folder: folder.keep(), shell, pipe })
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Registers the server process to end.
    pub(crate) fn keep(&mut self, server: u32) -> Result<(), ServerError> {
        self.tell(&format!("{server}\n")).map_err(ServerError::io("tell the keeper of a server"))
    }

    /// Clears the registered server.
    pub(crate) fn forget(&mut self) {
        // A keeper that has exited has no server to end either.
        let _gone = self.tell("\n");
    }

    fn tell(&mut self, line: &str) -> std::io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        pipe.write_all(line.as_bytes())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _status = self.shell.wait();
        // The keeper has removed the folder already, unless it was killed.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the parent of temporary folders: the system's, if its path is short and other accounts
/// can use it, else `/tmp`.
fn base(account: Account) -> PathBuf {
    let folder = env::temp_dir();
    let usable = matches!(account, Account::Ours) && folder.as_os_str().len() <= LONGEST;
    if usable { folder } else { "/tmp".into() }
}
