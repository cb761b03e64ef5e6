//! Streams: one row for the metadata of each stream, and one row per chunk.
//!
//! [`StoredStream`] defines the effect of each call. An append at the end of a stream is one
//! statement with the same effect. A writer locks only the row of its stream, so writers of one
//! chat do not wait for each other.

use bytes::Bytes;
use context_core::base::limits::{MAX_STREAM_BYTES, MAX_STREAM_CHUNKS, MAX_STREAM_PAGE_BYTES};
use context_core::base::{StreamId, limits};
use context_core::store::{
    AppendPosition, Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamEnd,
    StreamOutcome, StreamPart, StreamPrune, StreamState, StreamsPruned,
};
use context_core::{ChatRef, Error, Timestamp, UserId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{chat_no, lock_chat};
use crate::checksums;
use crate::connections::{Session, Statement};
use crate::error::{Fault, Result};
use crate::sql::streams as sql;
use crate::values::numbers::{count, signed, signed_count};
use crate::values::rows::{blob, optional_text, text};

const MISSING: &str = "chunks of a stream are missing";

pub(crate) async fn create(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StreamOutcome> {
    const OPERATION: &str = "create_stream";
    let no = lock_chat(session, OPERATION, chat).await?;
    if let Some((_, stream)) = find(session, OPERATION, chat, id).await? {
        return Ok(StreamOutcome::Replayed(stream));
    }
    let stream = StoredStream::new(id, at);
    let add = session.query(sql::CREATE_STREAM).bind(no).bind(id.as_str().as_bytes());
    let add = add.bind(stream.state.as_str()).bind(at.as_micros()).bind(checksums::stream(&stream));
    let added: i64 = session.only(add).await?.try_get(0)?;
    let mark = session.query(sql::ADD_STREAM_MARK).bind(added).bind(checksums::stream_mark(id, no));
    session.execute(mark).await?;
    Ok(StreamOutcome::Applied(stream))
}

pub(crate) async fn claim(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    claim: &StreamClaim,
) -> Result<StreamOutcome> {
    let (no, mut stream) = lock(session, "claim_stream", chat, id).await?;
    if stream.is_claimed_by(claim) {
        return Ok(StreamOutcome::Replayed(stream));
    }
    if !stream.claim(claim) {
        return Ok(StreamOutcome::Refused(stream));
    }
    write(session, no, &stream).await?;
    Ok(StreamOutcome::Applied(stream))
}

/// Writes an append at the end of a stream in one statement. Returns `None` without writing if the
/// append does not apply.
pub(crate) async fn append_next(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<Option<StreamOutcome>> {
    // No stream reaches an offset that high, so such an append does not apply.
    let at = |n| signed_count(append.offset).saturating_add(n);
    let numbered = (0..).zip(&append.chunks);
    let chunks: Vec<Vec<u8>> =
        numbered.map(|(n, chunk)| checksums::chunk(id, at(n)).seal(chunk.to_vec())).collect();
    let error = match &append.end {
        Some(StreamEnd::Failed(error)) => Some(error.as_bytes()),
        _ => None,
    };
    let ended = append.end.as_ref().map(|end| {
        let error = match end {
            StreamEnd::Failed(error) => Some(&**error),
            _ => None,
        };
        checksums::stream_end(id, end.state(), error, Some(append.at))
    });
    let query = stream_query(session, sql::APPEND_STREAM, chat, id)
        .bind(signed_count(append.offset))
        .bind(chunks)
        .bind(signed_count(append.bytes()))
        .bind(append.writer.as_str().as_bytes())
        .bind(append.end.as_ref().map(|end| end.state().as_str()))
        .bind(error)
        .bind(append.at.as_micros())
        .bind(signed_count(MAX_STREAM_CHUNKS))
        .bind(signed_count(MAX_STREAM_BYTES))
        .bind(ended);
    let row = session.first(query).await?;
    row.map(|row| Ok(StreamOutcome::Applied(stream_of(&row)?))).transpose()
}

/// Decides the result of an append that does not apply at the end of the stream.
pub(crate) async fn append(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<StreamOutcome> {
    let (no, mut stream) = lock(session, "append_stream", chat, id).await?;
    Ok(match stream.place(append) {
        // The stream would become too large, or the append applies by now.
        AppendPosition::Next => {
            stream.append(append)?;
            match append_next(session, chat, id, append).await? {
                Some(outcome) => outcome,
                None => return Err(Fault::Corrupt("a locked stream has changed", None)),
            }
        }
        AppendPosition::Stored if are_stored(session, id, no, append).await? => {
            StreamOutcome::Replayed(stream)
        }
        AppendPosition::Stored | AppendPosition::Refused => StreamOutcome::Refused(stream),
    })
}

/// Reads a chunk from a column of a row.
pub(crate) fn chunk(id: &StreamId, n: i64, row: PgRow, column: usize) -> Result<Bytes> {
    checksums::open(
        checksums::chunk(id, n),
        &blob(row, column)?,
        "the checksum of a chunk of a stream does not match",
    )
}

/// Whether the appended chunks are stored already.
async fn are_stored(
    session: &mut Session<'_>,
    id: &StreamId,
    no: i64,
    append: &StreamAppend,
) -> Result<bool> {
    let first = signed_count(append.offset);
    let query = session.query(sql::STORED_STREAM_CHUNKS).bind(no).bind(first);
    let rows = session.all(query.bind(first.saturating_add(signed(append.chunks.len())))).await?;
    if rows.len() != append.chunks.len() {
        return Err(Fault::Corrupt(MISSING, None));
    }
    for ((n, row), appended) in (first..).zip(rows).zip(&append.chunks) {
        if chunk(id, n, row, 0)? != appended {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) async fn cancel(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StoredStream> {
    let (no, mut stream) = lock(session, "cancel_stream", chat, id).await?;
    if stream.request_cancel(at) {
        write(session, no, &stream).await?;
    }
    Ok(stream)
}

pub(crate) async fn reopen(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    run: u32,
    at: Timestamp,
) -> Result<StreamOutcome> {
    let (no, mut stream) = lock(session, "reopen_stream", chat, id).await?;
    if stream.is_reopened_from(run) {
        return Ok(StreamOutcome::Replayed(stream));
    }
    if !stream.reopen(run, at) {
        return Ok(StreamOutcome::Refused(stream));
    }
    let forget = session.query(sql::FORGET_STREAM_CHUNKS).bind(no);
    session.execute(forget).await?;
    write(session, no, &stream).await?;
    Ok(StreamOutcome::Applied(stream))
}

/// Returns a statement about a stream, with user, chat and id as its first parameters.
fn stream_query(
    session: &Session<'_>,
    statement: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Statement {
    let query = session.query(statement).bind(chat.user.as_str().as_bytes());
    query.bind(chat.chat.as_str().as_bytes()).bind(id.as_str().as_bytes())
}

/// Returns a stream of the chat and its number, if the stream exists.
pub(crate) async fn find(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Option<(i64, StoredStream)>> {
    let query = stream_query(session, sql::STREAM, chat, id);
    let row = session.first(query).await?;
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    let no: Option<i64> = row.try_get(0)?;
    no.map(|no| Ok((no, stream_of(&row)?))).transpose()
}

/// Returns a stream and its number, and locks it until the transaction ends. Returns a not-found
/// error if it does not exist.
async fn lock(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<(i64, StoredStream)> {
    let query = stream_query(session, sql::LOCK_STREAM, chat, id);
    let Some(row) = session.first(query).await? else {
        chat_no(session, operation, chat).await?;
        return Err(Error::not_found(operation, "stream", id).into());
    };
    Ok((row.try_get(0)?, stream_of(&row)?))
}

/// Reads a stream from a row, after its number.
pub(crate) fn stream_of(row: &PgRow) -> Result<StoredStream> {
    let stream = unchecked(row, 1)?;
    if checksums::stream(&stream) != row.try_get::<&[u8], _>(13)? {
        return Err(Fault::Corrupt("the checksum of a stream does not match", None));
    }
    if checksums::times(stream.updated_at.as_micros(), 0) != row.try_get::<i64, _>(14)? {
        return Err(Fault::Corrupt(
            "the checksum of the last write to a stream does not match",
            None,
        ));
    }
    Ok(stream)
}

/// Reads a stream from a row, beginning at a column, without comparing its checksum.
pub(crate) fn unchecked(row: &PgRow, from: usize) -> Result<StoredStream> {
    let time = |column| {
        Ok::<_, Fault>(row.try_get::<Option<i64>, _>(from + column)?.map(Timestamp::from_micros))
    };
    let mut stream =
        StoredStream::new(text(row, from)?, Timestamp::from_micros(row.try_get(from + 7)?));
    let state = StreamState::from_name(row.try_get(from + 1)?);
    stream.state = state.ok_or(Fault::Corrupt("the state of a stream is unknown", None))?;
    let run = u32::try_from(row.try_get::<i64, _>(from + 2)?);
    stream.run = run.map_err(|_| Fault::Corrupt("the run of a stream is out of range", None))?;
    stream.writer = optional_text(row, from + 3)?.map(Into::into);
    (stream.chunks, stream.bytes) =
        (count(row.try_get(from + 4)?)?, count(row.try_get(from + 5)?)?);
    stream.error = optional_text(row, from + 6)?.map(ToOwned::to_owned);
    (stream.started_at, stream.cancel_requested_at, stream.finished_at) =
        (time(8)?, time(9)?, time(10)?);
    stream.updated_at = Timestamp::from_micros(row.try_get(from + 11)?);
    Ok(stream)
}

/// Writes the changes of a call.
async fn write(session: &mut Session<'_>, no: i64, stream: &StoredStream) -> Result<()> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let update = session
        .query(sql::WRITE_STREAM)
        .bind(no)
        .bind(stream.state.as_str())
        .bind(i64::from(stream.run))
        .bind(stream.writer.as_ref().map(|writer| writer.as_str().as_bytes()))
        .bind(signed_count(stream.chunks))
        .bind(signed_count(stream.bytes))
        .bind(stream.error.as_ref().map(|error| error.as_bytes()))
        .bind(micros(stream.started_at))
        .bind(micros(stream.cancel_requested_at))
        .bind(micros(stream.finished_at))
        .bind(stream.updated_at.as_micros())
        .bind(checksums::stream(stream));
    session.execute(update).await?;
    Ok(())
}

/// Reads chunks from an offset on together with the metadata, in one statement.
pub(crate) async fn read(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: usize,
) -> Result<Option<StreamPart>> {
    let query = stream_query(session, sql::READ_STREAM, chat, id).bind(signed_count(offset));
    let rows = session.all(query.bind(signed(limit)).bind(signed(MAX_STREAM_PAGE_BYTES))).await?;
    let first = rows.first().ok_or_else(|| Error::not_found("read_stream", "chat", &chat.chat))?;
    if first.try_get::<Option<i64>, _>(0)?.is_none() {
        return Ok(None);
    }
    let stream = stream_of(first)?;
    let mut chunks = Vec::new();
    for row in rows {
        match row.try_get::<Option<i64>, _>(15)? {
            None => break,
            Some(n) if count(n)? == offset + chunks.len() as u64 => {
                chunks.push(chunk(id, n, row, 16)?)
            }
            Some(_) => return Err(Fault::Corrupt(MISSING, None)),
        }
    }
    if chunks.is_empty() && offset < stream.chunks {
        return Err(Fault::Corrupt(MISSING, None));
    }
    Ok(Some(StreamPart::new(stream, offset, chunks)))
}

/// Returns one page of the streams of a chat.
pub(crate) async fn list(
    session: &mut Session<'_>,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<StoredStream>> {
    const OPERATION: &str = "streams";
    limits::check_page(OPERATION, limit)?;
    let chat = chat_no(session, OPERATION, chat).await?;
    let after = after.map_or(&[][..], |cursor| cursor.as_str().as_bytes());
    let query = session.query(sql::STREAMS).bind(chat).bind(after).bind(signed(limit + 1));
    let rows = session.all(query).await?;
    let items = rows.iter().take(limit).map(stream_of).collect::<Result<Vec<_>>>()?;
    let next =
        items.last().filter(|_| rows.len() > limit).map(|last| Cursor::new(last.id.as_str()));
    Ok(Page { items, next })
}

pub(crate) async fn remove(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<bool> {
    let chat = chat_no(session, "remove_stream", chat).await?;
    let lock = session.query(sql::LOCK_ONE).bind(chat).bind(id.as_str().as_bytes());
    Ok(remove_locked(session, lock).await?.streams > 0)
}

/// Removes streams that ended long ago, and abandoned ones.
pub(crate) async fn prune(session: &mut Session<'_>, prune: &StreamPrune) -> Result<StreamsPruned> {
    let chat = match &prune.chat {
        None => None,
        Some(chat) => {
            let chat = ChatRef::new(prune.user.clone(), chat.clone());
            Some(chat_no(session, "prune_streams", &chat).await?)
        }
    };
    let lock = session.query(sql::LOCK_PRUNED).bind(prune.user.as_str().as_bytes()).bind(chat);
    let lock = lock
        .bind(prune.finished_until.as_micros())
        .bind(prune.idle_since.map(Timestamp::as_micros));
    remove_locked(session, lock).await
}

/// Removes all streams of a locked chat.
pub(crate) async fn forget_chat(session: &mut Session<'_>, chat: i64) -> Result<()> {
    let lock = session.query(sql::LOCK_STREAMS_OF).bind(chat);
    remove_locked(session, lock).await.map(drop)
}

/// Removes the streams that a statement selects and locks.
async fn remove_locked(session: &mut Session<'_>, lock: Statement) -> Result<StreamsPruned> {
    let mut pruned = StreamsPruned::default();
    let mut picked: Vec<i64> = Vec::new();
    for row in session.all(lock).await? {
        picked.push(row.try_get(0)?);
        pruned.streams += 1;
        pruned.chunks += count(row.try_get(1)?)?;
        pruned.bytes += count(row.try_get(2)?)?;
    }
    if !picked.is_empty() {
        let remove = session.query(sql::REMOVE_STREAMS).bind(picked);
        session.execute(remove).await?;
    }
    Ok(pruned)
}

/// Returns the number of streams of a user.
pub(crate) async fn count_of_user(session: &mut Session<'_>, user: &UserId) -> Result<u64> {
    let query = session.query(sql::COUNT_STREAMS).bind(user.as_str().as_bytes());
    count(session.only(query).await?.try_get(0)?)
}
