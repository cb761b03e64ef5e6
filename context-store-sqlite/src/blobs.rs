//! Blobs: bytes in pieces, stored once per user, and references from chats to them.
//!
//! The schema deletes the bytes together with their last reference (`migrations/0004_blobs.sql`).

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use context_core::base::{BlobId, limits};
use context_core::store::{Blob, BlobPrune, BlobsPruned, Cursor, KeyOrder, NewBlob, Page};
use context_core::{ChatRef, Timestamp, UserId};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::{BLOB, BLOB_PIECE, BLOB_REF, Value};
use crate::connections::Writer;
use crate::counts::{self, ChatCount, ListPart};
use crate::error::{Fault, Result, bad_cursor};
use crate::sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::blob as bytes_of;
use crate::values::rows::length;

/// The size of a piece in bytes. It is part of the layout and must never change.
const PIECE: usize = 256 << 10;
/// The number of places reserved for the pieces of one blob.
const PLACES: i64 = 1 << 16;

const DAMAGED: &str = "the bytes of a blob differ from its id";

/// Stores bytes and a chat's reference to them in one transaction.
pub(crate) async fn put(
    writer: &mut Writer,
    chat: &ChatRef,
    id: BlobId,
    new: NewBlob,
) -> Result<Blob> {
    const OPERATION: &str = "put_blob";
    let mut transaction = writer.begin().await?;
    let chat_no = chat_no(&mut transaction, OPERATION, chat).await?;
    let no = match number(&mut transaction, &chat.user, &id).await? {
        Some(no) => no,
        None => add(&mut transaction, &chat.user, &id, &new.bytes).await?,
    };
    let refer = sqlx::query(sql::REFER_TO_BLOB).bind(chat_no).bind(&id.as_bytes()[..]).bind(no);
    let refer = refer.bind(new.media_type).bind(new.at.as_micros());
    refer.execute(&mut *transaction).await?;
    seal_reference(&mut transaction, chat_no, &id).await?;
    let blob = known(&mut transaction, chat_no, &id).await?;
    transaction.commit().await?;
    blob.map(|(_, blob)| blob)
        .ok_or(Fault::Corrupt("a reference to a blob was written and is missing", None))
}

async fn seal_reference(connection: &mut SqliteConnection, chat: i64, id: &BlobId) -> Result<()> {
    BLOB_REF.seal(connection, &[("chat", chat.into()), ("hash", id.as_bytes()[..].into())]).await
}

async fn number(
    connection: &mut SqliteConnection,
    user: &UserId,
    id: &BlobId,
) -> Result<Option<i64>> {
    let query = sqlx::query(sql::BLOB_NO).bind(user.as_str()).bind(&id.as_bytes()[..]);
    Ok(query.fetch_all(connection).await?.pop().map(|row| row.try_get(0)).transpose()?)
}

async fn add(
    connection: &mut SqliteConnection,
    user: &UserId,
    id: &BlobId,
    bytes: &Bytes,
) -> Result<i64> {
    let add = sqlx::query(sql::ADD_BLOB)
        .bind(user.as_str())
        .bind(&id.as_bytes()[..])
        .bind(signed(bytes.len()));
    let no = add.execute(&mut *connection).await?.last_insert_rowid();
    for (n, piece) in (0..).zip(bytes.chunks(PIECE)) {
        let pos = no * PLACES + n;
        let add = sqlx::query(sql::ADD_BLOB_PIECE).bind(pos).bind(piece);
        add.bind(BLOB_PIECE.sum([pos.into(), piece.into()])).execute(&mut *connection).await?;
    }
    BLOB.seal(connection, &[("no", no.into())]).await?;
    Ok(no)
}

/// Returns the metadata of a blob that the chat refers to.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    id: &BlobId,
) -> Result<Option<Blob>> {
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, "blob", chat).await?;
    let found = known(&mut transaction, chat, id).await?;
    if found.is_none() {
        confirm_absence(&mut transaction, chat, id).await?;
    }
    transaction.commit().await?;
    Ok(found.map(|(_, blob)| blob))
}

