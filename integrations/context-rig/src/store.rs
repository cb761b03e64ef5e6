//! The store of rig's sessions.

use std::fmt;
use std::io;
use std::sync::Arc;

use context_runtime::store::{ChainEnd, Commit, CommitOutcome, NewChat, Target, Window};
use context_runtime::{BranchName, ChatRef, Clock, IdGenerator, Store, UserId};
use context_runtime::{SystemClock, Uuid7Ids};
use rig_memory::{AsyncStore, LogWriteError, check_log_name, check_name};

use crate::error::of_store;
use crate::log::Log;
use crate::record;

/// The chat whose blobs are the files of a user's sessions. No log has this name.
pub const FILES: &str = "rig/files";

/// The sessions of one user, kept in a store of the context layer. See the [crate](crate).
///
/// Cheap to clone. Any number of handles, in any number of processes, may use the same store: of
/// two writers that read a log at the same length, one writes and the other is refused.
#[derive(Clone)]
pub struct RigStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) user: UserId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdGenerator>,
}

impl RigStore {
    /// Creates the sessions of a user, whose logs are the user's chats.
    pub fn new(store: Arc<dyn Store>, user: impl Into<UserId>) -> Self {
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(Uuid7Ids));
        Self { store, user: user.into(), clock, ids }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Replaces the generator of message ids.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdGenerator>) -> Self {
        self.ids = ids;
        self
    }

    fn chat(&self, log: &str) -> io::Result<ChatRef> {
        check_log_name(log)?;
        Ok(ChatRef::new(self.user.clone(), log))
    }

    /// Reads a log and the branch that it is on. `None` if there is no such chat.
    async fn read(&self, chat: &ChatRef) -> io::Result<Option<(BranchName, Log)>> {
        let history = self.store.history();
        let Some(found) = history.chat(chat).await.map_err(of_store)? else { return Ok(None) };
        let end = ChainEnd::Branch(found.active.clone());
        let chain = history.chain(chat, &end, &Window::Whole).await.map_err(of_store)?;
        let log = Log::of(chat, &found.active, &chain)?;
        Ok(Some((found.active, log)))
    }

    /// Writes a log if it has this length now. A commit that is compared with the head that was
    /// read makes the check and the write one step.
    async fn write(
        &self,
        log: &str,
        len: u64,
        bytes: &[u8],
        replace: bool,
    ) -> Result<(), LogWriteError> {
        let chat = self.chat(log)?;
        let now = self.clock.now();
        let (branch, log) = match self.read(&chat).await? {
            Some(found) => found,
            None if len != 0 => return Err(LogWriteError::Changed),
            None => {
                let new = NewChat::new(chat.clone(), now);
                let _ = self.store.history().create_chat(new).await.map_err(of_store)?;
                let created = self.read(&chat).await?;
                created.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?
            }
        };
        if log.bytes.len() as u64 != len {
            return Err(LogWriteError::Changed);
        }
        let mut messages = record::messages(bytes, now);
        if replace && !log.bytes.is_empty() {
            messages.insert(0, record::restart(now));
        }
        if messages.is_empty() {
            return Ok(());
        }
        let target = Target::Extend { branch, expected: log.head };
        let nodes = messages.into_iter().map(|(message, at)| {
            Arc::new(context_runtime::store::Node::new(self.ids.next_id(), message, at))
        });
        let commit = Commit { nodes: nodes.collect(), ..Commit::new(chat, target, now) };
        match self.store.history().commit(commit).await.map_err(of_store)? {
            CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => Ok(()),
            _ => Err(LogWriteError::Changed),
        }
    }
}

impl AsyncStore for RigStore {
    async fn read_log_async(&self, name: &str) -> io::Result<Vec<u8>> {
        let chat = self.chat(name)?;
        let (_, log) = self.read(&chat).await?.ok_or(io::ErrorKind::NotFound)?;
        Ok(log.bytes)
    }

    async fn append_log_async(
        &self,
        name: &str,
        len: u64,
        bytes: &[u8],
    ) -> Result<(), LogWriteError> {
        self.write(name, len, bytes, false).await
    }

    async fn replace_log_async(
        &self,
        name: &str,
        len: u64,
        bytes: &[u8],
    ) -> Result<(), LogWriteError> {
        self.write(name, len, bytes, true).await
    }

    async fn read_file_async(&self, name: &str) -> io::Result<Vec<u8>> {
        check_name(name)?;
        self.read_file(name).await
    }

    async fn write_file_async(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        check_name(name)?;
        self.write_file(name, bytes).await
    }
}

impl fmt::Debug for RigStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigStore").field("store", &self.store.info().name).finish_non_exhaustive()
    }
}
