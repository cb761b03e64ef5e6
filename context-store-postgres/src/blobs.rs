//! Blobs: bytes in pieces, stored once per user, and references from chats to them.
//!
//! Adding or removing a reference locks the blob's row first. A later statement then checks whether
//! references are left. Two chats that share bytes therefore neither lose the bytes nor leave them
//! behind.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobsPruned, Cursor, NewBlob, Page};
use context_core::{ChatRef, Timestamp, UserId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{chat_no, lock_chat};
use crate::checksums;
use crate::connections::Session;
use crate::error::{Fault, Result, bad_cursor};
use crate::sql::blobs as sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::{blob as bytes_of, optional_text};

/// The size of a piece in bytes. It is part of the layout and must never change.
const PIECE: usize = 256 << 10;
/// The number of pieces sent at once.
const BATCH: usize = 16;

const DAMAGED: &str = "the bytes of a blob do not match its id";

/// Stores bytes and a chat's reference to them.
pub(crate) async fn put(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: BlobId,
    new: NewBlob,
) -> Result<Blob> {
    let chat_no = lock_chat(session, "put_blob", chat).await?;
    let no = lock_or_add(session, &chat.user, &id, &new.bytes).await?;
    let refer = session.query(sql::REFER_TO_BLOB).bind(chat_no).bind(&id.as_bytes()[..]).bind(no);
    let refer = refer.bind(new.media_type.as_ref().map(|media_type| media_type.as_bytes()));
    let sum = checksums::reference(chat_no, &id, new.media_type.as_deref(), new.at);
    session.execute(refer.bind(new.at.as_micros()).bind(sum)).await?;
    let blob = known(session, chat_no, &id).await?;
    blob.map(|(_, blob)| blob)
        .ok_or(Fault::Corrupt("a new reference to a blob does not exist", None))
}

/// Returns the number of a blob and locks its row. Adds the blob if it does not exist.
async fn lock_or_add(
    session: &mut Session<'_>,
    user: &UserId,
    id: &BlobId,
    bytes: &Bytes,
) -> Result<i64> {
    loop {
        let user = user.as_str().as_bytes();
        let lock = session.query(sql::LOCK_BLOB).bind(user).bind(&id.as_bytes()[..]);
        if let Some(row) = session.first(lock).await? {
            return Ok(row.try_get(0)?);
        }
        let add = session
            .query(sql::ADD_BLOB)
            .bind(user)
            .bind(&id.as_bytes()[..])
            .bind(signed(bytes.len()));
        // No row means that another writer has added the blob since.
        let Some(row) = session.first(add).await? else { continue };
        let no: i64 = row.try_get(0)?;
        for (n, batch) in bytes.chunks(PIECE * BATCH).enumerate() {
            let numbered = (signed(n * BATCH)..).zip(batch.chunks(PIECE));
            let pieces: Vec<Vec<u8>> =
                numbered.map(|(n, piece)| checksums::piece(id, n).seal(piece.to_vec())).collect();
            let add =
                session.query(sql::ADD_BLOB_PIECES).bind(no).bind(signed(n * BATCH)).bind(pieces);
            session.execute(add).await?;
        }
        return Ok(no);
    }
}

/// Returns the metadata of a blob that the chat refers to.
pub(crate) async fn find(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &BlobId,
) -> Result<Option<Blob>> {
    let chat = chat_no(session, "blob", chat).await?;
    Ok(known(session, chat, id).await?.map(|(_, blob)| blob))
}

/// Returns the number and the metadata of a blob that the chat refers to.
async fn known(session: &mut Session<'_>, chat: i64, id: &BlobId) -> Result<Option<(i64, Blob)>> {
    let query = session.query(sql::BLOB).bind(chat).bind(&id.as_bytes()[..]);
    let row = session.first(query).await?;
    row.map(|row| Ok((row.try_get(6)?, blob_of(&row)?))).transpose()
}

fn blob_of(row: &PgRow) -> Result<Blob> {
    let time = |column| Ok::<_, Fault>(Timestamp::from_micros(row.try_get(column)?));
    let media_type = optional_text(row, 2)?.map(ToOwned::to_owned);
    let mut blob =
        Blob::new(id_of(row.try_get(0)?)?, count(row.try_get(1)?)?, media_type, time(3)?);
    let media_type = blob.media_type.as_deref();
    check_reference(row.try_get(8)?, &blob.id, media_type, blob.created_at, row.try_get(7)?)?;
    blob.used_at = time(4)?;
    check_use(blob.used_at, row.try_get(9)?)?;
    blob.references = count(row.try_get(5)?)?;
    Ok(blob)
}

pub(crate) fn check_reference(
    chat: i64,
    blob: &BlobId,
    media_type: Option<&str>,
    created_at: Timestamp,
    sum: &[u8],
) -> Result<()> {
    match checksums::reference(chat, blob, media_type, created_at) == sum {
        true => Ok(()),
        false => Err(Fault::Corrupt("the checksum of a reference to a blob does not match", None)),
    }
}

/// Rejects a time of last use that differs from its checksum.
pub(crate) fn check_use(used_at: Timestamp, sum: i64) -> Result<()> {
    match checksums::times(used_at.as_micros(), 0) == sum {
        true => Ok(()),
        false => Err(Fault::Corrupt("the checksum of a blob's last use does not match", None)),
    }
}

/// Converts the hash in a row to a blob id.
pub(crate) fn id_of(hash: &[u8]) -> Result<BlobId> {
    let hash = hash
        .try_into()
        .map_err(|_| Fault::Corrupt("the hash of a blob is not 32 bytes long", None))?;
    Ok(BlobId::from_bytes(hash))
}

/// Updates the time at which the chat last used a blob, if the chat refers to it.
pub(crate) async fn touch(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &BlobId,
    at: Timestamp,
) -> Result<()> {
    let touch = session.query(sql::TOUCH_BLOB).bind(chat.user.as_str().as_bytes());
    let touch =
        touch.bind(chat.chat.as_str().as_bytes()).bind(&id.as_bytes()[..]).bind(at.as_micros());
    session.execute(touch).await?;
    Ok(())
}

/// Reads a range of a blob that the chat refers to. If the range is the whole blob, the bytes are
/// compared with its id.
pub(crate) async fn read(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &BlobId,
    range: Range<u64>,
) -> Result<Option<Bytes>> {
    let chat = chat_no(session, "read_blob", chat).await?;
    let Some((no, blob)) = known(session, chat, id).await? else { return Ok(None) };
    let end = range.end.min(blob.bytes);
    let range = range.start.min(end)..end;
    let bytes = bytes(session, id, no, range.clone()).await?;
    if range == (0..blob.bytes) && BlobId::of(&bytes) != *id {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    Ok(Some(bytes))
}

/// Returns a range of the bytes, which must exist. A range within one piece is not copied.
pub(crate) async fn bytes(
    session: &mut Session<'_>,
    id: &BlobId,
    no: i64,
    range: Range<u64>,
) -> Result<Bytes> {
    let size = |at: u64| usize::try_from(at).map_err(|_| Fault::Corrupt(DAMAGED, None));
    let Range { start, end } = size(range.start)?..size(range.end)?;
    if start == end {
        return Ok(Bytes::new());
    }
    let (first, last) = (signed(start / PIECE), signed((end - 1) / PIECE));
    let query = session.query(sql::BLOB_PIECES).bind(no).bind(first).bind(last);
    let mut found: Vec<Bytes> = Vec::new();
    for (expected, row) in (first..).zip(session.all(query).await?) {
        if row.try_get::<i64, _>(0)? != expected {
            return Err(Fault::Corrupt(DAMAGED, None));
        }
        found.push(checksums::open(checksums::piece(id, expected), &bytes_of(row, 1)?, DAMAGED)?);
    }
    let full = found.iter().rev().skip(1).all(|piece| piece.len() == PIECE);
    let mut bytes = match found.len() {
        1 => found.swap_remove(0),
        _ => {
            let mut all = BytesMut::with_capacity(found.iter().map(Bytes::len).sum());
            found.iter().for_each(|piece| all.extend_from_slice(piece));
            all.freeze()
        }
    };
    let front = start % PIECE;
    if !full || bytes.len() < front + (end - start) {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    let _before = bytes.split_to(front);
    bytes.truncate(end - start);
    Ok(bytes)
}

/// Returns the number of pieces for a blob of this many bytes.
pub(crate) fn pieces(bytes: usize) -> i64 {
    signed(bytes.div_ceil(PIECE))
}

/// Returns one page of the blobs that a chat refers to.
pub(crate) async fn list(
    session: &mut Session<'_>,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<Blob>> {
    const OPERATION: &str = "blobs";
    limits::check_page(OPERATION, limit)?;
    let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
    let after = after.map_err(|_| bad_cursor(OPERATION))?;
    let after = after.as_ref().map_or(&[][..], |id| id.as_bytes());
    let chat = chat_no(session, OPERATION, chat).await?;
    let query = session.query(sql::BLOBS).bind(chat).bind(after).bind(signed(limit + 1));
    let rows = session.all(query).await?;
    let items = rows.iter().take(limit).map(blob_of).collect::<Result<Vec<_>>>()?;
    let next =
        items.last().filter(|_| rows.len() > limit).map(|last| Cursor::new(last.id.to_string()));
    Ok(Page { items, next })
}

/// Removes a chat's reference.
pub(crate) async fn remove(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &BlobId,
) -> Result<BlobsPruned> {
    let chat_no = chat_no(session, "remove_blob", chat).await?;
    let user = chat.user.as_str().as_bytes();
    let lock = session.query(sql::LOCK_BLOB).bind(user).bind(&id.as_bytes()[..]);
    let Some(row) = session.first(lock).await? else { return Ok(BlobsPruned::default()) };
    let no: i64 = row.try_get(0)?;
    let forget = session.query(sql::FORGET_BLOB_REF).bind(chat_no).bind(no);
    let references = session.execute(forget).await?;
    release(session, references, vec![no]).await
}

/// Removes the references that have not been used since the given time.
pub(crate) async fn prune(session: &mut Session<'_>, prune: &BlobPrune) -> Result<BlobsPruned> {
    let chat = match &prune.chat {
        None => None,
        Some(chat) => {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            Some(chat_no(session, "prune_blobs", &chat).await?)
        }
    };
    forget(session, &prune.user, chat, prune.unused_since).await
}

/// Removes all references of a locked chat.
pub(crate) async fn forget_chat(session: &mut Session<'_>, user: &UserId, chat: i64) -> Result<()> {
    forget(session, user, Some(chat), Timestamp::from_micros(i64::MAX)).await.map(drop)
}

/// Removes the references of a user, or of one chat, that were last used at the given time or
/// before.
async fn forget(
    session: &mut Session<'_>,
    user: &UserId,
    chat: Option<i64>,
    until: Timestamp,
) -> Result<BlobsPruned> {
    let bound = |query: crate::connections::Statement| {
        query.bind(user.as_str().as_bytes()).bind(chat).bind(until.as_micros())
    };
    let lock = bound(session.query(sql::LOCK_BLOBS_OF));
    let mut locked: Vec<i64> = Vec::new();
    for row in session.all(lock).await? {
        locked.push(row.try_get(0)?);
    }
    if locked.is_empty() {
        return Ok(BlobsPruned::default());
    }
    let forget = bound(session.query(sql::FORGET_BLOB_REFS)).bind(locked.clone());
    let references = session.execute(forget).await?;
    release(session, references, locked).await
}

/// Removes those of the locked blobs that have no references left.
async fn release(
    session: &mut Session<'_>,
    references: u64,
    locked: Vec<i64>,
) -> Result<BlobsPruned> {
    let mut pruned = BlobsPruned::default();
    if references > 0 {
        let release = session.query(sql::RELEASE_BLOBS).bind(locked);
        let row = session.only(release).await?;
        pruned.references = references;
        (pruned.blobs, pruned.bytes) = (count(row.try_get(0)?)?, count(row.try_get(1)?)?);
    }
    Ok(pruned)
}

/// Returns the number of blobs of a user.
pub(crate) async fn count_of_user(session: &mut Session<'_>, user: &UserId) -> Result<u64> {
    let query = session.query(sql::COUNT_BLOBS).bind(user.as_str().as_bytes());
    count(session.only(query).await?.try_get(0)?)
}