/// Returns the number and the metadata of a blob that the chat refers to.
async fn known(
    connection: &mut SqliteConnection,
    chat: i64,
    id: &BlobId,
) -> Result<Option<(i64, Blob)>> {
    let query = sqlx::query(sql::BLOB).bind(chat).bind(&id.as_bytes()[..]);
    let row = query.fetch_all(connection).await?.pop();
    row.map(|row| Ok((row.try_get(6)?, blob_of(&row)?))).transpose()
}

/// Checks that a blob that was not found really does not exist.
async fn confirm_absence(connection: &mut SqliteConnection, chat: i64, id: &BlobId) -> Result<()> {
    ChatCount::Blobs.compare(connection, chat, ListPart::Middle).await?;
    let beside = sqlx::query(sql::BLOBS_BESIDE).bind(chat).bind(&id.as_bytes()[..]);
    beside.fetch_all(&mut *connection).await?.iter().try_for_each(|row| BLOB_REF.check(row, 0))?;
    let hidden = sqlx::query(sql::BLOB_HIDDEN).bind(chat).bind(&id.as_bytes()[..]);
    counts::check_neighbours(connection, hidden).await
}

fn blob_of(row: &SqliteRow) -> Result<Blob> {
    let reference = [7, 0, 6, 2, 3, 4];
    let reference =
        reference.map(|column| Value::of(row, column)).into_iter().collect::<Result<Vec<_>>>()?;
    BLOB_REF.check_values(reference, row, 8)?;
    let blob = [6, 9, 10, 1].map(|column| Value::of(row, column));
    BLOB.check_values(blob.into_iter().collect::<Result<Vec<_>>>()?, row, 11)?;
    if row.try_get::<&[u8], _>(0)? != row.try_get::<&[u8], _>(10)? {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    let time = |column| Ok::<_, Fault>(Timestamp::from_micros(row.try_get(column)?));
    let (id, media_type) = (id_of(row.try_get(0)?)?, row.try_get(2)?);
    let mut blob = Blob::new(id, count(row.try_get(1)?)?, media_type, time(3)?);
    blob.used_at = time(4)?;
    blob.references = count(row.try_get(5)?)?;
    if blob.references == 0 {
        return Err(Fault::Corrupt("the index of references to a blob lacks entries", None));
    }
    Ok(blob)
}

/// Converts the hash in a row to a blob id.
pub(crate) fn id_of(hash: &[u8]) -> Result<BlobId> {
    let hash =
        hash.try_into().map_err(|_| Fault::Corrupt("the id of a blob has a wrong length", None))?;
    Ok(BlobId::from_bytes(hash))
}

/// Updates the time at which the chat last used a blob, if the chat refers to it.
pub(crate) async fn touch(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &BlobId,
    at: Timestamp,
) -> Result<()> {
    let mut transaction = writer.begin().await?;
    let touch = sqlx::query(sql::TOUCH_BLOB).bind(chat.user.as_str()).bind(chat.chat.as_str());
    let touch = touch.bind(&id.as_bytes()[..]).bind(at.as_micros());
    if touch.execute(&mut *transaction).await?.rows_affected() > 0 {
        let no = chat_no(&mut transaction, "read_blob", chat).await?;
        seal_reference(&mut transaction, no, id).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Reads a range of a blob that the chat refers to. If the range is the whole blob, the bytes are
/// compared with its id.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    id: &BlobId,
    range: Range<u64>,
) -> Result<Option<Bytes>> {
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, "read_blob", chat).await?;
    let Some((no, blob)) = known(&mut transaction, chat, id).await? else {
        confirm_absence(&mut transaction, chat, id).await?;
        return Ok(None);
    };
    let end = range.end.min(blob.bytes);
    let range = range.start.min(end)..end;
    let bytes = bytes(&mut transaction, no, range.clone()).await?;
    transaction.commit().await?;
    if range == (0..blob.bytes) && BlobId::of(&bytes) != *id {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    Ok(Some(bytes))
}

/// Returns a range of the bytes, which must exist. A range within one piece is not copied.
pub(crate) async fn bytes(
    connection: &mut SqliteConnection,
    no: i64,
    range: Range<u64>,
) -> Result<Bytes> {
    let size = |at: u64| usize::try_from(at).map_err(|_| Fault::Corrupt(DAMAGED, None));
    let Range { start, end } = size(range.start)?..size(range.end)?;
    if start == end {
        return Ok(Bytes::new());
    }
    let (first, last) = (start / PIECE, (end - 1) / PIECE);
    let place = |piece| no * PLACES + signed(piece);
    let rows = sqlx::query(sql::BLOB_PIECES)
        .bind(place(first))
        .bind(place(last))
        .fetch_all(connection)
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let pos: i64 = row.try_get(0)?;
        if length(pos - place(first))? != found.len() {
            return Err(Fault::Corrupt(DAMAGED, None));
        }
        BLOB_PIECE.check(&row, 0)?;
        found.push(bytes_of(row, 1)?);
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
    let front = start - first * PIECE;
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
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<Blob>> {
    const OPERATION: &str = "blobs";
    limits::check_page(OPERATION, limit)?;
    let after = after.map(|cursor| cursor.as_str().parse::<BlobId>()).transpose();
    let after = after.map_err(|_| bad_cursor(OPERATION))?;
    let after = after.as_ref().map_or(&[][..], |id| id.as_bytes());
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, OPERATION, chat).await?;
    let query = sqlx::query(sql::BLOBS).bind(chat).bind(after).bind(signed(limit + 1));
    let rows = query.fetch_all(&mut *transaction).await?;
    let seen = ListPart::page(after.is_empty(), rows.len() > limit, rows.len());
    ChatCount::Blobs.compare(&mut transaction, chat, seen).await?;
    transaction.commit().await?;
    let mut order = KeyOrder::after(OPERATION, "blob", Some(after.to_vec()));
    rows.iter().try_for_each(|row| Ok::<_, Fault>(order.next(row.try_get::<Vec<u8>, _>(0)?)?))?;
    let items = rows.iter().take(limit).map(blob_of).collect::<Result<Vec<_>>>()?;
    let next =
        items.last().filter(|_| rows.len() > limit).map(|last| Cursor::new(last.id.to_string()));
    Ok(Page { items, next })
}

/// Removes a chat's reference.
pub(crate) async fn remove(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &BlobId,
) -> Result<BlobsPruned> {
    let mut transaction = writer.begin().await?;
    let chat_no = chat_no(&mut transaction, "remove_blob", chat).await?;
    let mut pruned = BlobsPruned::default();
    if let Some((_, blob)) = known(&mut transaction, chat_no, id).await? {
        let remove = sqlx::query(sql::FORGET_BLOB).bind(chat_no).bind(&id.as_bytes()[..]);
        pruned.references = remove.execute(&mut *transaction).await?.rows_affected();
        if blob.references == 1 {
            (pruned.blobs, pruned.bytes) = (1, blob.bytes);
        }
    }
    transaction.commit().await?;
    Ok(pruned)
}

/// Removes the references that have not been used since the given time.
pub(crate) async fn prune(writer: &mut Writer, prune: &BlobPrune) -> Result<BlobsPruned> {
    let mut transaction = writer.begin().await?;
    let chat = match &prune.chat {
        None => None,
        Some(chat) => {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            Some(chat_no(&mut transaction, "prune_blobs", &chat).await?)
        }
    };
    let (blobs, bytes) = totals(&mut transaction, &prune.user).await?;
    let drop = sqlx::query(sql::PRUNE_BLOBS).bind(prune.user.as_str()).bind(chat);
    let drop = drop.bind(prune.unused_since.as_micros());
    let mut pruned = BlobsPruned::default();
    pruned.references = drop.execute(&mut *transaction).await?.rows_affected();
    let (left, bytes_left) = totals(&mut transaction, &prune.user).await?;
    transaction.commit().await?;
    (pruned.blobs, pruned.bytes) = (count(blobs - left)?, count(bytes - bytes_left)?);
    Ok(pruned)
}

/// Returns the number of a user's blobs and the number of their bytes.
pub(crate) async fn totals(connection: &mut SqliteConnection, user: &UserId) -> Result<(i64, i64)> {
    let row = sqlx::query(sql::BLOBS_KEPT).bind(user.as_str()).fetch_one(connection).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}
