//! Streams of a chat: creating, claiming, appending, reading and removing them. The layout is
//! described in [`fields`](crate::streams::fields).

pub(crate) mod fields;

use bytes::Bytes;
use context_core::base::{StreamId, limits};
use context_core::store::{
    AppendPosition, Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome,
    StreamPart, StreamPrune, StreamsPruned,
};
use context_core::{ChatRef, Timestamp, UserId};
use redis::{Value, cmd};

use crate::chat::snapshot::chat_not_found;
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result, bad_cursor};
use crate::scripts::reply::Reply;
use crate::scripts::{STREAM_APPEND, STREAM_READ};
use crate::streams::fields::{
    StreamChange, StreamSnapshot, about_field, chunk_field, counts_field, no_stream, stream_of,
};
use crate::values::time;

/// A stream and some of its chunks, read at one moment.
struct StreamRead {
    snapshot: StreamSnapshot,
    chunks: Vec<Bytes>,
}

pub(crate) async fn create(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StreamOutcome> {
    const OPERATION: &str = "create_stream";
    let stream = StoredStream::new(id.clone(), at);
    for _ in 0..ATTEMPTS {
        let (snapshot, list) = shared.stream_snapshot(OPERATION, chat, id).await?;
        if let Some(snapshot) = snapshot {
            return Ok(StreamOutcome::Replayed(snapshot.stream));
        }
        if StreamChange::of(id, None)
            .to(&stream)?
            .list(&list)?
            .apply(shared, OPERATION, chat)
            .await?
        {
            return Ok(StreamOutcome::Applied(stream));
        }
    }
    Err(Fault::Contended)
}

pub(crate) async fn claim(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    claim: &StreamClaim,
) -> Result<StreamOutcome> {
    let decide = |stream: &mut StoredStream| {
        if stream.is_claimed_by(claim) {
            return (false, StreamOutcome::Replayed(stream.clone()));
        }
        if stream.claim(claim) {
            (true, StreamOutcome::Applied(stream.clone()))
        } else {
            (false, StreamOutcome::Refused(stream.clone()))
        }
    };
    shared.change_stream("claim_stream", chat, id, decide).await
}

pub(crate) async fn cancel(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StoredStream> {
    let decide = |stream: &mut StoredStream| (stream.request_cancel(at), stream.clone());
    shared.change_stream("cancel_stream", chat, id, decide).await
}

pub(crate) async fn reopen(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    run: u32,
    at: Timestamp,
) -> Result<StreamOutcome> {
    let decide = |stream: &mut StoredStream| {
        if stream.is_reopened_from(run) {
            return (false, StreamOutcome::Replayed(stream.clone()));
        }
        if stream.reopen(run, at) {
            (true, StreamOutcome::Applied(stream.clone()))
        } else {
            (false, StreamOutcome::Refused(stream.clone()))
        }
    };
    shared.change_stream("reopen_stream", chat, id, decide).await
}

pub(crate) async fn append(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<StreamOutcome> {
    const OPERATION: &str = "append_stream";
    if append.end.is_none()
        && append.bytes() <= limits::MAX_STREAM_BYTES
        && let Some(stream) = plain_append(shared, chat, id, append).await?
    {
        return Ok(StreamOutcome::Applied(stream));
    }
    let many = append.chunks.len() as u64;
    for _ in 0..ATTEMPTS {
        let read =
            read_chunks(shared, OPERATION, chat, id, append.offset, many, u64::MAX >> 12).await?;
        let StreamRead { snapshot, chunks } = read.ok_or_else(|| no_stream(OPERATION, id))?;
        let mut stream = snapshot.stream.clone();
        match stream.place(append) {
            AppendPosition::Refused => return Ok(StreamOutcome::Refused(stream)),
            AppendPosition::Stored if chunks == append.chunks => {
                return Ok(StreamOutcome::Replayed(stream));
            }
            AppendPosition::Stored => return Ok(StreamOutcome::Refused(stream)),
            AppendPosition::Next => {}
        }
        stream.append(append)?;
        let change = StreamChange::of(id, Some(&snapshot))
            .to(&stream)?
            .chunks(append.offset, &append.chunks);
        if change.apply(shared, OPERATION, chat).await? {
            return Ok(StreamOutcome::Applied(stream));
        }
    }
    Err(Fault::Contended)
}

/// Appends on the fast path. Returns the stream after the append, or `None` if the fast path does
/// not apply.
async fn plain_append(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    append: &StreamAppend,
) -> Result<Option<StoredStream>> {
    const OPERATION: &str = "append_stream";
    let mut call = STREAM_APPEND.key(shared.keys.chat(chat));
    call.arg(id.as_str()).arg(append.writer.as_str()).arg(append.offset).arg(time(append.at));
    call.arg(shared.ttl).arg(limits::MAX_STREAM_CHUNKS).arg(limits::MAX_STREAM_BYTES);
    // No stream reaches an offset that high, so such an append is rejected.
    (0..).zip(&append.chunks).for_each(|(n, chunk)| {
        call.arg(checksums::seal(
            &chunk_field(append.offset.saturating_add(n), id),
            chunk.to_vec(),
        ));
    });
    let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
    match reply.number()? {
        0 => Err(chat_not_found(OPERATION, chat)),
        1 => Err(no_stream(OPERATION, id)),
        2 => Ok(None),
        _ => Ok(Some(stream_of(&reply.bytes()?, &reply.bytes()?)?)),
    }
}

pub(crate) async fn find(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
) -> Result<Option<StoredStream>> {
    Ok(shared.stream_snapshot("stream", chat, id).await?.0.map(|snapshot| snapshot.stream))
}

pub(crate) async fn read(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: usize,
) -> Result<Option<StreamPart>> {
    let most = limits::MAX_STREAM_PAGE_BYTES as u64;
    let found = read_chunks(shared, "read_stream", chat, id, offset, limit as u64, most).await?;
    Ok(found
        .map(|StreamRead { snapshot, chunks }| StreamPart::new(snapshot.stream, offset, chunks)))
}

/// Returns a stream and some of its chunks, read at one moment.
async fn read_chunks(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: u64,
    most: u64,
) -> Result<Option<StreamRead>> {
    let mut call = STREAM_READ.key(shared.keys.chat(chat));
    // Scripts count in floating point, and no stream is longer.
    call.arg(id.as_str()).arg(offset.min(limits::MAX_STREAM_CHUNKS + 1)).arg(limit).arg(most);
    let mut reply = Reply::of(shared.connection.ask::<Value>(&call).await?)?;
    match reply.number()? {
        0 => Err(chat_not_found(operation, chat)),
        1 => Ok(None),
        2 => Err(Fault::Corrupt("a chunk of a stream is missing", None)),
        _ => {
            let snapshot = StreamSnapshot::of(id, reply.bytes()?, reply.bytes()?)?;
            let (mut list, mut chunks) = (reply.list()?, Vec::new());
            while !list.is_empty() {
                let field = chunk_field(offset + chunks.len() as u64, id);
                chunks.push(checksums::open(&field, &list.bytes()?)?);
            }
            Ok(Some(StreamRead { snapshot, chunks }))
        }
    }
}

pub(crate) async fn list(
    shared: &Shared,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<StoredStream>> {
    const OPERATION: &str = "streams";
    let after = after
        .map(|cursor| cursor.as_str().strip_prefix(CURSOR))
        .map(|id| id.ok_or_else(|| bad_cursor(OPERATION)));
    let after = after.transpose()?.map(StreamId::from);
    let ids = shared.list_of_streams(OPERATION, chat).await?.ids;
    let from = after.map_or(0, |after| ids.partition_point(|id| *id <= after));
    let page = &ids[from..ids.len().min(from + limit)];
    let more = from + page.len() < ids.len();
    let next = page.last().filter(|_| more).map(|last| Cursor::new(format!("{CURSOR}{last}")));
    // A stream that was removed since is left out.
    Ok(Page { items: streams_of(shared, OPERATION, chat, page).await?, next })
}

/// The prefix of cursors of streams.
const CURSOR: &str = "s:";

async fn streams_of(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    ids: &[StreamId],
) -> Result<Vec<StoredStream>> {
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat)).arg("v");
    ids.iter().for_each(|id| {
        get.arg(counts_field(id)).arg(about_field(id));
    });
    let mut reply = Reply::of(shared.connection.run::<Value>(&get).await?)?;
    if reply.maybe()?.is_none() {
        return Err(chat_not_found(operation, chat));
    }
    let mut items = Vec::with_capacity(ids.len());
    for _ in ids {
        if let (Some(counts), Some(about)) = (reply.maybe()?, reply.maybe()?) {
            items.push(stream_of(&counts, &about)?);
        }
    }
    Ok(items)
}

pub(crate) async fn remove(shared: &Shared, chat: &ChatRef, id: &StreamId) -> Result<bool> {
    Ok(remove_if(shared, "remove_stream", chat, id, |_| true).await?.is_some())
}

/// Removes a stream if the predicate selects it.
async fn remove_if(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
    meant: impl Fn(&StoredStream) -> bool,
) -> Result<Option<StoredStream>> {
    for _ in 0..ATTEMPTS {
        let (snapshot, list) = shared.stream_snapshot(operation, chat, id).await?;
        let Some(snapshot) = snapshot.filter(|snapshot| meant(&snapshot.stream)) else {
            return Ok(None);
        };
        let mut change = StreamChange::of(id, Some(&snapshot)).list(&list)?;
        change.chunks = snapshot.stream.chunks;
        change.removed.extend([counts_field(id), about_field(id)]);
        if change.apply(shared, operation, chat).await? {
            return Ok(Some(snapshot.stream));
        }
    }
    Err(Fault::Contended)
}

/// Removes old streams one by one, because the chats of a user are in many slots.
pub(crate) async fn prune(shared: &Shared, prune: &StreamPrune) -> Result<StreamsPruned> {
    const OPERATION: &str = "prune_streams";
    let mut pruned = StreamsPruned::default();
    let of_user = |chat: &str| ChatRef::new(prune.user.clone(), chat);
    let chats = match &prune.chat {
        Some(chat) => vec![of_user(chat.as_str())],
        None => names(shared, &prune.user).await?.iter().map(|name| of_user(name)).collect(),
    };
    for chat in chats {
        match prune_chat(shared, OPERATION, &chat, prune, &mut pruned).await {
            // The chat was deleted since it was listed.
            Err(Fault::Public(error)) if error.is_not_found() && prune.chat.is_none() => {}
            result => result?,
        }
    }
    Ok(pruned)
}

async fn names(shared: &Shared, user: &UserId) -> Result<Vec<String>> {
    let names = cmd("ZRANGE").arg(shared.keys.chats(user)).arg(0).arg(-1).clone();
    shared.connection.run(&names).await
}

async fn prune_chat(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    prune: &StreamPrune,
    pruned: &mut StreamsPruned,
) -> Result<()> {
    let ids = shared.list_of_streams(operation, chat).await?.ids;
    for ids in ids.chunks(limits::MAX_PAGE) {
        for stream in streams_of(shared, operation, chat, ids).await? {
            if !prune.takes(&stream) {
                continue;
            }
            if let Some(gone) =
                remove_if(shared, operation, chat, &stream.id, |now| prune.takes(now)).await?
            {
                pruned.count(&gone);
            }
        }
    }
    Ok(())
}
