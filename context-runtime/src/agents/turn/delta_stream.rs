//! The stream of a turn: the additions to its answers, for readers in other processes.

use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity, StreamId};
use context_core::model::AnswerDelta;
use context_core::store::{StreamEnd, StreamState};
use context_core::{Diagnostic, ErrorKind, Json, MessageId};

use crate::streams::{AnswerWriter, Demand, StreamError, Streams, WriteOptions};

/// Writes deltas, as JSON, from the first one on. The answer does not depend on its stream: one
/// that cannot be written is given up, and reported.
pub(super) struct DeltaStream {
    streams: Streams,
    id: StreamId,
    is_continued: bool,
    writer: Option<AnswerWriter>,
    /// Why the stream is not written. An empty one if the store keeps no streams.
    lost: Option<Option<Diagnostic>>,
}

impl DeltaStream {
    /// Creates the stream of a turn. That of a continued turn begins anew: what the interrupted one
    /// wrote may be of an answer that nobody stored.
    pub(super) fn new(streams: Streams, turn: &MessageId, is_continued: bool) -> Self {
        Self { streams, id: turn.as_str().into(), is_continued, writer: None, lost: None }
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

    /// Returns why the stream was given up.
    pub(super) fn diagnostic(&self) -> Option<&Diagnostic> {
        self.lost.as_ref()?.as_ref()
    }

    async fn try_push(&mut self, json: &Json) -> Result<Demand, StreamError> {
        if self.lost.is_some() {
            return Ok(Demand::More);
        }
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open().await?,
        };
        self.writer.insert(writer).push(json.as_str().to_owned()).await
    }

    async fn open(&self) -> Result<AnswerWriter, StreamError> {
        let (streams, id, options) = (&self.streams, || self.id.clone(), WriteOptions::default());
        let earlier = match self.is_continued {
            true => streams.get(id()).await?,
            false => None,
        };
        if let Some(earlier) = earlier.filter(|earlier| earlier.state != StreamState::Queued) {
            if earlier.state == StreamState::Running {
                let at_once = options.clone().take_over(Duration::ZERO);
                streams.write(id(), at_once).await?.end(StreamEnd::Cancelled).await?;
            }
            streams.reopen(id(), earlier.run).await?;
        }
        streams.write(id(), options).await
    }

    fn settle<T>(&mut self, result: Result<T, StreamError>) -> Option<T> {
        result.map_err(|error| self.give_up(&error)).ok()
    }

    fn give_up(&mut self, error: &StreamError) {
        self.writer = None;
        let unsupported = matches!(
            error, StreamError::Store(error) if error.kind() == ErrorKind::Unsupported
        );
        let diagnostic = || {
            tracing::warn!(stream = %self.id, %error, "the stream of a turn is not written");
            let text = format!("readers of the turn's stream do not get the whole answer: {error}");
            let place = self.id.as_str();
            Diagnostic::new(DiagnosticCode::StreamNotWritten, Severity::Warning, place, text)
        };
        self.lost = Some((!unsupported).then(diagnostic));
    }
}
