//! Streams: the implementation of each call. The layout is described in
//! [`fields`](crate::streams::fields).

pub(crate) mod fields;

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::{StreamId, limits};
use context_core::store::{
    AppendPlace, Cursor, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome, StreamPart,
    StreamPrune, StreamStore, StreamsPruned,
};
use context_core::{ChatRef, Timestamp, UserId};
use redis::{Value, cmd};

use crate::error::{Fault, Result, bad_cursor};
use crate::history::fields::time;
use crate::history::look::absent;
use crate::reply::Reply;
use crate::scripts::{STREAM_APPEND, STREAM_READ};
use crate::seals;
use crate::shared::{ATTEMPTS, Shared};
use crate::streams::fields::{
    Change, Seen, about_field, chunk_field, counts_field, no_stream, stream_of,
};

#[async_trait]
impl StreamStore for Shared {
    async fn create_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> context_core::Result<StreamOutcome> {
        limits::check_stream("create_stream", chat, id)?;
        create(self, chat, id, at).await.map_err(|fault| fault.during("create_stream"))
    }

    async fn claim_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        wanted: &StreamClaim,
    ) -> context_core::Result<StreamOutcome> {
        wanted.check(chat, id)?;
        claim(self, chat, id, wanted).await.map_err(|fault| fault.during("claim_stream"))
    }

    async fn append_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        new: StreamAppend,
    ) -> context_core::Result<StreamOutcome> {
        new.check(chat, id)?;
        append(self, chat, id, &new).await.map_err(|fault| fault.during("append_stream"))
    }

    async fn cancel_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> context_core::Result<StoredStream> {
        limits::check_stream("cancel_stream", chat, id)?;
        cancel(self, chat, id, at).await.map_err(|fault| fault.during("cancel_stream"))
    }

    async fn reopen_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> context_core::Result<StreamOutcome> {
        limits::check_stream("reopen_stream", chat, id)?;
        reopen(self, chat, id, run, at).await.map_err(|fault| fault.during("reopen_stream"))
    }

    async fn stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
    ) -> context_core::Result<Option<StoredStream>> {
        limits::check_stream("stream", chat, id)?;
        find(self, chat, id).await.map_err(|fault| fault.during("stream"))
    }

    async fn read_stream(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> context_core::Result<Option<StreamPart>> {
        limits::check_stream("read_stream", chat, id)?;
        limits::check_page("read_stream", limit)?;
        read(self, chat, id, offset, limit).await.map_err(|fault| fault.during("read_stream"))
    }

    async fn streams(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> context_core::Result<Page<StoredStream>> {
        limits::check_chat("streams", chat)?;
        limits::check_page("streams", limit)?;
        list(self, chat, limit, after).await.map_err(|fault| fault.during("streams"))
    }

    async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> context_core::Result<bool> {
        limits::check_stream("remove_stream", chat, id)?;
        remove(self, chat, id).await.map_err(|fault| fault.during("remove_stream"))
    }

    async fn prune_streams(&self, wanted: &StreamPrune) -> context_core::Result<StreamsPruned> {
        wanted.check()?;
        prune(self, wanted).await.map_err(|fault| fault.during("prune_streams"))
    }
}

/// The part of a stream that was read at one moment.
struct Part {
    seen: Seen,
    chunks: Vec<Bytes>,
}

async fn create(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StreamOutcome> {
    const OPERATION: &str = "create_stream";
    let stream = StoredStream::new(id.clone(), at);
    for _ in 0..ATTEMPTS {
        let (seen, list) = shared.seen(OPERATION, chat, id).await?;
        if let Some(seen) = seen {
            return Ok(StreamOutcome::Replayed(seen.stream));
        }
        if Change::of(id, None).to(&stream)?.list(&list)?.apply(shared, OPERATION, chat).await? {
            return Ok(StreamOutcome::Applied(stream));
        }
    }
    Err(Fault::Beaten)
}

async fn claim(
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

async fn cancel(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    at: Timestamp,
) -> Result<StoredStream> {
    let decide = |stream: &mut StoredStream| (stream.request_cancel(at), stream.clone());
    shared.change_stream("cancel_stream", chat, id, decide).await
}

async fn reopen(
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

async fn append(
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
        let part = part(shared, OPERATION, chat, id, append.offset, many, u64::MAX >> 12).await?;
        let Part { seen, chunks } = part.ok_or_else(|| no_stream(OPERATION, id))?;
        let mut stream = seen.stream.clone();
        match stream.place(append) {
            AppendPlace::Refused => return Ok(StreamOutcome::Refused(stream)),
            AppendPlace::Stored if chunks == append.chunks => {
                return Ok(StreamOutcome::Replayed(stream));
            }
            AppendPlace::Stored => return Ok(StreamOutcome::Refused(stream)),
            AppendPlace::Next => {}
        }
        stream.append(append)?;
        let change = Change::of(id, Some(&seen)).to(&stream)?.chunks(append.offset, &append.chunks);
        if change.apply(shared, OPERATION, chat).await? {
            return Ok(StreamOutcome::Applied(stream));
        }
    }
    Err(Fault::Beaten)
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
        call.arg(seals::seal(&chunk_field(append.offset.saturating_add(n), id), chunk.to_vec()));
    });
    let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
    match reply.number()? {
        0 => Err(absent(OPERATION, chat)),
        1 => Err(no_stream(OPERATION, id)),
        2 => Ok(None),
        _ => Ok(Some(stream_of(&reply.bytes()?, &reply.bytes()?)?)),
    }
}

async fn find(shared: &Shared, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
    Ok(shared.seen("stream", chat, id).await?.0.map(|seen| seen.stream))
}

async fn read(
    shared: &Shared,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: usize,
) -> Result<Option<StreamPart>> {
    let most = limits::MAX_STREAM_PAGE_BYTES as u64;
    let found = part(shared, "read_stream", chat, id, offset, limit as u64, most).await?;
    Ok(found.map(|Part { seen, chunks }| StreamPart::new(seen.stream, offset, chunks)))
}

/// Returns a stream and some of its chunks, read at one moment.
async fn part(
    shared: &Shared,
    operation: &'static str,
    chat: &ChatRef,
    id: &StreamId,
    offset: u64,
    limit: u64,
    most: u64,
) -> Result<Option<Part>> {
    let mut call = STREAM_READ.key(shared.keys.chat(chat));
    // Scripts count in floating point, and no stream is longer.
    call.arg(id.as_str()).arg(offset.min(limits::MAX_STREAM_CHUNKS + 1)).arg(limit).arg(most);
    let mut reply = Reply::of(shared.connection.ask::<Value>(&call).await?)?;
    match reply.number()? {
        0 => Err(absent(operation, chat)),
        1 => Ok(None),
        2 => Err(Fault::Corrupt("a chunk of a stream is missing", None)),
        _ => {
            let seen = Seen::of(id, reply.bytes()?, reply.bytes()?)?;
            let (mut list, mut chunks) = (reply.list()?, Vec::new());
            while !list.is_empty() {
                let field = chunk_field(offset + chunks.len() as u64, id);
                chunks.push(seals::open(&field, &list.bytes()?)?);
            }
            Ok(Some(Part { seen, chunks }))
        }
    }
}

async fn list(
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
        return Err(absent(operation, chat));
    }
    let mut items = Vec::with_capacity(ids.len());
    for _ in ids {
        if let (Some(counts), Some(about)) = (reply.maybe()?, reply.maybe()?) {
            items.push(stream_of(&counts, &about)?);
        }
    }
    Ok(items)
}

async fn remove(shared: &Shared, chat: &ChatRef, id: &StreamId) -> Result<bool> {
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
        let (seen, list) = shared.seen(operation, chat, id).await?;
        let Some(seen) = seen.filter(|seen| meant(&seen.stream)) else { return Ok(None) };
        let mut change = Change::of(id, Some(&seen)).list(&list)?;
        change.chunks = seen.stream.chunks;
        change.gone.extend([counts_field(id), about_field(id)]);
        if change.apply(shared, operation, chat).await? {
            return Ok(Some(seen.stream));
        }
    }
    Err(Fault::Beaten)
}

/// Removes old streams one by one, because the chats of a user are in many slots.
async fn prune(shared: &Shared, prune: &StreamPrune) -> Result<StreamsPruned> {
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
            Err(Fault::Ours(error)) if error.is_not_found() && prune.chat.is_none() => {}
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
