//! Keys from a file or from a command.

use std::path::Path;
use std::process::{Command, Stdio};

use zeroize::Zeroizing;

use super::keys::{EncryptionKey, KeyError, KeyRing};

/// The name of a key that is given without one.
const UNNAMED: &str = "key";
/// The most bytes that are read of a file or a command.
const MOST: usize = 64 << 10;

impl KeyRing {
    /// Parses keys, one per line: its name, a space, and the key as for
    /// [`EncryptionKey::from_text`]. The first one encrypts, the others only decrypt. A key without
    /// a name is named `key`. Empty lines and those that begin with `#` are skipped.
    ///
    /// ```
    /// use context_store_layers::{KeyError, KeyRing};
    ///
    /// let (new, old) = ("7".repeat(64), "5".repeat(64));
    /// let ring = KeyRing::from_text(&format!("2026-11 {new}\n2026-10 {old}\n"))?;
    /// assert_eq!((ring.current().id().as_str(), ring.older().len()), ("2026-11", 1));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let mut ring: Option<Self> = None;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, key) = line.split_once(char::is_whitespace).unwrap_or((UNNAMED, line));
            let key = EncryptionKey::from_text(name, key)?;
            ring = Some(match ring {
                None => Self::new(key),
                Some(ring) => ring.with_older(key)?,
            });
        }
        ring.ok_or(KeyError::None)
    }

    /// Reads keys for [`from_text`](Self::from_text) from a file. Refuses a file that others than
    /// its owner may read or write, where the system has such permissions. Blocks the thread.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        check_mode(path)?;
        Self::from_bytes(Zeroizing::new(std::fs::read(path)?))
    }

    /// Runs a command with the system's shell and reads keys for [`from_text`](Self::from_text)
    /// from its standard output. Its standard error is that of this process. Blocks the thread
    /// until the command ends.
    pub fn from_command(command: &str) -> Result<Self, KeyError> {
        let mut shell = shell();
        let output = shell.arg(command).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(KeyError::Command)?;
        let text = Zeroizing::new(output.stdout);
        if !output.status.success() {
            return Err(KeyError::CommandFailed(output.status.code()));
        }
        Self::from_bytes(text)
    }

    fn from_bytes(bytes: Zeroizing<Vec<u8>>) -> Result<Self, KeyError> {
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= MOST);
        Self::from_text(text.ok_or(KeyError::Bytes)?)
    }
}

fn shell() -> Command {
    let (program, argument) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
    let mut command = Command::new(program);
    command.arg(argument);
    command
}

/// Refuses a file that others than its owner may read or write.
#[cfg(unix)]
pub(super) fn check_mode(path: &Path) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(KeyError::Permissions(mode)) }
}

#[cfg(not(unix))]
pub(super) fn check_mode(_path: &Path) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0101010101010101010101010101010101010101010101010101010101010101";
    const TWO: &str = "0202020202020202020202020202020202020202020202020202020202020202";

    #[test]
    fn lines_name_the_keys_and_the_first_one_encrypts() {
        let ring = KeyRing::from_text(&format!("# of 2026\n\n new  {ONE} \nold {TWO}\n")).unwrap();
        assert_eq!(format!("{ring:?}"), r#"KeyRing { current: "new", older: ["old"] }"#);
        assert_eq!(KeyRing::from_text(ONE).unwrap().current().id().as_str(), UNNAMED);
        assert!(matches!(KeyRing::from_text("# nothing\n"), Err(KeyError::None)));
        assert!(matches!(
            KeyRing::from_text(&format!("a {ONE}\na {TWO}")),
            Err(KeyError::Twice(_))
        ));
    }

    #[test]
    fn no_error_says_what_stands_there() {
        for text in ["k secret-but-short", "secret-but-short", "k secret secret"] {
            let error = KeyRing::from_text(text).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused_with_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, ONE).unwrap();
        for (mode, is_fine) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let read = KeyRing::from_file(&path);
            assert_eq!(read.is_ok(), is_fine, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().contains(&format!("{mode:o}")), "{error}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_prints_the_keys_or_says_that_it_failed() {
        let ring = KeyRing::from_command(&format!("echo vault {ONE}")).unwrap();
        assert_eq!(ring.current().id().as_str(), "vault");
        let failed = KeyRing::from_command("exit 3").unwrap_err();
        assert!(matches!(failed, KeyError::CommandFailed(Some(3))), "{failed}");
        assert!(matches!(KeyRing::from_command("true"), Err(KeyError::None)));
    }
}
