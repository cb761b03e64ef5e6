//! Blobs: bytes in pieces, stored once per user, and references from chats to them.
//!
//! All blobs of a user are in one slot, together with the list of the user's chats. Bytes and
//! references therefore change in one script, and there is never a reference without its bytes:
//!
//! ```text
//! {USER}:blobs2       s<id> size in bytes, <n>:<id> the nth piece
//! {USER}:references2  r<holder>:<id> a checksum, times of creation and last use, media type; c<id> number of references
//! {USER}:referred     <holder>:<id>, in order
//! ```
//!
//! A holder is a chat, named by the hash of its name and its number, which no other chat ever gets.
//! The chat itself is in another slot, and no script reaches both. A reference is therefore added
//! only while the chat is in the list of the user. When a chat is deleted, its entry is removed
//! from the list together with the references of all chats of that name. References of an expired
//! chat are removed together with its entry: by a listing, by pruning the blobs of all chats, by
//! erasing the user, and a few at a time by creating other chats. Until then they count in
//! [`Blob::references`]. A new chat of the same name has another number and does not see them.

pub(crate) mod references;

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Timestamp};
use redis::{ScriptInvocation, Value, cmd};

use crate::blobs::references::holder;
use crate::chat::entries::{sweep_all, user_call};
use crate::chat::fields::Generation;
use crate::chat::snapshot::chat_not_found;
use crate::checksums;
use crate::connections::shared::Shared;
use crate::error::{Fault, Result, bad_cursor};
use crate::scripts::reply::Reply;
use crate::scripts::{BLOB_DROP, BLOB_LIST, BLOB_PUT, BLOB_READ};
use crate::values;

/// The size of a piece in bytes, which the scripts use as well. It is part of the layout and must
/// never change.
pub(crate) const PIECE: usize = 256 << 10;
/// Larger blobs are sent only after the server has said that the user does not have the bytes.
const SENT_UNASKED: usize = 64 << 10;

const DAMAGED: &str = "the bytes of a blob do not match its id";

/// Returns a call of a script about the blobs of an existing chat, with the chat's parameters.
async fn of_chat<'a>(
    shared: &Shared,
    operation: &'static str,
    script: &'a redis::Script,
    chat: &ChatRef,
) -> Result<ScriptInvocation<'a>> {
    let number = number(shared, operation, chat).await?;
    let mut call = user_call(shared, script, &chat.user);
    call.arg(chat.chat.as_str()).arg(number).arg(holder(chat.chat.as_str(), number));
    Ok(call)
}

/// Returns the number of a chat, or a not-found error.
async fn number(shared: &Shared, operation: &'static str, chat: &ChatRef) -> Result<u64> {
    let generation = cmd("HGET").arg(shared.keys.chat(chat)).arg("o").clone();
    let generation: Option<Vec<u8>> = shared.connection.run(&generation).await?;
    Ok(Generation::read(&generation.ok_or_else(|| chat_not_found(operation, chat))?)?.number)
}

pub(crate) async fn put(shared: &Shared, chat: &ChatRef, new: &NewBlob) -> Result<Blob> {
    const OPERATION: &str = "put_blob";
    if shared.ttl > 0 {
        // Like every write, this restarts the time to live, before the blob is written. It does no
        // harm if the chat lives longer than needed.
        let put_off = cmd("PEXPIRE").arg(shared.keys.chat(chat)).arg(shared.ttl).clone();
        let _there: bool = shared.connection.run(&put_off).await?;
    }
    let id = BlobId::of(&new.bytes);
    let media_type = new.media_type.as_ref().map(|text| format!("={text}")).unwrap_or_default();
    let mut call = of_chat(shared, OPERATION, &BLOB_PUT, chat).await?;
    call.arg(id.to_string()).arg(values::time(new.at)).arg(media_type).arg(new.bytes.len());
    if new.bytes.len() > SENT_UNASKED {
        let mut reply = answer(OPERATION, chat, shared.connection.call(&call).await?)?;
        if reply.number()? == REFERRED {
            return blob_of(&mut reply.list()?);
        }
    }
    for (n, piece) in (0..).zip(new.bytes.chunks(PIECE)) {
        call.arg(checksums::seal(&piece_field(n, &id), piece.to_vec()));
    }
    let mut reply = answer(OPERATION, chat, shared.connection.call(&call).await?)?;
    match reply.number()? {
        REFERRED => blob_of(&mut reply.list()?),
        _ => Err(Fault::Corrupt(DAMAGED, None)),
    }
}

/// The code with which scripts answer that they return a blob.
const REFERRED: u64 = 2;

/// Reads the answer of a script, which begins with 0 if the chat does not exist.
fn answer(operation: &'static str, chat: &ChatRef, value: Value) -> Result<Reply> {
    match &value {
        Value::Array(items) if items.first() == Some(&Value::Int(0)) => {
            Err(chat_not_found(operation, chat))
        }
        _ => Reply::of(value),
    }
}

/// Returns the metadata of a blob, and the pieces of a range.
pub(crate) async fn find(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    id: &BlobId,
    range: &Range<u64>,
    at: Option<Timestamp>,
) -> Result<Option<(Blob, Vec<Bytes>)>> {
    // The script writes only if it is given a time.
    let at = at.filter(|_| !shared.connection.read_only());
    let mut call = of_chat(shared, operation, &BLOB_READ, chat).await?;
    call.arg(id.to_string())
        .arg(at.map(values::time).unwrap_or_default())
        .arg(range.start)
        .arg(range.end);
    let mut reply = answer(operation, chat, shared.connection.ask(&call).await?)?;
    if reply.number()? != REFERRED {
        return Ok(None);
    }
    let blob = blob_of(&mut reply.list()?)?;
    let (mut list, mut pieces) = (reply.list()?, Vec::new());
    let first = range.start / PIECE as u64;
    while !list.is_empty() {
        let field = piece_field(first + pieces.len() as u64, id);
        pieces.push(checksums::open(&field, &list.bytes()?)?);
    }
    Ok(Some((blob, pieces)))
}

