//! Messages, boundaries and fragments.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::base::sealed;
use context_core::history::{FrontEntry, StoredBoundary};
use context_core::message::MessageHash;
use context_core::store::{Commit, StoredFragment};
use context_core::{Encoded, Message, Node};
use context_secrets::MaskReport;

use super::{Shared, chats, lock};

/// The most messages whose hashes are kept.
const MOST_HASHES: usize = 4096;

/// The hashes of masked messages by those of the messages that were to be written. A program that
/// set a message and shortens it refers to it by its hash, and the stored one has another.
#[derive(Default)]
pub(super) struct HashMemory {
    masked: HashMap<MessageHash, MessageHash>,
    order: VecDeque<MessageHash>,
}

impl HashMemory {
    fn insert(&mut self, message: MessageHash, masked: MessageHash) {
        if self.masked.insert(message, masked).is_none() {
            self.order.push_back(message);
        }
        if self.order.len() > MOST_HASHES
            && let Some(oldest) = self.order.pop_front()
        {
            self.masked.remove(&oldest);
        }
    }
}

impl Shared {
    pub(super) fn masked_commit(&self, mut commit: Commit, report: &mut MaskReport) -> Commit {
        let lists = [&mut commit.nodes, &mut commit.amendments, &mut commit.redactions];
        for node in lists.into_iter().flatten() {
            if let Some(masked) = self.node(node, report) {
                *node = Arc::new(masked);
            }
        }
        for fragment in &mut commit.fragments {
            *fragment = self.fragment(fragment, report);
        }
        commit.patch = commit.patch.map(|patch| chats::patch(&self.finder, &patch, report));
        commit
    }

    pub(super) fn fragment(
        &self,
        fragment: &StoredFragment,
        report: &mut MaskReport,
    ) -> StoredFragment {
        StoredFragment {
            id: fragment.id.clone(),
            metadata: chats::metadata(&self.finder, fragment.metadata.clone(), report),
            body: self.body(&fragment.body, report).unwrap_or_else(|| fragment.body.clone()),
        }
    }

    fn node(&self, node: &Node, report: &mut MaskReport) -> Option<Node> {
        let masked = match node.message() {
            Ok(message) => {
                let masked = self.finder.mask_message(message, report)?;
                lock(&self.hashes).insert(message.hash(), masked.hash());
                Node::new(node.id.clone(), masked, node.created_at)
            }
            Err(_) => {
                let body = self.body(node.body(), report)?;
                Node::from_encoded(node.id.clone(), node.kind, node.created_at, body)
            }
        };
        // The role in a message of another program need not be that of its node.
        let mut kept =
            Node::from_encoded(node.id.clone(), node.kind, node.created_at, masked.body().clone());
        (kept.revision, kept.tokens) = (node.revision, node.tokens);
        Some(kept)
    }

    /// Masks a stored form of any kind.
    fn body(&self, body: &Encoded, report: &mut MaskReport) -> Option<Encoded> {
        if body.kind() == sealed::KIND {
            return None;
        }
        if let Ok(boundary) = StoredBoundary::decode(body) {
            return self.boundary(boundary, report).map(|masked| masked.encode());
        }
        if let Ok(message) = Message::decode(body) {
            return self.finder.mask_message(&message, report).map(|masked| masked.encode());
        }
        let bytes = self.finder.mask_bytes(body.bytes(), report)?;
        Some(Encoded::new(body.kind(), body.version(), bytes))
    }

    fn boundary(
        &self,
        mut boundary: StoredBoundary,
        report: &mut MaskReport,
    ) -> Option<StoredBoundary> {
        let before = boundary.clone();
        let mut message = |message: &mut Arc<Message>| {
            if let Some(masked) = self.finder.mask_message(message, report) {
                *message = Arc::new(masked);
            }
        };
        for entry in &mut boundary.front {
            if let FrontEntry::Made { message: made, .. } = entry {
                message(made);
            }
        }
        for replacement in &mut boundary.replaced {
            message(&mut replacement.message);
            if let Some(masked) = lock(&self.hashes).masked.get(&replacement.of) {
                replacement.of = *masked;
            }
        }
        let texts = boundary.steps.iter_mut().map(|step| &mut step.description);
        for text in texts.chain([&mut boundary.description]) {
            if let Some(masked) = self.finder.mask_text(text, report) {
                *text = masked;
            }
        }
        (boundary != before).then_some(boundary)
    }
}
