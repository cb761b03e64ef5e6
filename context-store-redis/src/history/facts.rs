//! The stored data that a commit needs, requested together with the first read of the chat.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::MessageId;
use context_core::store::{Commit, Lease, Target};
use context_store_kit::{changes, named_messages};

use crate::chat::fields::{self, Position};
use crate::chat::snapshot::ChatSnapshot;
use crate::error::Result;
use crate::{leases, values};

/// The requested data: positions of messages, numbers of revisions, the lease, the newest entry of
/// the log of references, the versions of fragments, and a commit key.
pub(crate) struct FactFields {
    pub(crate) fields: Vec<String>,
    positions: Vec<MessageId>,
    changed: Vec<MessageId>,
    refs: bool,
    versions: bool,
}

/// The data that was found.
pub(crate) struct StoredFacts {
    pub(crate) positions: HashMap<MessageId, Position>,
    /// The number of revisions of each message that has revisions.
    pub(crate) revisions: HashMap<MessageId, u64>,
    pub(crate) lease: Option<Lease>,
    /// The number of the newest entry of the log of references, unparsed. Asked for only if the
    /// commit may add one.
    pub(crate) refs: Option<Bytes>,
    /// The log of fragments, unparsed. Asked for only if the commit has fragments.
    pub(crate) versions: Option<Bytes>,
    pub(crate) known: Option<Bytes>,
}

impl FactFields {
    pub(crate) fn of(commit: &Commit) -> Self {
        let changed: Vec<_> = changes(commit).map(|(node, _)| node.id.clone()).collect();
        let positions: Vec<_> = named_messages(commit).cloned().collect();
        let fields = positions.iter().map(fields::id).chain(changed.iter().map(fields::revisions));
        let fields = fields.chain(std::iter::once(fields::LEASE.to_owned()));
        let refs = matches!(commit.target, Target::Fork { .. }) || !commit.redactions.is_empty();
        let fields = fields.chain(refs.then(|| fields::REFS.to_owned()));
        let versions = !commit.fragments.is_empty();
        let fields = fields.chain(versions.then(|| fields::VERSIONS.to_owned()));
        let fields = fields.chain(commit.key.iter().map(fields::key)).collect();
        Self { fields, positions, changed, refs, versions }
    }

    pub(crate) fn read(&self, snapshot: &ChatSnapshot) -> Result<StoredFacts> {
        let mut answers = snapshot.requested.iter();
        let mut found = StoredFacts {
            positions: HashMap::new(),
            revisions: HashMap::new(),
            lease: None,
            refs: None,
            versions: None,
            known: None,
        };
        for (id, position) in self.positions.iter().zip(answers.by_ref().take(self.positions.len()))
        {
            if let Some(position) = position {
                found.positions.insert(id.clone(), Position::read(position)?);
            }
        }
        for (id, count) in self.changed.iter().zip(answers.by_ref().take(self.changed.len())) {
            if let Some(count) = count {
                found.revisions.insert(id.clone(), values::read_number(count)?);
            }
        }
        found.lease = leases::read(answers.next().and_then(Option::as_ref))?;
        if self.refs {
            found.refs = answers.next().cloned().flatten();
        }
        if self.versions {
            found.versions = answers.next().cloned().flatten();
        }
        found.known = answers.next().cloned().flatten();
        Ok(found)
    }
}
