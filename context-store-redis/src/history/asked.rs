//! The stored data that a commit needs, requested together with the first read of the chat.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::MessageId;
use context_core::store::Commit;
use context_store_kit::{changes, named_messages};

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
        let changed: Vec<_> = changes(commit).map(|(node, _)| node.id.clone()).collect();
        let places: Vec<_> = named_messages(commit).cloned().collect();
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
