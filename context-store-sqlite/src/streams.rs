//! Streams: one row for the metadata of each stream, and one row per chunk.
//!
//! [`StoredStream`] defines the effect of each call. The schema deletes chunks together with their
//! stream and their run (`migrations/0005_streams.sql`).

use std::fmt::Write as _;

use bytes::Bytes;
use context_core::base::limits::MAX_STREAM_PAGE_BYTES;
use context_core::base::{StreamId, limits};
use context_core::store::{
    AppendPosition, Cursor, KeyOrder, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome,
    StreamPart, StreamPrune, StreamState, StreamsPruned,
};
use context_core::{ChatRef, Error, Timestamp, UserId};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::checksums::{STREAM, STREAM_CHUNK, Value};
use crate::connections::Writer;
use crate::counts::{self, ChatCount, ListPart};
use crate::error::{Fault, Result};
use crate::sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::blob;

/// The number of bits of a chunk's number. It is part of the layout and must never change.
const BITS: u32 = 24;

const MISSING: &str = "chunks of a stream are missing";

/// Returns the place of a chunk.
fn place(stream: i64, chunk: u64) -> i64 {
    (stream << BITS).saturating_add(i64::try_from(chunk).unwrap_or(i64::MAX))
}

pub(crate) async fn create(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StreamOutcome> {
    let mut transaction = writer.begin().await?;
    let outcome = match find(&mut transaction, "create_stream", chat, id).await? {
        Some((_, stream)) => StreamOutcome::Replayed(stream),
        None => {
            let add =
                sqlx::query(sql::CREATE_STREAM).bind(chat.user.as_str()).bind(chat.chat.as_str());
            let stream = StoredStream::new(id, at);
            let add = add.bind(id.as_str()).bind(stream.state.as_str()).bind(at.as_micros());
            let no = add.execute(&mut *transaction).await?.last_insert_rowid();
            STREAM.seal(&mut transaction, &[("no", no.into())]).await?;
            StreamOutcome::Applied(stream)
        }
    };
    transaction.commit().await?;
    Ok(outcome)
}

pub(crate) async fn claim(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &StreamId,
    claim: &StreamClaim,
) -> Result<StreamOutcome> {
    let mut transaction = writer.begin().await?;
    let (no, mut stream) = known(&mut transaction, "claim_stream", chat, id).await?;
    let outcome = if stream.is_claimed_by(claim) {
        StreamOutcome::Replayed(stream)
    } else if stream.claim(claim) {
        write(&mut transaction, no, &stream).await?;
        StreamOutcome::Applied(stream)
    } else {
        StreamOutcome::Refused(stream)
    };
    transaction.commit().await?;
    Ok(outcome)
}

pub(crate) async fn append(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<StreamOutcome> {
    let mut transaction = writer.begin().await?;
    let (no, mut stream) = known(&mut transaction, "append_stream", chat, id).await?;
    let outcome = match stream.place(append) {
        AppendPosition::Next => {
            stream.append(append)?;
            add_chunks(&mut transaction, place(no, append.offset), &append.chunks).await?;
            write(&mut transaction, no, &stream).await?;
            StreamOutcome::Applied(stream)
        }
        AppendPosition::Stored if are_stored(&mut transaction, no, append).await? => {
            StreamOutcome::Replayed(stream)
        }
        AppendPosition::Stored | AppendPosition::Refused => StreamOutcome::Refused(stream),
    };
    transaction.commit().await?;
    Ok(outcome)
}

/// Writes any number of chunks in one statement: their concatenated bytes, and the start of each.
async fn add_chunks(connection: &mut SqliteConnection, first: i64, chunks: &[Bytes]) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(chunks.iter().map(Bytes::len).sum());
    let mut cuts = String::from("[");
    for (i, chunk) in chunks.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let sum = STREAM_CHUNK.sum([(first + signed(i)).into(), chunk[..].into()]);
        let _ = write!(cuts, "{comma}[{},{},{sum}]", bytes.len() + 1, chunk.len());
        bytes.extend_from_slice(chunk);
    }
    cuts.push(']');
    let add = sqlx::query(sql::ADD_STREAM_CHUNKS).bind(first).bind(bytes).bind(cuts);
    add.execute(connection).await?;
    Ok(())
}

