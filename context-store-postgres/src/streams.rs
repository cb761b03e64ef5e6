//! Streams: a row for what is known of each, and one for each chunk.
//!
//! What a call does to a stream is said by [`StoredStream`], but for an append that is at its
//! place: that is one statement, which does the same. Whoever writes to a stream locks its row, and
//! no more than that, so writers of one chat do not wait for each other.

pub(crate) mod calls;

use bytes::Bytes;
use context_core::base::limits::{MAX_STREAM_BYTES, MAX_STREAM_CHUNKS, MAX_STREAM_PAGE_BYTES};
use context_core::base::{StreamId, limits};
use context_core::store::{
    AppendPlace, Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome,
    StreamPart, StreamPrune, StreamState, StreamsPruned,
};
use context_core::{ChatRef, Error, Timestamp, UserId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};
use crate::place::{count, signed};
use crate::pool::{Session, Statement};
use crate::rows::{blob, optional_text, text};
use crate::scope::{chat_no, lock_chat};
use crate::seals;
use crate::sql::streams as sql;

const MISSING: &str = "chunks of a stream are missing";

/// A count as PostgreSQL counts.
fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

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
    let add = add.bind(stream.state.as_str()).bind(at.as_micros()).bind(seals::stream(&stream));
    let added: i64 = session.only(add).await?.try_get(0)?;
    let mark = session.query(sql::ADD_STREAM_MARK).bind(added).bind(seals::stream_mark(id, no));
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

