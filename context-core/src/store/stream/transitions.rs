//! The state transitions of a stream, independent of a backend. Every store changes streams with
//! these functions, or in the same way.

use super::{StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamState};
use crate::base::{StreamId, limits, sealed};
use crate::{Error, Result, Timestamp};

/// The position of an append relative to the stored chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendPosition {
    /// At the end of the stream.
    Next,
    /// Within the stored chunks. If the chunks are equal, the append is a repetition; otherwise it
    /// is refused.
    Stored,
    /// Neither: the append is refused.
    Refused,
}

impl StoredStream {
    /// Creates a queued stream.
    pub fn new(id: impl Into<StreamId>, at: Timestamp) -> Self {
        Self {
            id: id.into(),
            state: StreamState::Queued,
            run: 0,
            writer: None,
            chunks: 0,
            bytes: 0,
            error: None,
            created_at: at,
            started_at: None,
            cancel_requested_at: None,
            finished_at: None,
            updated_at: at,
        }
    }

    /// Returns whether a claim repeats one that won.
    pub fn is_claimed_by(&self, claim: &StreamClaim) -> bool {
        self.state == StreamState::Running && self.writer.as_ref() == Some(&claim.writer)
    }

    /// Claims the stream. Returns false and changes nothing if the stream has an active writer or
    /// has ended.
    #[must_use]
    pub fn claim(&mut self, claim: &StreamClaim) -> bool {
        let free = match self.state {
            StreamState::Queued => true,
            StreamState::Running => claim.idle_since.is_some_and(|since| self.updated_at <= since),
            _ => false,
        };
        if free {
            self.state = StreamState::Running;
            self.writer = Some(claim.writer.clone());
            self.started_at.get_or_insert(claim.at);
            self.touch(claim.at);
        }
        free
    }

    /// Returns the position of an append.
    pub fn place(&self, append: &StreamAppend) -> AppendPosition {
        if self.writer.as_ref() != Some(&append.writer) {
            return AppendPosition::Refused;
        }
        if self.state == StreamState::Running && append.offset == self.chunks {
            return AppendPosition::Next;
        }
        let end = append.offset.saturating_add(append.chunks.len() as u64);
        let ended_so = match &append.end {
            None => end <= self.chunks,
            Some(StreamEnd::Failed(error)) if self.error.as_ref() != Some(error) => false,
            Some(how) => end == self.chunks && self.state == how.state(),
        };
        if ended_so { AppendPosition::Stored } else { AppendPosition::Refused }
    }

    /// Appends chunks whose position is [`Next`](AppendPosition::Next). Refuses the append and
    /// changes nothing if the stream would exceed its limits.
    pub fn append(&mut self, append: &StreamAppend) -> Result<()> {
        let (chunks, bytes) = (append.chunks.len() as u64, append.bytes());
        let is_sealed = append.chunks.iter().all(|chunk| sealed::is_sealed(chunk));
        let marks =
            if is_sealed { (self.chunks + chunks) * sealed::RECORD_BYTES as u64 } else { 0 };
        for (quantity, have, more, limit, room) in [
            ("chunks of a stream", self.chunks, chunks, limits::MAX_STREAM_CHUNKS, 0),
            ("bytes of a stream", self.bytes, bytes, limits::MAX_STREAM_BYTES, marks),
        ] {
            if have + more > limit + room {
                return Err(Error::invalid("append_stream", "too long")
                    .with("what", quantity)
                    .with("stream", &self.id)
                    .with("limit", limit));
            }
        }
        self.chunks += chunks;
        self.bytes += bytes;
        if let Some(end) = &append.end {
            self.state = end.state();
            self.finished_at = Some(append.at);
            if let StreamEnd::Failed(error) = end {
                self.error = Some(error.clone());
            }
        }
        self.touch(append.at);
        Ok(())
    }

    /// Requests cancellation. Returns false if that changes nothing.
    pub fn request_cancel(&mut self, at: Timestamp) -> bool {
        if self.state.is_final() || self.cancel_requested_at.is_some() {
            return false;
        }
        self.cancel_requested_at = Some(at);
        if self.state == StreamState::Queued {
            self.state = StreamState::Cancelled;
            self.finished_at = Some(at);
            self.touch(at);
        }
        true
    }

    /// Returns whether a reopening repeats one that was done.
    pub fn is_reopened_from(&self, run: u32) -> bool {
        self.run == run.saturating_add(1) && self.state == StreamState::Queued
    }

    /// Restarts the stream without chunks. Returns false and changes nothing if the stream has not
    /// ended or is in another run.
    #[must_use]
    pub fn reopen(&mut self, run: u32, at: Timestamp) -> bool {
        if !self.state.is_final() || self.run != run {
            return false;
        }
        let mut fresh = Self::new(&self.id, self.created_at);
        (fresh.run, fresh.updated_at) = (run.saturating_add(1), self.updated_at);
        fresh.touch(at);
        *self = fresh;
        true
    }

