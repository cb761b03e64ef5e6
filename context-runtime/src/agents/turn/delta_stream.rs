//! The stream of a turn: the additions to its answers, for readers in other processes.

use context_core::base::StreamId;
use context_core::model::AnswerDelta;
use context_core::store::StreamEnd;
use context_core::{Json, MessageId};

use crate::streams::{AnswerWriter, Demand, StreamError, Streams, WriteOptions};

/// Writes deltas, as JSON, from the first one on. A stream that cannot be written is given up: the
/// answer does not depend on it.
pub(super) struct DeltaStream {
    streams: Streams,
    id: StreamId,
    writer: Option<AnswerWriter>,
    is_lost: bool,
}

impl DeltaStream {
    pub(super) fn new(streams: Streams, turn: &MessageId) -> Self {
        Self { streams, id: turn.as_str().into(), writer: None, is_lost: false }
    }

    /// Writes a delta. Returns whether a reader has asked to cancel.
    pub(super) async fn push(&mut self, delta: &AnswerDelta) -> bool {
        let Ok(json) = Json::from_serialize(delta) else { return false };
        let pushed = self.try_push(&json).await;
        self.settle(pushed) == Some(Demand::Stop)
    }

    /// Ends the stream, if anything was written to it.
    pub(super) async fn end(&mut self, end: StreamEnd) {
        if let Some(mut writer) = self.writer.take() {
            let ended = writer.end(end).await;
            self.settle(ended);
        }
    }

    async fn try_push(&mut self, json: &Json) -> Result<Demand, StreamError> {
        if self.is_lost {
            return Ok(Demand::More);
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let writer = self.streams.write(self.id.clone(), WriteOptions::default()).await?;
                self.writer.insert(writer)
            }
        };
        writer.push(json.as_str().to_owned()).await
    }

    fn settle<T>(&mut self, result: Result<T, StreamError>) -> Option<T> {
        result
            .map_err(|error| {
                tracing::debug!(stream = %self.id, %error, "the stream of a turn is not written");
                (self.writer, self.is_lost) = (None, true);
            })
            .ok()
    }
}
