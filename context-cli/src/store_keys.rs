//! The keys of an encrypted store: from a file or from a command, for the store of the command.

use std::path::Path;
use std::sync::Arc;

use context_runtime::Store;
use context_runtime::layers::{EncryptedStore, KeyError, KeyRing, UserKeyFile};

use crate::error::Failure;
use crate::settings::Origin;

/// The sources of the keys of the store. No keys are in here.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySettings {
    /// A file with the keys.
    pub(crate) file: Option<(String, Origin)>,
    /// A command that prints the keys.
    pub(crate) command: Option<(String, Origin)>,
    /// A file with a key for each user, which the keys encrypt.
    pub(crate) users: Option<(String, Origin)>,
}

impl KeySettings {
    /// Returns `self` with the values of `behind` where neither a file nor a command is named, and
    /// where no file of users' keys is. An empty value is none.
    pub(crate) fn or(self, behind: Self) -> Self {
        let has_keys = self.file.is_some() || self.command.is_some();
        let (file, command) = match has_keys {
            true => (self.file, self.command),
            false => (behind.file, behind.command),
        };
        let filled = |value: Option<(String, Origin)>| value.filter(|(text, _)| !text.is_empty());
        Self {
            file: filled(file),
            command: filled(command),
            users: filled(self.users.or(behind.users)),
        }
    }

    /// Encrypts what goes into a store, and decrypts what comes out of it, if there are keys.
    pub(crate) fn encrypt(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, Failure> {
        let ring = match (&self.file, &self.command) {
            (None, None) if self.users.is_none() => return Ok(store),
            (None, None) => {
                let text = "--user-keys needs the key that opens them: --key-file or --key-command";
                return Err(Failure::Usage(text.into()));
            }
            (Some(_), Some(_)) => {
                let text = "--key-file and --key-command both name keys: name one of them";
                return Err(Failure::Usage(text.into()));
            }
            (Some((file, _)), None) => {
                KeyRing::from_file(file).map_err(|error| failed(file, error))?
            }
            (None, Some((command, _))) => {
                let from = "the key command".to_owned();
                KeyRing::from_command(command).map_err(|source| Failure::Keys { from, source })?
            }
        };
        Ok(match &self.users {
            None => Arc::new(EncryptedStore::new(store, ring)),
            Some((file, _)) => {
                let keys = UserKeyFile::open(Path::new(file), ring);
                let keys = keys.map_err(|error| failed(file, error))?;
                Arc::new(EncryptedStore::per_user(store, Arc::new(keys)))
            }
        })
    }
}

fn failed(file: &str, source: KeyError) -> Failure {
    Failure::Keys { from: file.to_owned(), source }
}
