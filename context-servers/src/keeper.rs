//! Who ends a server and removes its folder when the owner is gone, however it went.

use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::account::Account;
use crate::error::ServerError;

const SCRIPT: &str = include_str!("keeper.sh");

/// A longer path leaves no room for a socket: the system takes 104 bytes on macOS, 108 on Linux.
const LONGEST: usize = 60;

/// A folder, and a shell that removes it, and before that ends the server it was told of. Dropping
/// it waits until that is done.
#[derive(Debug)]
pub(crate) struct Keeper {
    folder: PathBuf,
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Keeper {
    /// Makes a folder for an account, and its keeper, which ends a server by this signal.
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
            // Ctrl-C is for the owner.
            .process_group(0)
            .spawn()
            .map_err(ServerError::io("start the keeper, a shell"))?;
        let pipe = shell.stdin.take();
        Ok(Self { folder: folder.keep(), shell, pipe })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells whom to end.
    pub(crate) fn keep(&mut self, server: u32) -> Result<(), ServerError> {
        self.tell(&format!("{server}\n")).map_err(ServerError::io("tell the keeper of a server"))
    }

    /// Tells that there is nobody to end.
    pub(crate) fn forget(&mut self) {
        // A keeper that does not listen any more has nobody to end either.
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
        // It has done so, unless somebody killed it.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// Where temporary folders are made: where the system says, if that is short and not only root's.
fn base(account: Account) -> PathBuf {
    let told = env::temp_dir();
    let usable = matches!(account, Account::Ours) && told.as_os_str().len() <= LONGEST;
    if usable { told } else { "/tmp".into() }
}