    /// Describes the inconsistency between the stream and its stored chunks (their number and total
    /// size in bytes), if there is one.
    pub fn fault(&self, chunks: u64, bytes: u64) -> Option<String> {
        if (chunks, bytes) != (self.chunks, self.bytes) {
            return Some(format!(
                "states {} chunks of {} bytes, but has {chunks} of {bytes}",
                self.chunks, self.bytes
            ));
        }
        let ended = self.finished_at.is_some();
        (ended != self.state.is_final()).then(|| {
            format!(
                "is {}, but {} the time of its end",
                self.state.as_str(),
                if ended { "has" } else { "lacks" }
            )
        })
    }

    /// Records a sign of life of the writer. A cancel request of a running stream is not one and
    /// does not call this.
    fn touch(&mut self, at: Timestamp) {
        self.updated_at = self.updated_at.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StreamWriter;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn claim(writer: &str, now: i64) -> StreamClaim {
        StreamClaim::new(writer, at(now))
    }

    fn append(writer: &str, offset: u64, chunks: &[&'static str]) -> StreamAppend {
        StreamAppend::new(writer, offset, chunks.iter().map(|chunk| chunk.as_bytes()), at(9))
    }

    fn running() -> StoredStream {
        let mut stream = StoredStream::new("s", at(1));
        assert!(stream.claim(&claim("w", 2)));
        stream.append(&append("w", 0, &["a", "bc"])).unwrap();
        stream
    }

    #[test]
    fn one_writer_wins_until_it_is_no_longer_heard_of() {
        let mut stream = running();
        assert!(!stream.claim(&claim("v", 10)) && stream.is_claimed_by(&claim("w", 10)));
        assert!(!stream.claim(&claim("v", 10).take_over(at(8))));
        assert!(stream.claim(&claim("v", 10).take_over(at(9))));
        assert_eq!(stream.writer, Some(StreamWriter::from("v")));
        assert_eq!(stream.place(&append("w", 2, &["d"])), AppendPosition::Refused);
        assert_eq!((stream.started_at, stream.chunks, stream.bytes), (Some(at(2)), 2, 3));
    }

    #[test]
    fn chunks_have_no_gaps_and_repetitions_are_known() {
        let mut stream = running();
        assert_eq!(stream.place(&append("w", 2, &["d"])), AppendPosition::Next);
        assert_eq!(stream.place(&append("w", 1, &["bc"])), AppendPosition::Stored);
        assert_eq!(stream.place(&append("w", 1, &["bc", "d"])), AppendPosition::Refused);
        assert_eq!(stream.place(&append("w", 3, &["d"])), AppendPosition::Refused);
        let last = append("w", 2, &["d"]).end(StreamEnd::Failed("boom".into()));
        stream.append(&last).unwrap();
        assert_eq!(stream.place(&last), AppendPosition::Stored);
        assert_eq!(
            stream.place(&append("w", 2, &["d"]).end(StreamEnd::Completed)),
            AppendPosition::Refused
        );
        assert_eq!(stream.place(&append("w", 3, &["e"])), AppendPosition::Refused);
        assert_eq!((stream.state, stream.error.as_deref()), (StreamState::Failed, Some("boom")));
        assert_eq!(stream.fault(3, 4), None);
        assert!(stream.fault(2, 4).is_some());
    }

    #[test]
    fn cancelling_asks_whoever_writes() {
        let mut waiting = StoredStream::new("s", at(1));
        assert!(waiting.request_cancel(at(3)) && !waiting.request_cancel(at(4)));
        assert_eq!((waiting.state, waiting.finished_at), (StreamState::Cancelled, Some(at(3))));
        let mut stream = running();
        assert!(stream.request_cancel(at(20)));
        assert_eq!((stream.state, stream.updated_at), (StreamState::Running, at(9)));
        stream.append(&append("w", 2, &[]).end(StreamEnd::Cancelled)).unwrap();
        assert_eq!(stream.state, StreamState::Cancelled);
    }

    #[test]
    fn a_stream_that_ended_begins_anew_once() {
        let mut stream = running();
        assert!(!stream.reopen(0, at(30)));
        stream.append(&append("w", 2, &[]).end(StreamEnd::Completed)).unwrap();
        assert!(!stream.reopen(1, at(30)) && stream.reopen(0, at(30)));
        assert!(stream.is_reopened_from(0) && !stream.reopen(0, at(31)));
        assert_eq!(
            (stream.run, stream.chunks, stream.writer, stream.created_at),
            (1, 0, None, at(1))
        );
    }
}
