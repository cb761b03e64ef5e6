//! The state of a removal, and of a plan of one: the same walk does both.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use context_core::base::MemoryId;
use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::store::{HistoryStore, Revision};
use context_core::{ChatId, ChatRef, MessageId, Node, Result};

use super::{RemovalItem, RemovalOptions, RemovalReport};

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
    /// Removed memories. An id alone does not identify one.
    memories: BTreeSet<(MemoryScope, MemoryId)>,
    gone: BTreeSet<(&'static str, Option<ChatId>, String)>,
}

impl PlannedContent {
    /// Whether an item is removed.
    pub(super) fn is_gone(&self, kind: &'static str, chat: Option<&ChatId>, id: &str) -> bool {
        !self.gone.is_empty() && self.gone.contains(&(kind, chat.cloned(), id.to_owned()))
    }

    /// Whether a memory is removed.
    pub(super) fn has_forgotten(&self, record: &MemoryRecord) -> bool {
        !self.memories.is_empty()
            && self.memories.contains(&(record.scope.clone(), record.id.clone()))
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
        let is_new = self.planned.memories.insert((record.scope.clone(), record.id.clone()));
        if is_new {
            let (kind, id) = ("memory", format!("{} of {}", record.id, record.scope));
            let bytes = Some(record.text.len() as u64);
            self.report.items.push(RemovalItem { kind, chat: None, id, bytes });
        }
        is_new
    }

    /// Counts a message with its earlier revisions, and returns these.
    pub(super) async fn count_message(
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

    /// Returns the report, and begins another one. What is planned stays planned.
    pub(super) fn finish(&mut self) -> RemovalReport {
        let mut report = std::mem::take(&mut self.report);
        report.remaining.sort();
        report.remaining.dedup();
        report
    }
}
