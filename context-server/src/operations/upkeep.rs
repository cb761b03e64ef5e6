//! Keeping a store sound, and removing the data of a user.

use context_runtime::CancelSignal;
use context_runtime::removal::{RemovalOptions, erase_user};
use context_runtime::store::Maintenance;
use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The outcome of checking a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct StoreCheck {
    /// Whether no invariant is violated.
    pub sound: bool,
    /// The number of chats that were looked at.
    pub chats: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of blobs.
    pub blobs: u64,
    /// The number of streams.
    pub streams: u64,
    /// The number of trajectory rounds.
    pub rounds: u64,
    /// The number of memory records.
    pub memories: u64,
    /// The violated invariants, as sentences.
    pub findings: Vec<String>,
}

/// The outcome of erasing a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct UserErased {
    /// The number of chats that were erased.
    pub chats: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of trajectory rounds.
    pub rounds: u64,
    /// The number of memory records.
    pub memories: u64,
    /// The number of records that a second read of the whole store found. 0 if all is erased.
    pub remaining: u64,
}

impl Operations {
    /// Checks every invariant of the store, for all users. Changes nothing, and reads everything.
    pub async fn check_store(&self) -> Result<StoreCheck, OperationError> {
        let report = self.maintenance()?.check(&CancelSignal::never()).await?;
        Ok(StoreCheck {
            sound: report.findings.is_empty(),
            chats: report.chats,
            messages: report.messages,
            blobs: report.blobs,
            streams: report.streams,
            rounds: report.rounds,
            memories: report.memories,
            findings: report.findings.iter().map(ToString::to_string).collect(),
        })
    }

    /// Gives room that deleted content took back to the system, and clears what is left of it in
    /// the store's files.
    pub async fn vacuum(&self) -> Result<(), OperationError> {
        self.check_writable()?;
        let _freed = self.maintenance()?.vacuum().await?;
        Ok(())
    }

    /// Erases everything of the user: chats, rounds, memories.
    pub async fn erase(&self) -> Result<UserErased, OperationError> {
        self.check_writable()?;
        let options = RemovalOptions::at(self.clock.now());
        let erased = erase_user(&*self.store, &self.user, &options).await?;
        Ok(UserErased {
            chats: erased.chats,
            messages: erased.messages,
            rounds: erased.rounds,
            memories: erased.memories,
            remaining: erased.found,
        })
    }

    fn maintenance(&self) -> Result<&dyn Maintenance, OperationError> {
        self.store.maintenance().ok_or(OperationError::Missing { ability: "maintenance" })
    }
}
