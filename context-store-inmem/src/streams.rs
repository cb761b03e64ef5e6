//! In-memory streams: the metadata and the chunks of each stream.
//!
//! The caller has checked that the chat exists.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use bytes::Bytes;
use context_core::base::StreamId;
use context_core::base::limits::MAX_STREAM_PAGE_BYTES;
use context_core::store::{
    AppendPosition, Cursor, Finding, Page, StoredStream, StreamAppend, StreamClaim, StreamOutcome,
    StreamPart, StreamPrune, StreamsPruned,
};
use context_core::{ChatId, ChatRef, Error, Result, Timestamp, UserId};

#[derive(Debug, Default)]
pub(crate) struct Streams(BTreeMap<UserId, BTreeMap<ChatId, ChatStreams>>);

type ChatStreams = BTreeMap<StreamId, StreamEntry>;

#[derive(Debug)]
struct StreamEntry {
    stream: StoredStream,
    chunks: Vec<Bytes>,
}

impl Streams {
    pub(crate) fn create(&mut self, chat: &ChatRef, id: &StreamId, at: Timestamp) -> StreamOutcome {
        let of_user = self.0.entry(chat.user.clone()).or_default();
        match of_user.entry(chat.chat.clone()).or_default().entry(id.clone()) {
            Entry::Occupied(entry) => StreamOutcome::Replayed(entry.get().stream.clone()),
            Entry::Vacant(entry) => {
                let stream = StoredStream::new(id, at);
                entry.insert(StreamEntry { stream: stream.clone(), chunks: Vec::new() });
                StreamOutcome::Applied(stream)
            }
        }
    }

    pub(crate) fn claim(
        &mut self,
        chat: &ChatRef,
        id: &StreamId,
        claim: &StreamClaim,
    ) -> Result<StreamOutcome> {
        let stream = &mut self.entry_mut("claim_stream", chat, id)?.stream;
        if stream.is_claimed_by(claim) {
            return Ok(StreamOutcome::Replayed(stream.clone()));
        }
        Ok(outcome(stream.claim(claim), stream))
    }

    pub(crate) fn append(
        &mut self,
        chat: &ChatRef,
        id: &StreamId,
        append: StreamAppend,
    ) -> Result<StreamOutcome> {
        let StreamEntry { stream, chunks } = self.entry_mut("append_stream", chat, id)?;
        Ok(match stream.place(&append) {
            AppendPosition::Next => {
                stream.append(&append)?;
                chunks.extend(append.chunks);
                StreamOutcome::Applied(stream.clone())
            }
            AppendPosition::Stored
                if chunks_from(chunks, append.offset).starts_with(&append.chunks) =>
            {
                StreamOutcome::Replayed(stream.clone())
            }
            AppendPosition::Stored | AppendPosition::Refused => {
                StreamOutcome::Refused(stream.clone())
            }
        })
    }

    pub(crate) fn cancel(
        &mut self,
        chat: &ChatRef,
        id: &StreamId,
        at: Timestamp,
    ) -> Result<StoredStream> {
        let stream = &mut self.entry_mut("cancel_stream", chat, id)?.stream;
        stream.request_cancel(at);
        Ok(stream.clone())
    }

    pub(crate) fn reopen(
        &mut self,
        chat: &ChatRef,
        id: &StreamId,
        run: u32,
        at: Timestamp,
    ) -> Result<StreamOutcome> {
        let StreamEntry { stream, chunks } = self.entry_mut("reopen_stream", chat, id)?;
        if stream.is_reopened_from(run) {
            return Ok(StreamOutcome::Replayed(stream.clone()));
        }
        let reopened = stream.reopen(run, at);
        if reopened {
            *chunks = Vec::new();
        }
        Ok(outcome(reopened, stream))
    }

    pub(crate) fn get(&self, chat: &ChatRef, id: &StreamId) -> Option<StoredStream> {
        Some(self.of_chat(chat)?.get(id)?.stream.clone())
    }

    /// Returns some of the chunks. The buffers are shared, not copied.
    pub(crate) fn read(
        &self,
        chat: &ChatRef,
        id: &StreamId,
        offset: u64,
        limit: usize,
    ) -> Option<StreamPart> {
        let StreamEntry { stream, chunks } = self.of_chat(chat)?.get(id)?;
        let mut bytes = 0;
        let mut part = Vec::new();
        for chunk in chunks_from(chunks, offset).iter().take(limit) {
            bytes += chunk.len();
            if bytes > MAX_STREAM_PAGE_BYTES && !part.is_empty() {
                break;
            }
            part.push(chunk.clone());
        }
        Some(StreamPart::new(stream.clone(), offset, part))
    }

