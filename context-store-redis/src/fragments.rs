//! Context fragments that are stored with a chat: a small list, and a field for each fragment.

pub(crate) mod log;

use std::collections::HashMap;

use bytes::Bytes;
use context_core::base::FragmentId;
use context_core::store::StoredFragment;
use context_core::{ChatRef, Encoded, Metadata, Timestamp};
use redis::cmd;
use serde::{Deserialize, Serialize};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, VERSIONS};
use crate::chat::snapshot::{ChatSnapshot, chat_not_found};
use crate::checksums;
use crate::connections::Values;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::fragments::log::{VersionList, WrittenBy};
use crate::values::unreadable;

const OPERATION: &str = "fragments";

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
    /// The hash of the rest. Missing in lists of layout 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<String>,
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

    /// Puts a fragment into the list. Returns its number and whether it is a new one, or `None` if
    /// it is there as it is.
    fn put(&mut self, new: &StoredFragment) -> Result<Option<(u64, bool)>> {
        let (hash, rest) = (hash(&new.body), Some(hash_of([&header(new)?[..]])));
        let replaced = self.list.iter_mut().find(|entry| match (&entry.id, &new.id) {
            (Some(a), Some(b)) => a == b,
            (None, None) => entry.hash == hash,
            _ => false,
        });
        if let Some(entry) = replaced {
            if (&entry.hash, &entry.rest) == (&hash, &rest) {
                return Ok(None);
            }
            (entry.hash, entry.rest) = (hash, rest);
            return Ok(Some((entry.no, false)));
        }
        let no = self.next;
        self.next += 1;
        self.list.push(FragmentEntry { no, id: new.id.clone(), hash, rest });
        Ok(Some((no, true)))
    }
}

/// Adds the writes of these fragments to a change.
pub(crate) fn put(
    change: &mut ChatChange,
    (snapshot, versions): (&ChatSnapshot, Option<&Bytes>),
    fragments: &[StoredFragment],
    by: &WrittenBy<'_>,
) -> Result<()> {
    if fragments.is_empty() {
        return Ok(());
    }
    let mut listed = FragmentList::read(snapshot.fragments.as_ref())?;
    let mut log = VersionList::read(versions, &listed)?;
    let mut bodies: HashMap<u64, &StoredFragment> = HashMap::new();
    for fragment in fragments {
        let Some((no, is_new)) = listed.put(fragment)? else { continue };
        match (bodies.insert(no, fragment), is_new) {
            (Some(earlier), _) => change.set(log.field_of(no)?, write(earlier)?),
            (None, false) => change.copy(fields::fragment(no), log.field_of(no)?),
            (None, true) => {}
        }
        log.add(no, fragment.id.as_ref(), true, by);
    }
    if bodies.is_empty() {
        return Ok(());
    }
    log.write(change)?;
    for (no, fragment) in bodies {
        change.set(fields::fragment(no), write(fragment)?);
    }
    change.set("x", listed.write()?);
    Ok(())
}

fn hash(body: &Encoded) -> String {
    hash_of([body.kind().as_bytes(), &body.version().to_le_bytes(), body.bytes()])
}

fn hash_of<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hash.finalize().to_hex().to_string()
}

fn header(StoredFragment { id, metadata, body }: &StoredFragment) -> Result<Vec<u8>> {
    let header = FragmentHeader {
        id: id.clone(),
        kind: body.kind().to_owned(),
        version: body.version(),
        metadata: metadata.clone(),
    };
    serde_json::to_vec(&header).map_err(|_| unreadable())
}

fn write(fragment: &StoredFragment) -> Result<Vec<u8>> {
    let (header, body) = (header(fragment)?, &fragment.body);
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
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat)).arg(&["v", "x"]);
    for _ in 0..ATTEMPTS {
        let values: Values = shared.connection.run(&get).await?;
        let Ok([Some(version), list]) = <[_; 2]>::try_from(values) else {
            return Err(chat_not_found(OPERATION, chat));
        };
        if let Some(read) = of_list(shared, chat, &version, list).await? {
            return Ok(read);
        }
    }
    Err(Fault::Contended)
}

/// Reads the fragments of a list. Returns `None` if the chat has another version by now.
pub(crate) async fn of_list(
    shared: &Shared,
    chat: &ChatRef,
    version: &[u8],
    list: Option<Vec<u8>>,
) -> Result<Option<Vec<StoredFragment>>> {
    let listed = FragmentList::read(list.map(Bytes::from).as_ref())?;
    let fields = listed.list.iter().map(|entry| fields::fragment(entry.no)).collect();
    contents(shared, (OPERATION, chat), version, fields).await
}

/// Reads fields with fragments. Returns `None` if the chat has another version by now.
async fn contents(
    shared: &Shared,
    (operation, chat): (&'static str, &ChatRef),
    version: &[u8],
    fields: Vec<String>,
) -> Result<Option<Vec<StoredFragment>>> {
    if fields.is_empty() {
        return Ok(Some(Vec::new()));
    }
    // A write in between changes the version.
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat)).arg("v").arg(fields);
    let values: Values = shared.connection.run(&get).await?;
    let mut values = values.into_iter();
    match values.next().flatten() {
        None => return Err(chat_not_found(operation, chat)),
        Some(found) if found != version => return Ok(None),
        Some(_) => {}
    }
    let fragment = |value: Option<Vec<u8>>| {
        read(&value.ok_or(Fault::Corrupt("a fragment is missing", None))?.into())
    };
    values.map(fragment).collect::<Result<_>>().map(Some)
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
        let by = WrittenBy { at, message: None };
        put(&mut change, (snapshot, log::requested(snapshot)), fragments, &by)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[VERSIONS.to_owned()], decide).await
}

pub(crate) async fn remove(
    shared: &Shared,
    chat: &ChatRef,
    id: &FragmentId,
    at: Timestamp,
) -> Result<bool> {
    let decide = |snapshot: &ChatSnapshot| {
        let mut listed = FragmentList::read(snapshot.fragments.as_ref())?;
        let mut log = VersionList::read(log::requested(snapshot), &listed)?;
        let mut change = ChatChange::at(at);
        let (gone, kept) =
            listed.list.into_iter().partition::<Vec<_>, _>(|entry| entry.id.as_ref() == Some(id));
        if gone.is_empty() {
            return Ok((Some(change), false));
        }
        for entry in gone {
            change.copy(fields::fragment(entry.no), log.field_of(entry.no)?);
            change.remove(fields::fragment(entry.no));
            log.add(entry.no, Some(id), false, &WrittenBy { at, message: None });
        }
        listed.list = kept;
        log.write(&mut change)?;
        change.set("x", listed.write()?);
        Ok((Some(change), true))
    };
    shared.change("remove_fragment", chat, &[VERSIONS.to_owned()], decide).await
}
