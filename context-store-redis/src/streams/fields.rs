//! Streams are fields of their chat's hash, so they expire and are deleted with it, and a chunk and
//! its counters change together.
//!
//! ```text
//! z            the list of streams, in order (JSON)
//! t<id>        chunks, bytes, time of the last write, and the writer while it runs: changes with every append
//! u<id>        all other metadata (JSON)
//! c<n>:<id>    the nth chunk
//! ```
//!
//! An append on the fast path is one script. Every other call is decided by the methods of
//! [`StoredStream`] and applied by one script if the stream has not changed since.

use bytes::Bytes;
use context_core::base::StreamId;
use context_core::store::{StoredStream, StreamState};
use context_core::{ChatRef, Error};
use redis::{Value, cmd};

use crate::chat::snapshot::chat_not_found;
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::scripts::STREAM_APPLY;
use crate::scripts::reply::Reply;
use crate::values;

/// A stream as it was at one moment, in its stored and its parsed form.
pub(crate) struct StreamSnapshot {
    counts: Bytes,
    about: Bytes,
    pub(crate) stream: StoredStream,
}

impl StreamSnapshot {
    pub(crate) fn of(id: &StreamId, counts: Bytes, about: Bytes) -> Result<Self> {
        let stream = stream_of(&counts, &about)?;
        if stream.id != *id {
            return Err(broken());
        }
        Ok(Self { counts, about, stream })
    }
}

/// A change of one stream.
pub(crate) struct StreamChange<'a> {
    id: &'a StreamId,
    /// Fields that must still have these values, or must not exist.
    held: Vec<(String, Option<Bytes>)>,
    /// The number of chunks to remove.
    pub(crate) chunks: u64,
    pub(crate) removed: Vec<String>,
    set: Vec<(String, Bytes)>,
}

impl<'a> StreamChange<'a> {
    /// Returns a change based on a stream that was read, or on its absence.
    pub(crate) fn of(id: &'a StreamId, snapshot: Option<&StreamSnapshot>) -> Self {
        let counts = (counts_field(id), snapshot.map(|snapshot| snapshot.counts.clone()));
        let about = (about_field(id), snapshot.map(|snapshot| snapshot.about.clone()));
        Self { id, held: vec![counts, about], chunks: 0, removed: Vec::new(), set: Vec::new() }
    }

    pub(crate) fn to(mut self, stream: &StoredStream) -> Result<Self> {
        self.set.push((counts_field(self.id), counts_of(stream)));
        self.set.push((
            about_field(self.id),
            checksums::seal("u", serde_json::to_vec(stream).map_err(|_| broken())?).into(),
        ));
        Ok(self)
    }

    pub(crate) fn chunks(mut self, offset: u64, chunks: &[Bytes]) -> Self {
        let fields = (offset..).map(|n| chunk_field(n, self.id));
        self.set.extend(fields.zip(chunks).map(|(field, chunk)| {
            let sealed = checksums::seal(&field, chunk.to_vec());
            (field, sealed.into())
        }));
        self
    }

    pub(crate) fn list(mut self, before: &StreamList) -> Result<Self> {
        let mut ids = before.ids.clone();
        match ids.binary_search(self.id) {
            Ok(at) => drop(ids.remove(at)),
            Err(at) => ids.insert(at, self.id.clone()),
        }
        self.held.push((LIST.to_owned(), before.stored.clone()));
        if ids.is_empty() {
            self.removed.push(LIST.to_owned());
        } else {
            self.set.push((
                LIST.to_owned(),
                checksums::seal(LIST, serde_json::to_vec(&ids).map_err(|_| broken())?).into(),
            ));
        }
        Ok(self)
    }

    /// Applies the change. Returns false if another write was first.
    pub(crate) async fn apply(
        self,
        shared: &Shared,
        operation: &'static str,
        chat: &ChatRef,
    ) -> Result<bool> {
        let mut call = STREAM_APPLY.key(shared.keys.chat(chat));
        call.arg(shared.ttl).arg(self.id.as_str()).arg(self.chunks).arg(self.held.len());
        for (field, value) in &self.held {
            let value = value.as_ref().map(|value| [b"=", &value[..]].concat()).unwrap_or_default();
            call.arg(field).arg(value);
        }
        call.arg(self.removed.len()).arg(&self.removed);
        for (field, value) in &self.set {
            call.arg(field).arg(&value[..]);
        }
        match shared.connection.call::<u8>(&call).await? {
            0 => Err(chat_not_found(operation, chat)),
            1 => Ok(true),
            _ => Ok(false),
        }
    }
}

/// The list of a chat's streams.
pub(crate) struct StreamList {
    stored: Option<Bytes>,
    pub(crate) ids: Vec<StreamId>,
}

impl StreamList {
    pub(crate) fn of(stored: Option<Bytes>) -> Result<Self> {
        let Some(sealed) = &stored else { return Ok(Self { ids: Vec::new(), stored }) };
        let ids = serde_json::from_slice(checksums::opened(LIST, sealed)?).map_err(|_| broken())?;
        Ok(Self { ids, stored })
    }
}

pub(crate) const LIST: &str = "z";

pub(crate) fn counts_field(id: &StreamId) -> String {
    format!("t{id}")
}

