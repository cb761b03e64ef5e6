//! Context fragments that are stored with a chat: a small list, and a field for each fragment.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::StoredFragment;
use context_core::{ChatRef, Encoded, Metadata, Timestamp};
use redis::cmd;
use serde::{Deserialize, Serialize};

use crate::chat::change::ChatChange;
use crate::chat::fields;
use crate::chat::snapshot::{ChatSnapshot, chat_not_found};
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::values::unreadable;

/// The list of fragments, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FragmentList {
    next: u64,
    pub(crate) list: Vec<FragmentEntry>,
}

/// An entry of the list, with what is needed to decide whether another fragment replaces it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FragmentEntry {
    pub(crate) no: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<FragmentId>,
    /// The hash of the body.
    hash: String,
}

/// The header before the body.
#[derive(Serialize, Deserialize)]
struct FragmentHeader {
    id: Option<FragmentId>,
    kind: String,
    version: u16,
    metadata: Metadata,
}

impl FragmentList {
    pub(crate) fn read(value: Option<&Bytes>) -> Result<Self> {
        let Some(value) = value else { return Ok(Self::default()) };
        serde_json::from_slice(checksums::opened("x", value)?).map_err(|_| unreadable())
    }

    fn write(&self) -> Result<Vec<u8>> {
        Ok(checksums::seal("x", serde_json::to_vec(self).map_err(|_| unreadable())?))
    }

    fn number_of(&mut self, new: &StoredFragment) -> u64 {
        let hash = hash(&new.body);
        let replaced = self.list.iter().find(|entry| match (&entry.id, &new.id) {
            (Some(a), Some(b)) => a == b,
            (None, None) => entry.hash == hash,
            _ => false,
        });
        if let Some(no) = replaced.map(|entry| entry.no) {
            self.list
                .iter_mut()
                .filter(|entry| entry.no == no)
                .for_each(|entry| entry.hash.clone_from(&hash));
            return no;
        }
        let no = self.next;
        self.next += 1;
        self.list.push(FragmentEntry { no, id: new.id.clone(), hash });
        no
    }
}

/// Adds the writes of these fragments to a change.
pub(crate) fn put(
    change: &mut ChatChange,
    snapshot: &ChatSnapshot,
    fragments: &[StoredFragment],
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut listed = FragmentList::read(snapshot.fragments.as_ref())?;
    let mut bodies = HashMap::new();
    for fragment in fragments {
        bodies.insert(listed.number_of(fragment), fragment);
    }
    for (no, fragment) in bodies {
        change.set(fields::fragment(no), write(fragment)?);
    }
    change.set("x", listed.write()?);
    Ok(())
}

fn hash(body: &Encoded) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [body.kind().as_bytes(), &body.version().to_le_bytes(), body.bytes()] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hash.finalize().to_hex().to_string()
}

fn write(fragment: &StoredFragment) -> Result<Vec<u8>> {
    let StoredFragment { id, metadata, body } = fragment;
    let header = FragmentHeader {
        id: id.clone(),
        kind: body.kind().to_owned(),
        version: body.version(),
        metadata: metadata.clone(),
    };
    let header = serde_json::to_vec(&header).map_err(|_| unreadable())?;
    let length = u32::try_from(header.len()).map_err(|_| unreadable())?;
    let mut out = Vec::with_capacity(4 + header.len() + body.bytes().len());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(body.bytes());
    Ok(checksums::seal("f", out))
}

/// Reads a stored fragment. Its body is a slice of `value`.
pub(crate) fn read(value: &Bytes) -> Result<StoredFragment> {
    let value = checksums::open("f", value)?;
    let length =
        value.first_chunk().map(|length| u32::from_le_bytes(*length)).ok_or_else(unreadable)?;
    let end = usize::try_from(length)
        .ok()
        .and_then(|length| length.checked_add(4))
        .ok_or_else(unreadable)?;
    let header = value.get(4..end).ok_or_else(unreadable)?;
    let FragmentHeader { id, kind, version, metadata } =
        serde_json::from_slice(header).map_err(|_| unreadable())?;
    Ok(StoredFragment { id, metadata, body: Encoded::new(kind, version, value.slice(end..)) })
}

/// Lists the fragments in the order in which they were first put.
pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
    let key = shared.keys.chat(chat);
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot("fragments", chat, &[]).await?;
        let listed = FragmentList::read(snapshot.fragments.as_ref())?;
        if listed.list.is_empty() {
            return Ok(Vec::new());
        }
        // A write in between changes the version.
        let mut get = cmd("HMGET");
        get.arg(&key).arg("v");
        for entry in &listed.list {
            get.arg(fields::fragment(entry.no));
        }
        let values: Vec<Option<Vec<u8>>> = shared.connection.run(&get).await?;
        let mut values = values.into_iter();
        match values.next().flatten() {
            None => return Err(chat_not_found("fragments", chat)),
            Some(version) if version != snapshot.version[..] => continue,
            Some(_) => {}
        }
        let fragment = |value: Option<Vec<u8>>| {
            read(&value.ok_or(Fault::Corrupt("a fragment is missing", None))?.into())
        };
        return values.map(fragment).collect();
    }
    Err(Fault::Contended)
}

pub(crate) async fn put_all(
    shared: &Shared,
    chat: &ChatRef,
    fragments: &[StoredFragment],
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "put_fragments";
    fragments.iter().try_for_each(|fragment| fragment.check(OPERATION))?;
    let decide = |snapshot: &ChatSnapshot| {
        let mut change = ChatChange::at(at);
        put(&mut change, snapshot, fragments)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[], decide).await
}

pub(crate) async fn remove(
    shared: &Shared,
    chat: &ChatRef,
    id: &FragmentId,
    at: Timestamp,
) -> Result<bool> {
    let decide = |snapshot: &ChatSnapshot| {
        let mut listed = FragmentList::read(snapshot.fragments.as_ref())?;
        let mut change = ChatChange::at(at);
        let (gone, kept) =
            listed.list.into_iter().partition::<Vec<_>, _>(|entry| entry.id.as_ref() == Some(id));
        if gone.is_empty() {
            return Ok((Some(change), false));
        }
        listed.list = kept;
        gone.iter().for_each(|entry| change.remove(fields::fragment(entry.no)));
        change.set("x", listed.write()?);
        Ok((Some(change), true))
    };
    shared.change("remove_fragment", chat, &[], decide).await
}
