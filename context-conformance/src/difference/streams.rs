//! Stream moves, played to all stores.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::base::StreamId;
use context_core::store::{StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamPrune};
use context_core::{ChatRef, Timestamp};

use super::moves::StreamMove;
use super::store_set::{CallResult, StoreSet};
use super::timestamp::earlier;
use crate::blob_fixture::noise;
use crate::chat_fixture::ChatFixture;
use crate::verdict::Check;

/// The state that later moves need.
#[derive(Default)]
pub(super) struct Streams {
    /// The last append to each stream, to be repeated.
    last: HashMap<(ChatRef, usize), StreamAppend>,
}

impl Streams {
    pub(super) async fn play(
        &mut self,
        stores: &StoreSet,
        chat: &ChatRef,
        did: &str,
        stream: usize,
        action: &StreamMove,
        now: Timestamp,
    ) -> Check {
        let id = StreamId::from(format!("s{stream}"));
        let seen = look(stores, chat, &format!("a stream before {did}"), &id).await?;
        let append = self.append(chat, stream, action, seen.as_ref(), now);
        let seen = (seen.as_ref().map_or(0, |stream| stream.run), append);
        let doing = async |fixture: ChatFixture| done(&fixture, &id, action, &seen, now).await;
        stores.compare(chat.user.as_str(), chat.chat.as_str(), did, doing).await?;
        let all = async |fixture: ChatFixture| {
            let Some(streams) = fixture.store.streams() else { return Ok(CallResult::Unable) };
            let (mut pages, mut after) = (Vec::new(), None);
            loop {
                let page = streams.streams(&fixture.chat, 2, after.as_ref()).await?;
                pages.push(page.items);
                after = page.next;
                if after.is_none() || pages.len() > 3 {
                    return Ok(CallResult::Answer(pages));
                }
            }
        };
        let did = format!("the streams after {did}");
        stores.compare(chat.user.as_str(), chat.chat.as_str(), &did, all).await.map(drop)
    }

    /// Returns the append of a move, if the move appends.
    fn append(
        &mut self,
        chat: &ChatRef,
        stream: usize,
        action: &StreamMove,
        seen: Option<&StoredStream>,
        now: Timestamp,
    ) -> Option<StreamAppend> {
        let key = (chat.clone(), stream);
        if matches!(action, StreamMove::Repeat) {
            return self.last.get(&key).cloned();
        }
        let StreamMove::Append { writer, back, chunks, size, end } = *action else { return None };
        let there = seen.map_or(0, |stream| stream.chunks);
        let offset = if back == 3 { there + 1 } else { there.saturating_sub(back as u64) };
        let chunks: Vec<Bytes> = (0..chunks).map(|i| noise(size * (i + 1), i as u8)).collect();
        let append = StreamAppend::new(format!("w{writer}"), offset, chunks, now);
        let append = match end {
            0 => append.end(StreamEnd::Completed),
            1 => append.end(StreamEnd::Failed(format!("failed at {offset}"))),
            2 => append.end(StreamEnd::Cancelled),
            _ => append,
        };
        self.last.insert(key, append.clone());
        Some(append)
    }
}

async fn look(
    stores: &StoreSet,
    chat: &ChatRef,
    did: &str,
    id: &StreamId,
) -> Check<Option<StoredStream>> {
    let stream = async |fixture: ChatFixture| {
        let Some(streams) = fixture.store.streams() else { return Ok(CallResult::Unable) };
        Ok(streams.stream(&fixture.chat, id).await.into())
    };
    Ok(stores.compare(chat.user.as_str(), chat.chat.as_str(), did, stream).await?.flatten())
}

/// Returns the result of a move as text, since the results have several types.
async fn done(
    fixture: &ChatFixture,
    id: &StreamId,
    action: &StreamMove,
    (run, append): &(u32, Option<StreamAppend>),
    now: Timestamp,
) -> Check<CallResult<String>> {
    let Some(streams) = fixture.store.streams() else { return Ok(CallResult::Unable) };
    let chat = &fixture.chat;
    let result = match *action {
        StreamMove::Create => text(streams.create_stream(chat, id, now).await),
        StreamMove::Claim { writer, idle } => {
            let claim = StreamClaim::new(format!("w{writer}"), now);
            let claim = idle.map_or(claim.clone(), |back| claim.take_over(earlier(now, back)));
            text(streams.claim_stream(chat, id, &claim).await)
        }
        StreamMove::Append { .. } | StreamMove::Repeat => match append {
            Some(append) => text(streams.append_stream(chat, id, append.clone()).await),
            None => return Ok(CallResult::Unable),
        },
        StreamMove::Cancel => text(streams.cancel_stream(chat, id, now).await),
        StreamMove::Reopen { stale } => {
            text(streams.reopen_stream(chat, id, run + u32::from(stale), now).await)
        }
        StreamMove::Read { from, limit } => {
            text(streams.read_stream(chat, id, from as u64, limit).await)
        }
        StreamMove::Remove => text(streams.remove_stream(chat, id).await),
        StreamMove::Prune { back, of_chat, abandoned } => {
            let until = earlier(now, back);
            let prune = StreamPrune::new(&chat.user, until);
            let prune = if of_chat { prune.of_chat(&chat.chat) } else { prune };
            let prune = if abandoned { prune.abandoned(until) } else { prune };
            text(streams.prune_streams(&prune).await)
        }
    };
    Ok(result.into())
}

fn text(result: context_core::Result<impl std::fmt::Debug>) -> context_core::Result<String> {
    result.map(|answer| format!("{answer:?}"))
}