/// Whether the appended chunks are stored already.
async fn are_stored(
    connection: &mut SqliteConnection,
    no: i64,
    append: &StreamAppend,
) -> Result<bool> {
    let first = place(no, append.offset);
    let last = first + signed(append.chunks.len()) - 1;
    let rows =
        sqlx::query(sql::STORED_STREAM_CHUNKS).bind(first).bind(last).fetch_all(connection).await?;
    if rows.len() != append.chunks.len() {
        return Err(Fault::Corrupt(MISSING, None));
    }
    for (row, chunk) in rows.iter().zip(&append.chunks) {
        STREAM_CHUNK.check_values(
            [row.try_get::<i64, _>(1)?.into(), row.try_get::<&[u8], _>(0)?.into()],
            row,
            2,
        )?;
        if row.try_get::<&[u8], _>(0)? != chunk {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) async fn cancel(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StoredStream> {
    let mut transaction = writer.begin().await?;
    let (no, mut stream) = known(&mut transaction, "cancel_stream", chat, id).await?;
    if stream.request_cancel(at) {
        write(&mut transaction, no, &stream).await?;
    }
    transaction.commit().await?;
    Ok(stream)
}

pub(crate) async fn reopen(
    writer: &mut Writer,
    chat: &ChatRef,
    id: &StreamId,
    run: u32,
    at: Timestamp,
) -> Result<StreamOutcome> {
    let mut transaction = writer.begin().await?;
    let (no, mut stream) = known(&mut transaction, "reopen_stream", chat, id).await?;
    let outcome = if stream.is_reopened_from(run) {
        StreamOutcome::Replayed(stream)
    } else if stream.reopen(run, at) {
        write(&mut transaction, no, &stream).await?;
        StreamOutcome::Applied(stream)
    } else {
        StreamOutcome::Refused(stream)
    };
    transaction.commit().await?;
    Ok(outcome)
}

/// Returns a stream of the chat and its number, if the stream exists.
async fn find(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Option<(i64, StoredStream)>> {
    let query = sqlx::query(sql::STREAM)
        .bind(chat.user.as_str())
        .bind(chat.chat.as_str())
        .bind(id.as_str());
    let row = query.fetch_all(connection).await?.pop();
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    let no: Option<i64> = row.try_get(0)?;
    no.map(|no| Ok((no, stream_of(&row)?))).transpose()
}

/// Returns the metadata of a stream of the chat, if the stream exists.
pub(crate) async fn stream(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Option<StoredStream>> {
    let mut transaction = connection.begin().await?;
    let found = find(&mut transaction, "stream", chat, id).await?;
    if found.is_none() {
        confirm_absence(&mut transaction, "stream", chat, id).await?;
    }
    transaction.commit().await?;
    Ok(found.map(|(_, stream)| stream))
}

/// Checks that a stream that was not found really does not exist.
async fn confirm_absence(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<()> {
    let chat = chat_no(connection, operation, chat).await?;
    ChatCount::Streams.compare(connection, chat, ListPart::Middle).await?;
    let beside = sqlx::query(sql::STREAMS_BESIDE).bind(chat).bind(id.as_str());
    counts::check_neighbours(connection, beside).await
}

/// Returns a stream of the chat and its number, or a not-found error.
async fn known(
    connection: &mut SqliteConnection,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<(i64, StoredStream)> {
    let found = find(connection, operation, chat, id).await?;
    Ok(found.ok_or_else(|| Error::not_found(operation, "stream", id))?)
}

/// Reads a stream from a row, after its number.
pub(crate) fn stream_of(row: &SqliteRow) -> Result<StoredStream> {
    let columns =
        [0, 13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(|column| Value::of(row, column));
    STREAM.check_values(columns.into_iter().collect::<Result<Vec<_>>>()?, row, 14)?;
    let time =
        |column| Ok::<_, Fault>(row.try_get::<Option<i64>, _>(column)?.map(Timestamp::from_micros));
    let id = StreamId::from(row.try_get::<&str, _>(1)?);
    let mut stream = StoredStream::new(id, Timestamp::from_micros(row.try_get(8)?));
    let state = StreamState::from_name(row.try_get(2)?);
    stream.state = state.ok_or(Fault::Corrupt("the state of a stream is not known", None))?;
    let run = u32::try_from(row.try_get::<i64, _>(3)?);
    stream.run = run.map_err(|_| Fault::Corrupt("the run of a stream is out of range", None))?;
    stream.writer = row.try_get::<Option<&str>, _>(4)?.map(Into::into);
    (stream.chunks, stream.bytes) = (count(row.try_get(5)?)?, count(row.try_get(6)?)?);
    stream.error = row.try_get(7)?;
    (stream.started_at, stream.cancel_requested_at, stream.finished_at) =
        (time(9)?, time(10)?, time(11)?);
    stream.updated_at = Timestamp::from_micros(row.try_get(12)?);
    Ok(stream)
}

/// Writes the changes of a call. The chunks of an earlier run are deleted.
async fn write(connection: &mut SqliteConnection, no: i64, stream: &StoredStream) -> Result<()> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let unsigned = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let update = sqlx::query(sql::WRITE_STREAM)
        .bind(no)
        .bind(stream.state.as_str())
        .bind(i64::from(stream.run))
        .bind(stream.writer.as_ref().map(|writer| writer.as_str()))
        .bind(unsigned(stream.chunks))
        .bind(unsigned(stream.bytes))
        .bind(stream.error.as_deref())
        .bind(micros(stream.started_at))
        .bind(micros(stream.cancel_requested_at))
        .bind(micros(stream.finished_at))
        .bind(stream.updated_at.as_micros());
    update.bind(None::<i64>).execute(&mut *connection).await?;
    STREAM.seal(connection, &[("no", no.into())]).await
}

/// Reads chunks from an offset on, in the same state of the file as the metadata.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: usize,
) -> Result<Option<StreamPart>> {
    let mut transaction = connection.begin().await?;
    let Some((no, stream)) = find(&mut transaction, "read_stream", chat, id).await? else {
        confirm_absence(&mut transaction, "read_stream", chat, id).await?;
        return Ok(None);
    };
    let mut chunks = Vec::new();
    if offset < stream.chunks {
        let first = place(no, offset);
        let query = sqlx::query(sql::STREAM_CHUNKS).bind(first).bind(place(no, stream.chunks) - 1);
        let query = query.bind(signed(limit)).bind(signed(MAX_STREAM_PAGE_BYTES));
        for (expected, row) in (first..).zip(query.fetch_all(&mut *transaction).await?) {
            if row.try_get::<i64, _>(0)? != expected {
                return Err(Fault::Corrupt(MISSING, None));
            }
            STREAM_CHUNK.check(&row, 0)?;
            chunks.push(blob(row, 1)?);
        }
        if chunks.is_empty() {
            return Err(Fault::Corrupt(MISSING, None));
        }
    }
    transaction.commit().await?;
    Ok(Some(StreamPart::new(stream, offset, chunks)))
}

/// Returns one page of the streams of a chat.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<StoredStream>> {
    const OPERATION: &str = "streams";
    limits::check_page(OPERATION, limit)?;
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, OPERATION, chat).await?;
    let query = sqlx::query(sql::STREAMS).bind(chat).bind(after.map_or("", Cursor::as_str));
    let rows = query.bind(signed(limit + 1)).fetch_all(&mut *transaction).await?;
    let seen = ListPart::page(after.is_none(), rows.len() > limit, rows.len());
    ChatCount::Streams.compare(&mut transaction, chat, seen).await?;
    transaction.commit().await?;
    let mut order =
        KeyOrder::after(OPERATION, "stream", Some(after.map_or("", Cursor::as_str).to_owned()));
    rows.iter().try_for_each(|row| Ok::<_, Fault>(order.next(row.try_get::<String, _>(1)?)?))?;
    let items = rows.iter().take(limit).map(stream_of).collect::<Result<Vec<_>>>()?;
    let next =
        items.last().filter(|_| rows.len() > limit).map(|last| Cursor::new(last.id.as_str()));
    Ok(Page { items, next })
}

pub(crate) async fn remove(writer: &mut Writer, chat: &ChatRef, id: &StreamId) -> Result<bool> {
    let mut transaction = writer.begin().await?;
    let chat = chat_no(&mut transaction, "remove_stream", chat).await?;
    let remove = sqlx::query(sql::REMOVE_STREAM).bind(chat).bind(id.as_str());
    let removed = remove.execute(&mut *transaction).await?.rows_affected() > 0;
    transaction.commit().await?;
    Ok(removed)
}

/// Removes streams that ended long ago, and abandoned ones.
pub(crate) async fn prune(writer: &mut Writer, prune: &StreamPrune) -> Result<StreamsPruned> {
    let mut transaction = writer.begin().await?;
    let chat = match &prune.chat {
        None => None,
        Some(chat) => {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            Some(chat_no(&mut transaction, "prune_streams", &chat).await?)
        }
    };
    let bound = |statement| {
        let query = sqlx::query(statement).bind(prune.user.as_str()).bind(chat);
        query
            .bind(prune.finished_until.as_micros())
            .bind(prune.idle_since.map(Timestamp::as_micros))
    };
    let row = bound(sql::PRUNED_STREAMS).fetch_one(&mut *transaction).await?;
    let mut pruned = StreamsPruned::default();
    pruned.streams = count(row.try_get(0)?)?;
    (pruned.chunks, pruned.bytes) = (count(row.try_get(1)?)?, count(row.try_get(2)?)?);
    bound(sql::PRUNE_STREAMS).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(pruned)
}

/// Returns the number of streams of a user.
pub(crate) async fn total(connection: &mut SqliteConnection, user: &UserId) -> Result<i64> {
    let row = sqlx::query(sql::STREAMS_KEPT).bind(user.as_str()).fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}