pub(crate) fn about_field(id: &StreamId) -> String {
    format!("u{id}")
}

pub(crate) fn chunk_field(n: u64, id: &StreamId) -> String {
    format!("c{n}:{id}")
}

fn counts_of(stream: &StoredStream) -> Bytes {
    let field = counts_field(&stream.id);
    let writer = stream.writer.as_ref().filter(|_| stream.state == StreamState::Running);
    let writer = writer.map_or("", |writer| writer.as_str());
    let updated = values::time(stream.updated_at);
    checksums::summed(&field, &format!("{} {} {updated} {writer}", stream.chunks, stream.bytes))
        .into()
}

pub(crate) fn stream_of(counts: &[u8], about: &[u8]) -> Result<StoredStream> {
    let mut stream: StoredStream =
        serde_json::from_slice(checksums::opened("u", about)?).map_err(|_| broken())?;
    let ended = (stream.state != StreamState::Running).then_some((stream.chunks, stream.bytes));
    let mut parts = checksums::text_of(&counts_field(&stream.id), counts)?.splitn(4, ' ');
    let mut next = || parts.next().map(str::as_bytes).ok_or_else(broken);
    stream.chunks = values::read_number(next()?)?;
    stream.bytes = values::read_number(next()?)?;
    stream.updated_at = values::read_time(next()?)?;
    // Only the counts of a running stream are maintained by scripts alone.
    if ended.is_some_and(|ended| ended != (stream.chunks, stream.bytes)) {
        return Err(checksums::damaged());
    }
    Ok(stream)
}

fn broken() -> Fault {
    Fault::Corrupt("a stream cannot be read", None)
}

pub(crate) fn no_stream(operation: &'static str, id: &StreamId) -> Fault {
    Error::not_found(operation, "stream", id).into()
}

impl Shared {
    /// Returns some fields of a chat, or a not-found error.
    async fn fields<const N: usize>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        fields: [&str; N],
    ) -> Result<[Option<Bytes>; N]> {
        let get = cmd("HMGET").arg(self.keys.chat(chat)).arg("v").arg(&fields[..]).clone();
        let mut reply = Reply::of(self.connection.run::<Value>(&get).await?)?;
        if reply.maybe()?.is_none() {
            return Err(chat_not_found(operation, chat));
        }
        let mut values = [const { None }; N];
        for value in &mut values {
            *value = reply.maybe()?;
        }
        Ok(values)
    }

    pub(crate) async fn list_of_streams(
        &self,
        operation: &'static str,
        chat: &ChatRef,
    ) -> Result<StreamList> {
        let [list] = self.fields(operation, chat, [LIST]).await?;
        StreamList::of(list)
    }

    /// Returns a stream as it is, and the list of streams.
    pub(crate) async fn stream_snapshot(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<(Option<StreamSnapshot>, StreamList)> {
        let (counts, about) = (counts_field(id), about_field(id));
        let [counts, about, list] = self.fields(operation, chat, [&counts, &about, LIST]).await?;
        let snapshot = match (counts, about) {
            (Some(counts), Some(about)) => Some(StreamSnapshot::of(id, counts, about)?),
            (None, None) => None,
            _ => return Err(broken()),
        };
        Ok((snapshot, StreamList::of(list)?))
    }

    /// Reads a stream, lets `decide` change it and choose the answer, and writes it. Repeats all of
    /// this if another write was first.
    pub(crate) async fn change_stream<T>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        id: &StreamId,
        decide: impl Fn(&mut StoredStream) -> (bool, T),
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let (snapshot, _) = self.stream_snapshot(operation, chat, id).await?;
            let snapshot = snapshot.ok_or_else(|| no_stream(operation, id))?;
            let mut stream = snapshot.stream.clone();
            let (changed, answer) = decide(&mut stream);
            let begun_anew = stream.run != snapshot.stream.run;
            let mut change = StreamChange::of(id, Some(&snapshot));
            change.chunks = if begun_anew { snapshot.stream.chunks } else { 0 };
            if !changed || change.to(&stream)?.apply(self, operation, chat).await? {
                return Ok(answer);
            }
        }
        Err(Fault::Contended)
    }
}

/// Parses a list of streams.
pub(crate) fn listed(list: Option<&[u8]>) -> Result<Vec<StreamId>> {
    Ok(StreamList::of(list.map(Bytes::copy_from_slice))?.ids)
}

/// Removes the fields of a stream from those of its chat, and returns the problem with the stream,
/// if there is one.
pub(crate) fn check(
    id: &StreamId,
    mut take: impl FnMut(&str) -> Option<Bytes>,
) -> Result<Option<String>> {
    let (Some(counts), Some(about)) = (take(&counts_field(id)), take(&about_field(id))) else {
        return Ok(Some(
            "the stream is in the list of streams, but its fields are missing".to_owned(),
        ));
    };
    let stream = StreamSnapshot::of(id, counts, about)?.stream;
    let (mut chunks, mut bytes) = (0, 0);
    while let Some(sealed) = take(&chunk_field(chunks, id)) {
        let chunk = checksums::open(&chunk_field(chunks, id), &sealed)?;
        chunks += 1;
        bytes += chunk.len() as u64;
    }
    Ok(stream.fault(chunks, bytes))
}
