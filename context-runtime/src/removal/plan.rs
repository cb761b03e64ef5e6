//! Plans of several removals, one after the other, with one search for copies after all of them.

use std::collections::BTreeSet;

use context_core::store::{Blob, StoredStream};
use context_core::{BranchName, ChatRef, Result, Store, Timestamp, UserId};

use super::copies::CopySearch;
use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{Remaining, RemovalOptions, RemovalReport, chat, references};

/// The number of word runs after which a search is made, which is repeated for further ones. This
/// limits the memory of a plan to about 150 MB, whatever the size of the removed texts.
pub(super) const MAX_RUNS: usize = 7_000_000;

/// Plans the deletion of several chats, as [`delete_chat`](super::delete_chat) does it with
/// [`dry_run`](RemovalOptions::dry_run). Words that go with another one of the chats do not remain.
/// A copy of words that several chats have is listed with the first of these.
pub async fn plan_deletion(
    store: &dyn Store,
    chats: &[ChatRef],
    options: &RemovalOptions,
) -> Result<Vec<RemovalReport>> {
    let options = options.clone().dry_run(true);
    let mut plan = RemovalPlan::new(store, &options);
    for chat in chats {
        plan.add_chat(chat, None).await?;
    }
    plan.finish().await
}

/// A plan of removals, as far as it has come.
pub(crate) struct RemovalPlan<'a> {
    store: &'a dyn Store,
    walk: RemovalWalk<'a>,
    needles: Needles,
    users: BTreeSet<UserId>,
    reports: Vec<RemovalReport>,
    /// Copies, with the number of the report that they belong to.
    copies: Vec<(usize, Remaining)>,
}

impl<'a> RemovalPlan<'a> {
    pub(crate) fn new(store: &'a dyn Store, options: &'a RemovalOptions) -> Self {
        Self {
            store,
            walk: RemovalWalk::new(options),
            needles: Needles::default(),
            users: BTreeSet::new(),
            reports: Vec::new(),
            copies: Vec::new(),
        }
    }

    /// Adds a branch with the messages that nothing else reaches.
    pub(crate) async fn add_branch(&mut self, chat: &ChatRef, branch: &BranchName) -> Result<()> {
        let (history, needles, walk) = (self.store.history(), &mut self.needles, &mut self.walk);
        references::count_branch(history, chat, branch, needles, walk).await?;
        self.add_report(chat).await
    }

    /// Adds blobs and streams of a chat.
    pub(crate) async fn add_parts(
        &mut self,
        chat: &ChatRef,
        blobs: Vec<Blob>,
        streams: Vec<StoredStream>,
    ) -> Result<()> {
        for blob in blobs {
            self.walk.report.blobs += 1;
            self.walk.plan("blob", Some(&chat.chat), blob.id, Some(blob.bytes));
        }
        for stream in streams {
            self.walk.report.streams += 1;
            self.walk.plan("stream", Some(&chat.chat), stream.id, Some(stream.bytes));
        }
        self.add_report(chat).await
    }

    /// Adds a chat, unless it was written to after `idle_since`.
    pub(crate) async fn add_chat(
        &mut self,
        chat: &ChatRef,
        idle_since: Option<Timestamp>,
    ) -> Result<()> {
        let (needles, walk) = (&mut self.needles, &mut self.walk);
        if !chat::delete(self.store, chat, idle_since, needles, walk).await? {
            self.walk.report = RemovalReport::default();
        }
        self.add_report(chat).await
    }

    /// Adds what the walk has found as the report of a removal.
    async fn add_report(&mut self, chat: &ChatRef) -> Result<()> {
        self.users.insert(chat.user.clone());
        self.reports.push(self.walk.finish());
        self.walk.options.cancel.check("plan_removals")?;
        self.walk.options.cancel.report("removal", self.reports.len() as u64);
        self.needles.source = self.reports.len();
        if self.needles.len() > MAX_RUNS {
            self.search().await?;
        }
        Ok(())
    }

    async fn search(&mut self) -> Result<()> {
        let mut search = CopySearch::new(self.store, &self.needles, &self.walk);
        for user in &self.users {
            search.search(user).await?;
        }
        self.copies.extend(search.finish());
        self.needles.clear();
        Ok(())
    }

    /// Returns a report per removal, in their order.
    pub(crate) async fn finish(mut self) -> Result<Vec<RemovalReport>> {
        if self.walk.options.find_copies {
            self.search().await?;
        }
        for (number, copy) in self.copies {
            // A search between two removals finds what later ones take.
            if !self.walk.planned.covers(&copy) {
                self.reports[number].remaining.push(copy);
            }
        }
        for report in &mut self.reports {
            report.searched = self.walk.options.find_copies;
            report.sort_remaining();
        }
        Ok(self.reports)
    }
}