    /// Returns one page of the streams of a chat.
    pub(crate) fn list(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Page<StoredStream> {
        let after = after.map(|cursor| StreamId::from(cursor.as_str()));
        let behind = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let known = self.of_chat(chat).map(|streams| streams.range(behind)).into_iter().flatten();
        let mut items: Vec<_> =
            known.take(limit + 1).map(|(_, entry)| entry.stream.clone()).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor::new(last.id.as_str()));
        Page { items, next }
    }

    pub(crate) fn remove(&mut self, chat: &ChatRef, id: &StreamId) -> bool {
        self.drop_where(&chat.user, Some(&chat.chat), |stream| stream.id == *id).streams > 0
    }

    /// Removes the streams that the prune options select.
    pub(crate) fn prune(&mut self, prune: &StreamPrune) -> StreamsPruned {
        self.drop_where(&prune.user, prune.chat.as_ref(), |stream| prune.takes(stream))
    }

    /// Removes all streams of a chat.
    pub(crate) fn forget_chat(&mut self, chat: &ChatRef) {
        self.drop_where(&chat.user, Some(&chat.chat), |_| true);
    }

    /// Returns the number of streams of a user.
    pub(crate) fn count(&self, user: &UserId) -> u64 {
        self.0.get(user).map_or(0, |chats| chats.values().map(|streams| streams.len() as u64).sum())
    }

    /// Returns the number of all streams and the findings about them.
    pub(crate) fn check(&self) -> (u64, Vec<Finding>) {
        let (mut count, mut findings) = (0, Vec::new());
        for (user, chats) in &self.0 {
            for (chat, streams) in chats {
                count += streams.len() as u64;
                for (id, StreamEntry { stream, chunks }) in streams {
                    let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
                    if let Some(problem) = stream.fault(chunks.len() as u64, bytes) {
                        let chat = ChatRef::new(user.clone(), chat.clone());
                        findings.push(Finding::new(Some(&chat), format!("stream {id}"), problem));
                    }
                }
            }
        }
        (count, findings)
    }

    fn of_chat(&self, chat: &ChatRef) -> Option<&ChatStreams> {
        self.0.get(&chat.user)?.get(&chat.chat)
    }

    /// Returns a stream, or a not-found error.
    fn entry_mut(
        &mut self,
        operation: &'static str,
        chat: &ChatRef,
        id: &StreamId,
    ) -> Result<&mut StreamEntry> {
        let streams = self.0.get_mut(&chat.user).and_then(|chats| chats.get_mut(&chat.chat));
        let entry = streams.and_then(|streams| streams.get_mut(id));
        entry.ok_or_else(|| Error::not_found(operation, "stream", id))
    }

    /// Removes the streams of a user, or of one chat, that the predicate selects.
    fn drop_where(
        &mut self,
        user: &UserId,
        chat: Option<&ChatId>,
        picked: impl Fn(&StoredStream) -> bool,
    ) -> StreamsPruned {
        let mut pruned = StreamsPruned::default();
        let Some(chats) = self.0.get_mut(user) else { return pruned };
        let mut drop_in = |streams: &mut ChatStreams| {
            streams.retain(|_, entry| {
                let removed = picked(&entry.stream);
                if removed {
                    pruned.count(&entry.stream);
                }
                !removed
            });
            !streams.is_empty()
        };
        match chat {
            None => chats.retain(|_, streams| drop_in(streams)),
            Some(chat) => {
                if chats.get_mut(chat).is_some_and(|streams| !drop_in(streams)) {
                    chats.remove(chat);
                }
            }
        }
        if chats.is_empty() {
            self.0.remove(user);
        }
        pruned
    }
}

fn outcome(done: bool, stream: &StoredStream) -> StreamOutcome {
    if done {
        StreamOutcome::Applied(stream.clone())
    } else {
        StreamOutcome::Refused(stream.clone())
    }
}

/// Returns the chunks from an offset on.
fn chunks_from(chunks: &[Bytes], offset: u64) -> &[Bytes] {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    &chunks[offset.min(chunks.len())..]
}
