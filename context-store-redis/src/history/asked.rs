//! The stored data that a commit needs, requested together with the first read of the chat.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use context_core::store::Commit;
use context_core::{MessageId, Node};

use crate::error::Result;
use crate::history::fields::{self, Place};
use crate::history::look::Look;

/// The requested data: places of messages, numbers of revisions, and a commit key.
pub(crate) struct Asked {
    pub(crate) fields: Vec<String>,
    places: Vec<MessageId>,
    changed: Vec<MessageId>,
}

/// The data that was found.
pub(crate) struct Found {
    pub(crate) places: HashMap<MessageId, Place>,
    /// The number of revisions of each message that has revisions.
    pub(crate) revisions: HashMap<MessageId, u64>,
    pub(crate) known: Option<Bytes>,
}

impl Asked {
    pub(crate) fn of(commit: &Commit) -> Self {
        let changed: Vec<_> = changes(commit).map(|node| node.id.clone()).collect();
        let new = commit.nodes.iter().map(|node| node.id.clone());
        let places: Vec<_> =
            new.chain(commit.base().cloned()).chain(changed.iter().cloned()).collect();
        let fields = places.iter().map(fields::id).chain(changed.iter().map(fields::revisions));
        let fields = fields.chain(commit.key.iter().map(fields::key)).collect();
        Self { fields, places, changed }
    }

    pub(crate) fn answered(&self, look: &Look) -> Result<Found> {
        let mut answers = look.asked.iter();
        let mut found = Found { places: HashMap::new(), revisions: HashMap::new(), known: None };
        for (id, place) in self.places.iter().zip(answers.by_ref().take(self.places.len())) {
            if let Some(place) = place {
                found.places.insert(id.clone(), Place::read(place)?);
            }
        }
        for (id, count) in self.changed.iter().zip(answers.by_ref().take(self.changed.len())) {
            if let Some(count) = count {
                found.revisions.insert(id.clone(), fields::read_number(count)?);
            }
        }
        found.known = answers.next().cloned().flatten();
        Ok(found)
    }
}

/// Returns the stored messages that a commit changes.
pub(crate) fn changes(commit: &Commit) -> impl Iterator<Item = &Arc<Node>> {
    commit.amendments.iter().chain(&commit.redactions)
}