/// An append that is at its place, in one statement; nothing, and nothing is written, if it is
/// anything else.
pub(crate) async fn append_next(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<Option<StreamOutcome>> {
    // Nothing is at an offset that high, and whoever names one is refused.
    let at = |n| stored(append.offset).saturating_add(n);
    let numbered = (0..).zip(&append.chunks);
    let chunks: Vec<Vec<u8>> =
        numbered.map(|(n, chunk)| seals::chunk(id, at(n)).seal(chunk.to_vec())).collect();
    let error = match &append.end {
        Some(StreamEnd::Failed(error)) => Some(error.as_bytes()),
        _ => None,
    };
    let ended = append.end.as_ref().map(|end| {
        let error = match end {
            StreamEnd::Failed(error) => Some(&**error),
            _ => None,
        };
        seals::stream_end(id, end.state(), error, Some(append.at))
    });
    let query = scoped(session, sql::APPEND_STREAM, chat, id)
        .bind(stored(append.offset))
        .bind(chunks)
        .bind(stored(append.bytes()))
        .bind(append.writer.as_str().as_bytes())
        .bind(append.end.as_ref().map(|end| end.state().as_str()))
        .bind(error)
        .bind(append.at.as_micros())
        .bind(stored(MAX_STREAM_CHUNKS))
        .bind(stored(MAX_STREAM_BYTES))
        .bind(ended);
    let row = session.first(query).await?;
    row.map(|row| Ok(StreamOutcome::Applied(stream_of(&row)?))).transpose()
}

/// What an append is that was not at its place.
pub(crate) async fn append(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<StreamOutcome> {
    let (no, mut stream) = lock(session, "append_stream", chat, id).await?;
    Ok(match stream.place(append) {
        // It would become too large, or it is at its place by now.
        AppendPlace::Next => {
            stream.append(append)?;
            match append_next(session, chat, id, append).await? {
                Some(outcome) => outcome,
                None => return Err(Fault::Corrupt("a stream is not what was just read", None)),
            }
        }
        AppendPlace::Stored if are_stored(session, id, no, append).await? => {
            StreamOutcome::Replayed(stream)
        }
        AppendPlace::Stored | AppendPlace::Refused => StreamOutcome::Refused(stream),
    })
}

/// A chunk in a column of a row.
pub(crate) fn chunk(id: &StreamId, n: i64, row: PgRow, column: usize) -> Result<Bytes> {
    seals::open(
        seals::chunk(id, n),
        &blob(row, column)?,
        "a chunk of a stream is not what was written",
    )
}

/// Whether what is appended stands there already.
async fn are_stored(
    session: &mut Session<'_>,
    id: &StreamId,
    no: i64,
    append: &StreamAppend,
) -> Result<bool> {
    let first = stored(append.offset);
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

/// A statement about a stream, by its chat's user, its chat and its id.
fn scoped(
    session: &Session<'_>,
    statement: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Statement {
    let query = session.query(statement).bind(chat.user.as_str().as_bytes());
    query.bind(chat.chat.as_str().as_bytes()).bind(id.as_str().as_bytes())
}

/// A stream of the chat and its number, if there is one.
pub(crate) async fn find(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Option<(i64, StoredStream)>> {
    let query = scoped(session, sql::STREAM, chat, id);
    let row = session.first(query).await?;
    let row = row.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))?;
    let no: Option<i64> = row.try_get(0)?;
    no.map(|no| Ok((no, stream_of(&row)?))).transpose()
}

/// The same of one that must be there, and that nobody else writes to until the transaction ends.
async fn lock(
    session: &mut Session<'_>,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<(i64, StoredStream)> {
    let query = scoped(session, sql::LOCK_STREAM, chat, id);
    let Some(row) = session.first(query).await? else {
        chat_no(session, operation, chat).await?;
        return Err(Error::not_found(operation, "stream", id).into());
    };
    Ok((row.try_get(0)?, stream_of(&row)?))
}

/// A stream as it is in a row, behind its number.
pub(crate) fn stream_of(row: &PgRow) -> Result<StoredStream> {
    let stream = unchecked(row, 1)?;
    if seals::stream(&stream) != row.try_get::<&[u8], _>(13)? {
        return Err(Fault::Corrupt("a stream is not what was written", None));
    }
    if seals::times(stream.updated_at.as_micros(), 0) != row.try_get::<i64, _>(14)? {
        return Err(Fault::Corrupt(
            "the time of the last write to a stream is not what was written",
            None,
        ));
    }
    Ok(stream)
}

/// A stream as it is in a row from a column on, whatever its checksum is.
pub(crate) fn unchecked(row: &PgRow, from: usize) -> Result<StoredStream> {
    let time = |column| {
        Ok::<_, Fault>(row.try_get::<Option<i64>, _>(from + column)?.map(Timestamp::from_micros))
    };
    let mut stream =
        StoredStream::new(text(row, from)?, Timestamp::from_micros(row.try_get(from + 7)?));
    let state = StreamState::from_name(row.try_get(from + 1)?);
    stream.state = state.ok_or(Fault::Corrupt("a stream is in no state", None))?;
    let run = u32::try_from(row.try_get::<i64, _>(from + 2)?);
    stream.run = run.map_err(|_| Fault::Corrupt("a stream is of no run", None))?;
    stream.writer = optional_text(row, from + 3)?.map(Into::into);
    (stream.chunks, stream.bytes) =
        (count(row.try_get(from + 4)?)?, count(row.try_get(from + 5)?)?);
    stream.error = optional_text(row, from + 6)?.map(ToOwned::to_owned);
    (stream.started_at, stream.cancel_requested_at, stream.finished_at) =
        (time(8)?, time(9)?, time(10)?);
    stream.updated_at = Timestamp::from_micros(row.try_get(from + 11)?);
    Ok(stream)
}

/// Writes what a call has changed.
async fn write(session: &mut Session<'_>, no: i64, stream: &StoredStream) -> Result<()> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let update = session
        .query(sql::WRITE_STREAM)
        .bind(no)
        .bind(stream.state.as_str())
        .bind(i64::from(stream.run))
        .bind(stream.writer.as_ref().map(|writer| writer.as_str().as_bytes()))
        .bind(stored(stream.chunks))
        .bind(stored(stream.bytes))
        .bind(stream.error.as_ref().map(|error| error.as_bytes()))
        .bind(micros(stream.started_at))
        .bind(micros(stream.cancel_requested_at))
        .bind(micros(stream.finished_at))
        .bind(stream.updated_at.as_micros())
        .bind(seals::stream(stream));
    session.execute(update).await?;
    Ok(())
}

/// Reads chunks from an offset on, in the same state as what is said of the stream: one statement.
pub(crate) async fn read(
    session: &mut Session<'_>,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: usize,
) -> Result<Option<StreamPart>> {
    let query = scoped(session, sql::READ_STREAM, chat, id).bind(stored(offset));
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

/// A page of the streams of a chat.
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

/// Removes what ended long ago, and what was left behind.
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

/// Removes all streams of a chat that nobody else writes to.
pub(crate) async fn forget_chat(session: &mut Session<'_>, chat: i64) -> Result<()> {
    let lock = session.query(sql::LOCK_STREAMS_OF).bind(chat);
    remove_locked(session, lock).await.map(drop)
}

/// Removes the streams that a statement picks and locks.
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

/// How many streams a user has.
pub(crate) async fn kept(session: &mut Session<'_>, user: &UserId) -> Result<u64> {
    let query = session.query(sql::STREAMS_KEPT).bind(user.as_str().as_bytes());
    count(session.only(query).await?.try_get(0)?)
}