/// Returns the field of a piece.
pub(crate) fn piece_field(n: u64, id: &BlobId) -> String {
    format!("{n}:{id}")
}

/// Reads a range. If the range is the whole blob, the bytes are compared with its id.
pub(crate) async fn read(
    shared: &Shared,
    chat: &ChatRef,
    id: &BlobId,
    range: Range<u64>,
    at: Option<Timestamp>,
) -> Result<Option<Bytes>> {
    // No blob is longer, and scripts count in floating point.
    let most = limits::MAX_BLOB_BYTES as u64;
    let range = range.start.min(most)..range.end.min(most);
    let Some((blob, pieces)) = find(shared, "read_blob", chat, id, &range, at).await? else {
        return Ok(None);
    };
    let end = range.end.min(blob.bytes);
    let range = range.start.min(end)..end;
    let bytes = cut(pieces, &range)?;
    if range == (0..blob.bytes) && BlobId::of(&bytes) != *id {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    Ok(Some(bytes))
}

/// Returns the range of bytes that these pieces hold. A range within one piece is not copied.
fn cut(mut pieces: Vec<Bytes>, range: &Range<u64>) -> Result<Bytes> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let size = |at: u64| usize::try_from(at).map_err(|_| Fault::Corrupt(DAMAGED, None));
    let (start, length) = (size(range.start)? % PIECE, size(range.end - range.start)?);
    let full = pieces.iter().rev().skip(1).all(|piece| piece.len() == PIECE);
    let mut bytes = match pieces.len() {
        1 => pieces.swap_remove(0),
        _ => {
            let mut all = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
            pieces.iter().for_each(|piece| all.extend_from_slice(piece));
            all.freeze()
        }
    };
    if !full || bytes.len() < start + length {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    let _before = bytes.split_to(start);
    bytes.truncate(length);
    Ok(bytes)
}

pub(crate) async fn list(
    shared: &Shared,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<Blob>> {
    const OPERATION: &str = "blobs";
    let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
    let after = after.map_err(|_| bad_cursor(OPERATION))?;
    let mut call = of_chat(shared, OPERATION, &BLOB_LIST, chat).await?;
    call.arg(after.map(|id| id.to_string()).unwrap_or_default()).arg(limit + 1);
    let mut reply = answer(OPERATION, chat, shared.connection.ask(&call).await?)?;
    let _there = reply.number()?;
    let mut items = Vec::new();
    while !reply.is_empty() {
        items.push(blob_of(&mut reply.list()?)?);
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.id.to_string()));
    Ok(Page { items, next })
}

/// Reads a blob from the answer of a script.
fn blob_of(reply: &mut Reply) -> Result<Blob> {
    let text = |bytes: Bytes| String::from_utf8(bytes.into()).map_err(|_| broken());
    let id = text(reply.bytes()?)?.parse().map_err(|_| broken())?;
    let size = values::read_number(&reply.bytes()?)?;
    let references = values::read_number(&reply.bytes()?)?;
    let (created_at, used_at, media_type) = read_reference(&text(reply.bytes()?)?)?;
    let mut blob = Blob::new(id, size, media_type, created_at);
    (blob.references, blob.used_at) = (references, used_at);
    Ok(blob)
}

fn read_reference(text: &str) -> Result<(Timestamp, Timestamp, Option<String>)> {
    let mut parts = text.splitn(3, ' ');
    let mut time = || values::read_time(parts.next().unwrap_or_default().as_bytes());
    let (created_at, used_at) = (time()?, time()?);
    let media_type = parts.next().ok_or_else(broken)?.strip_prefix('=').map(ToOwned::to_owned);
    Ok((created_at, used_at, media_type))
}

fn broken() -> Fault {
    Fault::Corrupt("a reference to a blob cannot be read", None)
}

/// Removes references of a chat: the one to a blob, or those last used at a time or before.
pub(crate) async fn drop_of_chat(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    id: &str,
    since: &str,
) -> Result<BlobsPruned> {
    let mut call = of_chat(shared, operation, &BLOB_DROP, chat).await?;
    call.arg(id).arg(since);
    pruned(answer(operation, chat, shared.connection.call(&call).await?)?)
}

fn pruned(mut reply: Reply) -> Result<BlobsPruned> {
    let _done = reply.number()?;
    let mut pruned = BlobsPruned::default();
    (pruned.references, pruned.blobs, pruned.bytes) =
        (reply.number()?, reply.number()?, reply.number()?);
    Ok(pruned)
}

/// Removes references that were not used for a time. If those of all chats are pruned, stale
/// entries in the list of the user's chats are removed first, with their references.
pub(crate) async fn prune(shared: &Shared, prune: &BlobPrune) -> Result<BlobsPruned> {
    if prune.chat.is_none() {
        sweep_all(shared, &prune.user).await?;
    }
    let since = values::time(prune.unused_since);
    if let Some(chat) = &prune.chat {
        let chat = ChatRef::new(prune.user.clone(), chat.clone());
        return drop_of_chat(shared, "prune_blobs", &chat, "", &since).await;
    }
    let mut call = user_call(shared, &BLOB_DROP, &prune.user);
    call.arg("").arg("").arg("").arg("").arg(&since);
    pruned(Reply::of(shared.connection.call::<Value>(&call).await?)?)
}
