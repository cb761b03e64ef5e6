//! The versions of persisted fragments: a list without content, and a field for each content that a
//! fragment no longer has. The content of the newest version of a fragment is the fragment.
//!
//! The log of a chat begins with its first write to fragments: the fragments from before become
//! versions without a time. Until then the log is derived from the list of fragments.

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentVersion, outdated_versions};
use context_core::{ChatRef, MessageId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, VERSIONS};
use crate::chat::snapshot::ChatSnapshot;
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::fragments::{FragmentList, contents};
use crate::values::unreadable;

/// The call that writes versions: its time, and the first new message of its commit.
pub(crate) struct WrittenBy<'a> {
    pub(crate) at: Timestamp,
    pub(crate) message: Option<&'a MessageId>,
}

/// The versions of the fragments of a chat, in the order of writing.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct VersionList(Vec<VersionEntry>);

#[derive(Serialize, Deserialize)]
struct VersionEntry {
    number: u64,
    /// The number of the fragment.
    no: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<FragmentId>,
    /// Whether the version has content. If not, it is a removal.
    stored: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
}

impl VersionList {
    /// Reads the list. A log that has not begun has the listed fragments.
    pub(crate) fn read(value: Option<&Bytes>, listed: &FragmentList) -> Result<Self> {
        if let Some(value) = value {
            let value = checksums::opened(VERSIONS, value)?;
            return serde_json::from_slice(value).map_err(|_| unreadable());
        }
        let mut list = Self::default();
        for entry in &listed.list {
            list.push(entry.no, entry.id.as_ref(), true, None);
        }
        Ok(list)
    }

    /// Writes the list, without the versions that are not kept any longer.
    pub(crate) fn write(mut self, change: &mut ChatChange) -> Result<()> {
        let of = |entry: &VersionEntry| (entry.number, entry.no, entry.stored);
        let outdated = outdated_versions(self.0.iter().map(of));
        outdated.iter().for_each(|number| change.remove(fields::version(*number)));
        self.0.retain(|entry| !outdated.contains(&entry.number));
        let list = serde_json::to_vec(&self).map_err(|_| unreadable())?;
        change.set(VERSIONS, checksums::seal(VERSIONS, list));
        Ok(())
    }

    /// Adds a version of the fragment with this number: its content, or its removal.
    pub(crate) fn add(
        &mut self,
        no: u64,
        id: Option<&FragmentId>,
        stored: bool,
        by: &WrittenBy<'_>,
    ) {
        self.push(no, id, stored, Some(by));
    }

    fn push(&mut self, no: u64, id: Option<&FragmentId>, stored: bool, by: Option<&WrittenBy<'_>>) {
        let number = self.0.last().map_or(0, |entry| entry.number) + 1;
        let (at, message) = (by.map(|by| by.at), by.and_then(|by| by.message).cloned());
        self.0.push(VersionEntry { number, no, id: id.cloned(), stored, at, message });
    }

    /// Returns the field for the content of the newest version of a fragment, once the fragment has
    /// another content.
    pub(crate) fn field_of(&self, no: u64) -> Result<String> {
        let newest = self.0.iter().rev().find(|entry| entry.no == no).ok_or(MISSING)?;
        Ok(fields::version(newest.number))
    }

    /// Whether the content of a version is in a field of its own: a newer version of the fragment
    /// exists.
    fn is_earlier(&self, entry: &VersionEntry) -> bool {
        self.0.iter().any(|other| other.no == entry.no && other.number > entry.number)
    }

    fn stored(&self) -> impl Iterator<Item = &VersionEntry> {
        self.0.iter().filter(|entry| entry.stored)
    }

    /// Returns the fields with content that no fragment has any longer.
    pub(crate) fn earlier(&self) -> Vec<String> {
        let earlier = self.stored().filter(|entry| self.is_earlier(entry));
        earlier.map(|entry| fields::version(entry.number)).collect()
    }
}

const MISSING: Fault = Fault::Corrupt("the log of fragments lacks a fragment", None);

/// Returns the list of versions, unparsed, if it is the only requested field.
pub(crate) fn requested(snapshot: &ChatSnapshot) -> Option<&Bytes> {
    snapshot.requested.first().and_then(Option::as_ref)
}

/// Returns the versions of the fragments of a chat.
pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<FragmentLog> {
    const OPERATION: &str = "fragment_log";
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot(OPERATION, chat, &[VERSIONS.to_owned()]).await?;
        let listed = FragmentList::read(snapshot.fragments.as_ref())?;
        let list = VersionList::read(requested(&snapshot), &listed)?;
        let field = |entry: &VersionEntry| {
            if list.is_earlier(entry) {
                fields::version(entry.number)
            } else {
                fields::fragment(entry.no)
            }
        };
        let fields = list.stored().map(field).collect();
        let read = contents(shared, (OPERATION, chat), &snapshot.version, fields).await?;
        let Some(mut read) = read.map(Vec::into_iter) else { continue };
        let version = |VersionEntry { number, no, id, stored, at, message }| {
            let version = if stored {
                FragmentVersion::stored(number, no, read.next().ok_or(MISSING)?)
            } else {
                FragmentVersion::removed(number, no, id.ok_or(MISSING)?, Timestamp::default())
            };
            Ok(version.written(at, message))
        };
        return list.0.into_iter().map(version).collect::<Result<_>>().map(FragmentLog::new);
    }
    Err(Fault::Contended)
}

/// Deletes the versions of a chat. Returns the number of those that were not also the content of a
/// fragment.
pub(crate) async fn clear(shared: &Shared, chat: &ChatRef) -> Result<u64> {
    let decide = |snapshot: &ChatSnapshot| {
        let listed = FragmentList::read(snapshot.fragments.as_ref())?;
        let versions = requested(snapshot);
        let list = VersionList::read(versions, &listed)?;
        let cleared = (list.0.len() as u64).saturating_sub(listed.list.len() as u64);
        if versions.is_none() {
            return Ok((None, cleared));
        }
        let mut change = ChatChange::default();
        list.earlier().into_iter().for_each(|field| change.remove(field));
        change.remove(VERSIONS);
        Ok((Some(change), cleared))
    };
    shared.change("clear_fragment_log", chat, &[VERSIONS.to_owned()], decide).await
}
