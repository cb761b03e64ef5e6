//! The state of a removal, and of a plan of one: the same walk does both.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use context_core::memory::MemoryRecord;
use context_core::store::{HistoryStore, Revision};
use context_core::{ChatId, ChatRef, MessageId, Node, Result};

use super::texts::Needles;
use super::{Remaining, RemainingKind, RemovalItem, RemovalOptions, RemovalReport, memories};

/// A removal or a plan of one, as far as it has come.
pub(super) struct RemovalWalk<'a> {
    pub(super) options: &'a RemovalOptions,
    pub(super) report: RemovalReport,
    /// The content after the removal. Filled in a dry run only: after a real removal, the store
    /// has it.
    pub(super) planned: PlannedContent,
}

/// The content of a store after a planned removal.
#[derive(Debug, Default)]
pub(super) struct PlannedContent {
    /// Rewritten messages and boundaries of the chat.
    pub(super) nodes: HashMap<MessageId, Arc<Node>>,
    gone: BTreeSet<(&'static str, Option<ChatId>, String)>,
}

impl PlannedContent {
    /// Whether an item is removed.
    pub(super) fn is_gone(&self, kind: &'static str, chat: Option<&ChatId>, id: &str) -> bool {
        !self.gone.is_empty() && self.gone.contains(&(kind, chat.cloned(), id.to_owned()))
    }

    /// Whether a copy is removed, by itself or with what it belongs to.
    pub(super) fn covers(&self, copy: &Remaining) -> bool {
        let Remaining { kind, chat, id, .. } = copy;
        let with_whole = match (chat, kind) {
            (Some(chat), _) => self.is_gone("chat", None, chat.as_str()),
            (None, RemainingKind::Node) => {
                id.split_once(" in ").is_some_and(|(_, round)| self.is_gone("round", None, round))
            }
            _ => false,
        };
        // The search looks at the new form of a redacted message, and at what is beside a title.
        let is_looked_at = match kind {
            RemainingKind::Title => true,
            RemainingKind::Message => self.nodes.contains_key(&MessageId::from(id.as_str())),
            _ => false,
        };
        with_whole || !is_looked_at && self.is_gone(kind.as_str(), chat.as_ref(), id)
    }
}

impl<'a> RemovalWalk<'a> {
    pub(super) fn new(options: &'a RemovalOptions) -> Self {
        let (report, planned) = (RemovalReport::default(), PlannedContent::default());
        Self { options, report, planned }
    }

    /// Names an item that a dry run leaves in place. Returns false if it is named already.
    pub(super) fn plan(
        &mut self,
        kind: &'static str,
        chat: Option<&ChatId>,
        id: impl ToString,
        bytes: Option<u64>,
    ) -> bool {
        let id = id.to_string();
        let is_new =
            self.options.dry_run && self.planned.gone.insert((kind, chat.cloned(), id.clone()));
        if is_new {
            self.report.items.push(RemovalItem { kind, chat: chat.cloned(), id, bytes });
        }
        is_new
    }

    /// Names a memory that a dry run leaves in place.
    pub(super) fn plan_memory(&mut self, record: &MemoryRecord) -> bool {
        self.plan("memory", None, memories::name(record), Some(record.text.len() as u64))
    }

    /// Counts a message with its earlier revisions, takes what they say if copies are searched for,
    /// and returns the size.
    pub(super) async fn count_message(
        &mut self,
        history: &dyn HistoryStore,
        chat: &ChatRef,
        node: &Node,
        needles: &mut Needles,
    ) -> Result<u64> {
        let (revisions, bytes) = self.count_node(history, chat, node).await?;
        if self.options.find_copies {
            let earlier = revisions.iter().map(|revision| &*revision.node);
            std::iter::once(node).chain(earlier).for_each(|node| needles.add_said(node));
        }
        Ok(bytes)
    }

    /// Counts a message with its earlier revisions, and returns these and the size of all.
    pub(super) async fn count_node(
        &mut self,
        history: &dyn HistoryStore,
        chat: &ChatRef,
        node: &Node,
    ) -> Result<(Vec<Revision>, u64)> {
        let revisions = match node.revision {
            0 => Vec::new(),
            _ => history.revisions(chat, &node.id).await?,
        };
        let earlier = revisions.iter().map(|earlier| earlier.node.body().bytes().len());
        let bytes = node.body().bytes().len() + earlier.sum::<usize>();
        self.report.messages += 1;
        self.report.revisions += revisions.len() as u64;
        self.report.bytes += bytes as u64;
        Ok((revisions, bytes as u64))
    }

    /// Adds the copies that a search has found.
    pub(super) fn add_copies(&mut self, found: impl Iterator<Item = (usize, Remaining)>) {
        self.report.searched = true;
        self.report.remaining.extend(found.map(|(_, left)| left));
    }

    /// Returns the report, and begins another one. What is planned stays planned.
    pub(super) fn finish(&mut self) -> RemovalReport {
        let mut report = std::mem::take(&mut self.report);
        report.sort_remaining();
        report
    }
}
