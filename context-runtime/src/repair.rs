//! Saving what is sound of a damaged store into a new one.
//!
//! [`repair_store`] reads the damaged store through its traits, around whatever it refuses to read.
//! A factory of stores may have a [better way](crate::store::StoreFactory::salvage): that of
//! SQLite reads the file itself, page by page. [`repair_url`] takes the best way that there is. The
//! damaged store is only read, and the result says by name what was lost.
//!
//! A branch of which a message is lost ends in front of it. What comes after the lost message is
//! kept too: it begins with a root, on a branch whose name ends in `-rest-` and a number.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_runtime::{CancelSignal, ContextEngine, repair::repair_store, user};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let damaged = context_runtime::open("mem:").await?;
//! let mut chat = ContextEngine::builder(damaged.clone()).user("ada").chat("trip").open().await?;
//! chat.set([user("A train?")]).save().await?;
//! let new = context_runtime::open("mem:").await?;
//! let report = repair_store(&*damaged, Arc::clone(&new), &[], &CancelSignal::never()).await?;
//! assert_eq!((report.chats, report.messages), (1, 1));
//! assert!(report.losses.is_empty());
//! # Ok(())
//! # }
//! ```

mod seam;
mod seam_chat;
mod writer;

use std::sync::Arc;

use context_core::store::{Finding, Maintenance};
use context_core::{CancelSignal, Diagnostic, Error, ErrorKind, Result, Store, UserId};
pub use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};
use serde::Serialize;

use self::writer::RepairWriter;
use crate::registry::{OpenMode, StoreRegistry};

const OPERATION: &str = "repair";

/// The result of a repair: what is saved, and what is lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct RepairReport {
    /// Number of saved chats.
    pub chats: u64,
    /// Number of saved messages, on all branches.
    pub messages: u64,
    /// Number of branches of the saved chats.
    pub branches: u64,
    /// Number of saved checkpoints.
    pub checkpoints: u64,
    /// Number of saved fragments.
    pub fragments: u64,
    /// Number of saved blobs.
    pub blobs: u64,
    /// Number of saved streams.
    pub streams: u64,
    /// Number of saved trajectory rounds.
    pub rounds: u64,
    /// Number of saved memory records.
    pub memories: u64,
    /// Everything that is lost, by name as far as names are known.
    pub losses: Vec<Loss>,
    /// The differences of the new store that keep it sound.
    pub changes: Vec<Diagnostic>,
    /// The findings of the check of the damaged store. A row that is no longer where it is looked
    /// for is missed by nobody who reads through the traits, so a finding without a loss tells
    /// where to compare. Empty where the file itself was read: then every loss is known.
    pub findings: Vec<Finding>,
}

/// Saves the users of a store that lists its users, and also `users`, through the traits of the
/// store. The new store must have no users.
pub async fn repair_store(
    damaged: &dyn Store,
    new: Arc<dyn Store>,
    users: &[UserId],
    cancel: &CancelSignal,
) -> Result<RepairReport> {
    check_empty(&*new).await?;
    let mut writer = RepairWriter::new(&*new, Arc::clone(&new), cancel);
    seam::read(damaged, users, &mut writer, cancel).await?;
    let mut report = writer.finish().await?;
    report.findings = seam::findings(damaged, cancel).await?;
    Ok(report)
}

/// Saves the store at a URL, in the way that finds most. `users` are those of a store that cannot
/// list its users. The new store must have no users.
pub async fn repair_url(
    stores: &StoreRegistry,
    damaged: &str,
    new: Arc<dyn Store>,
    users: &[UserId],
    cancel: &CancelSignal,
) -> Result<RepairReport> {
    check_empty(&*new).await?;
    let mut writer = RepairWriter::new(&*new, Arc::clone(&new), cancel);
    if stores.salvage(damaged, &mut writer, cancel).await? {
        return writer.finish().await;
    }
    drop(writer);
    let store = stores.open_with(damaged, OpenMode::Read).await?;
    let repaired = repair_store(&*store, new, users, cancel).await;
    store.close().await?;
    repaired
}

/// Refuses to write into a store that has users.
async fn check_empty(new: &dyn Store) -> Result<()> {
    let maintenance: Option<&dyn Maintenance> = new.maintenance();
    let users = match maintenance {
        Some(maintenance) => match maintenance.users(1, None).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            users => users?,
        },
        None => return Ok(()),
    };
    if users.items.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(OPERATION, "the new store has contents already: name one that is empty"))
}
