//! Maintenance of all stores together.

use std::path::Path;

use async_trait::async_trait;
use context_core::store::{CheckReport, Cursor, Erasure, Maintenance, Page, StoreFacts, Vacuumed};
use context_core::{CancelSignal, Error, ErrorKind, Result, UserId};

use super::{Shared, shadow, users};
use crate::abilities::Abilities as _;

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let mut report = self.main.require_maintenance()?.check(cancel).await?;
        for other in self.others() {
            // Chats of the other store are shadows, so they are not counted.
            let of_other = other.require_maintenance()?.check(cancel).await?;
            report.blobs += of_other.blobs;
            report.streams += of_other.streams;
            report.rounds += of_other.rounds;
            report.memories += of_other.memories;
            report.findings.extend(of_other.findings);
            shadow::find_orphans(&*self.main, &**other, cancel, &mut report).await?;
        }
        Ok(report)
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        let mut erased = self.main.require_maintenance()?.erase_user(user, cancel).await?;
        let outer = cancel.clone();
        // The other stores have no messages, and would report that none is erased.
        let cancel = &cancel.clone().reporting(move |steps, done| {
            if steps != "message" {
                outer.report(steps, done);
            }
        });
        for other in self.others() {
            let of_other = other.require_maintenance()?.erase_user(user, cancel).await?;
            erased.blobs += of_other.blobs;
            erased.streams += of_other.streams;
            erased.rounds += of_other.rounds;
            erased.memories += of_other.memories;
            erased.remaining += of_other.remaining;
            shadow::forget(&**other, user).await?;
            erased.remaining += u64::from(shadow::is_noted(&**other, user).await?);
        }
        Ok(erased)
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        match &self.trajectories {
            None => self.main.require_maintenance()?.users(limit, after).await,
            Some(trajectories) => {
                users::of_both(
                    self.main.require_maintenance()?,
                    trajectories.require_maintenance()?,
                    limit,
                    after,
                )
                .await
            }
        }
    }

    /// The facts about the store of the chats.
    async fn facts(&self) -> Result<StoreFacts> {
        self.main.require_maintenance()?.facts().await
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        let mut all: Option<Vacuumed> = None;
        for store in std::iter::once(&self.main).chain(self.others()) {
            match store.require_maintenance()?.vacuum().await {
                Ok(one) => {
                    let sum = all.get_or_insert_default();
                    sum.before += one.before;
                    sum.after += one.after;
                }
                // A store without vacuum does not prevent that of the others.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
        all.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "vacuum", "these stores have nothing to vacuum")
        })
    }

    /// A single file cannot hold several stores.
    async fn backup(&self, to: &Path) -> Result<()> {
        if self.others().is_empty() {
            return self.main.require_maintenance()?.backup(to).await;
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "backup",
            "a split store is backed up store by store",
        ))
    }
}
