//! Fixture for streams, so that a case is a few readable lines.

use bytes::Bytes;
use context_core::base::StreamId;
use context_core::store::{
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPart, StreamStore,
};

use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::verdict::{Check, Stop};

/// The number of pages after which a listing is considered endless.
const MOST_PAGES: usize = 10_000;

impl ChatFixture {
    pub(crate) fn streams(&self) -> Check<&dyn StreamStore> {
        self.store.streams().ok_or_else(|| Stop::Skip("no streams".to_owned()))
    }

    /// Creates a queued stream.
    pub(crate) async fn queue(&self, id: &str) -> Check<StoredStream> {
        let created = self.streams()?.create_stream(&self.chat, &id.into(), self.at()).await?;
        written(format!("creating {id}"), created)
    }

    /// Creates a stream and claims it for this writer.
    pub(crate) async fn begin(&self, id: &str, writer: &str) -> Check<StoredStream> {
        self.queue(id).await?;
        written(format!("claiming {id} for {writer}"), self.claim(id, writer).await?)
    }

    pub(crate) async fn claim(&self, id: &str, writer: &str) -> Check<StreamOutcome> {
        let claim = StreamClaim::new(writer, self.at());
        Ok(self.streams()?.claim_stream(&self.chat, &id.into(), &claim).await?)
    }

    /// Builds an append of these chunks.
    pub(crate) fn chunks(
        &self,
        writer: &str,
        offset: u64,
        chunks: &[&'static str],
    ) -> StreamAppend {
        StreamAppend::new(writer, offset, chunks.iter().map(|chunk| chunk.as_bytes()), self.at())
    }

    pub(crate) async fn append(&self, id: &str, append: StreamAppend) -> Check<StreamOutcome> {
        Ok(self.streams()?.append_stream(&self.chat, &id.into(), append).await?)
    }

    /// Appends chunks, and expects them to be written.
    pub(crate) async fn add(
        &self,
        id: &str,
        writer: &str,
        offset: u64,
        chunks: &[&'static str],
    ) -> Check<StoredStream> {
        let outcome = self.append(id, self.chunks(writer, offset, chunks)).await?;
        written(format!("adding {chunks:?} at {offset} to {id}"), outcome)
    }

    /// Ends a stream at `offset`, and expects the end to be written.
    pub(crate) async fn finish(
        &self,
        id: &str,
        writer: &str,
        offset: u64,
        end: StreamEnd,
    ) -> Check {
        let outcome = self.append(id, self.chunks(writer, offset, &[]).end(end)).await?;
        written(format!("ending {id} at {offset}"), outcome).map(drop)
    }

    /// Returns the state of a stream that must exist.
    pub(crate) async fn known(&self, id: &str) -> Check<StoredStream> {
        let known = self.streams()?.stream(&self.chat, &id.into()).await?;
        known.ok_or_else(|| Stop::Fail(format!("stream {id}: expected it to be there, saw none")))
    }

    pub(crate) async fn part(&self, id: &str, offset: u64, limit: usize) -> Check<StreamPart> {
        let part = self.streams()?.read_stream(&self.chat, &id.into(), offset, limit).await?;
        let part =
            part.ok_or_else(|| Stop::Fail(format!("reading {id}: expected a part, saw none")))?;
        same(format!("the offset of a part of {id}"), &part.offset, &offset)?;
        Ok(part)
    }

    /// Reads all chunks from an offset on, page by page.
    pub(crate) async fn read_on(&self, id: &str, offset: u64, limit: usize) -> Check<Vec<Bytes>> {
        let (mut all, mut next) = (Vec::new(), offset);
        for _ in 0..MOST_PAGES {
            let part = self.part(id, next, limit).await?;
            let few = part.chunks.len() <= limit
                && (!part.chunks.is_empty() || next >= part.stream.chunks);
            same(
                format!("whether a page of {limit} at {next} has some, and not too many"),
                &few,
                &true,
            )?;
            next = part.next();
            all.extend(part.chunks);
            if next >= part.stream.chunks {
                return Ok(all);
            }
        }
        fail(format!("reading {id}: more than {MOST_PAGES} pages"))
    }

    /// Expects the stream to have exactly these chunks.
    pub(crate) async fn expect_stream(
        &self,
        did: &str,
        id: &str,
        expected: &[&'static str],
    ) -> Check {
        let seen = self.read_on(id, 0, 1000).await?;
        let expected: Vec<_> =
            expected.iter().map(|chunk| Bytes::from_static(chunk.as_bytes())).collect();
        same(format!("the chunks of {id} after {did}"), &seen, &expected)?;
        let known = self.known(id).await?;
        let bytes = expected.iter().map(|chunk| chunk.len() as u64).sum();
        let counts = (known.chunks, known.bytes);
        same(
            format!("how many {id} says it has, after {did}"),
            &counts,
            &(expected.len() as u64, bytes),
        )
    }

    /// Returns all streams of the chat, page by page. Expects them to be in order.
    pub(crate) async fn all_streams(&self, limit: usize) -> Check<Vec<StoredStream>> {
        let mut all: Vec<StoredStream> = Vec::new();
        let mut after = None;
        for _ in 0..MOST_PAGES {
            let page = self.streams()?.streams(&self.chat, limit, after.as_ref()).await?;
            let full = page.items.len() == limit || page.next.is_none();
            same(format!("whether a page of {limit} that is not the last is full"), &full, &true)?;
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                let ordered = all.is_sorted_by(|a, b| a.id < b.id);
                same(
                    format!("whether the streams come in order, {limit} a page"),
                    &ordered,
                    &true,
                )?;
                return Ok(all);
            }
        }
        fail(format!("listing streams: more than {MOST_PAGES} pages"))
    }

    /// Expects the chat to have exactly these streams.
    pub(crate) async fn expect_streams(&self, did: &str, expected: &[&str]) -> Check {
        let seen: Vec<_> =
            self.all_streams(1000).await?.into_iter().map(|stream| stream.id).collect();
        let expected: Vec<StreamId> = expected.iter().map(|id| (*id).into()).collect();
        same(format!("the streams after {did}"), &seen, &expected)
    }
}

/// Returns the outcome of a change as a word.
pub(crate) fn said(outcome: &StreamOutcome) -> &'static str {
    match outcome {
        StreamOutcome::Applied(_) => "applied",
        StreamOutcome::Replayed(_) => "replayed",
        StreamOutcome::Refused(_) => "refused",
        _ => "something else",
    }
}

/// Expects a change to be applied, not replayed.
pub(crate) fn written(did: impl std::fmt::Display, outcome: StreamOutcome) -> Check<StoredStream> {
    same(&did, &said(&outcome), &"applied")?;
    Ok(outcome.stream().clone())
}

/// Expects a change to be recognized as a replay that leaves the stream unchanged.
pub(crate) fn replayed(did: &str, outcome: &StreamOutcome, stream: &StoredStream) -> Check {
    same(did, &(said(outcome), outcome.stream()), &("replayed", stream))
}

/// Expects a change to be refused and the stream to be unchanged.
pub(crate) fn turned_down(did: &str, outcome: &StreamOutcome, stream: &StoredStream) -> Check {
    same(did, &(said(outcome), outcome.stream()), &("refused", stream))
}
