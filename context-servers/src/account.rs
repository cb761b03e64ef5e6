//! The account that a server runs as: the current one, or an unprivileged one if the caller is
//! root.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::ServerError;

/// The accounts that root switches to. The first existing one is used.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// An account that is not root.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Account {
    /// The account of this process.
    Ours,
    /// Another account, because this process runs as root.
    Other { uid: u32, gid: u32 },
}

impl Account {
    /// Returns the account to run a server as.
    pub(crate) fn choose() -> Result<Self, ServerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ours);
        }
        let users =
            fs::read_to_string("/etc/passwd").map_err(ServerError::io("read /etc/passwd"))?;
        NAMES.into_iter().find_map(|name| user(&users, name)).ok_or(ServerError::NoAccount)
    }

    /// Makes the account the owner of a file or folder.
    pub(crate) fn own(self, path: &Path) -> Result<(), ServerError> {
        let Self::Other { uid, gid } = self else { return Ok(()) };
        chown(path, Some(uid), Some(gid))
            .map_err(ServerError::io(format!("hand over {}", path.display())))
    }

    /// Makes a command run as this account.
    pub(crate) fn run_as(self, command: &mut Command) {
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
    }
}

/// Finds the line `name:password:uid:gid:…` of a user.
fn user(users: &str, name: &str) -> Option<Account> {
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1);
    let uid = fields.next()?.parse().ok().filter(|uid| *uid != 0)?;
    Some(Account::Other { uid, gid: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Account, user};

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "root:x:0:0:root::\npostgresql:x:7:7::\npostgres:x:105:108:PostgreSQL::\nbad:x:-2:-2::\n";
        assert!(matches!(user(users, "postgres"), Some(Account::Other { uid: 105, gid: 108 })));
        assert!(user(users, "nobody").is_none());
        assert!(user(users, "bad").is_none(), "a number that is none of ours to guess");
        assert!(user(users, "root").is_none(), "root is what is not wanted");
    }
}
