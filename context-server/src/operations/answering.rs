//! The answer that a model is writing while somebody looks.

use context_runtime::model::AnswerDelta;
use context_runtime::store::{StoredStream, StreamState, StreamStore};
use context_runtime::{ChatRef, MessageId, StreamId, limits};
use serde::Serialize;

use super::{BranchView, Operations};
use crate::OperationError;

/// The progress of an answer that is being written. Two equal ones have the same content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AnswerProgress {
    /// The request that is answered.
    pub turn: MessageId,
    /// The number of times that the stream of the turn was begun anew.
    pub run: u32,
    /// The number of its chunks.
    pub chunks: u64,
}

/// A piece of an answer in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PieceInFlight {
    /// Text.
    Text(String),
    /// A thought.
    Thought(String),
    /// A call whose input may not have ended.
    Call {
        /// The name of the tool.
        tool: String,
        /// The input so far, as the model wrote it.
        input: String,
    },
}

impl Operations {
    /// Returns the answer that a model is writing to the newest request of a branch, without what
    /// is already stored of it. Empty if none is being written, or if the store has no streams.
    pub async fn answering(
        &self,
        chat: &str,
        branch: Option<&str>,
    ) -> Result<Vec<PieceInFlight>, OperationError> {
        let view = self.branch(chat, branch).await?;
        let chat = self.chat_ref(chat);
        let Some(request) = newest_request(&view) else { return Ok(Vec::new()) };
        let Some((streams, stream)) = self.running(&chat, &request).await? else {
            return Ok(Vec::new());
        };
        Ok(pieces(&deltas(streams, &chat, &stream).await?, stored_calls(&view)))
    }

    /// Returns the newest request of a branch. `None` if it has none, or if the store has no
    /// streams, so that no answer can be followed.
    pub async fn followed_request(
        &self,
        chat: &str,
        branch: Option<&str>,
    ) -> Result<Option<MessageId>, OperationError> {
        if self.store().streams().is_none() {
            return Ok(None);
        }
        Ok(newest_request(&*self.branch(chat, branch).await?))
    }

    /// Returns the progress of the answer to a request, if one is being written. One small read.
    pub async fn answer_progress(
        &self,
        chat: &str,
        request: &MessageId,
    ) -> Result<Option<AnswerProgress>, OperationError> {
        let running = self.running(&self.chat_ref(chat), request).await?;
        Ok(running.map(|(_, stream)| AnswerProgress {
            turn: request.clone(),
            run: stream.run,
            chunks: stream.chunks,
        }))
    }

    /// The stream of a turn has the id of its request.
    async fn running(
        &self,
        chat: &ChatRef,
        request: &MessageId,
    ) -> Result<Option<(&dyn StreamStore, StoredStream)>, OperationError> {
        let Some(streams) = self.store().streams() else { return Ok(None) };
        let stream = streams.stream(chat, &StreamId::from(request.as_str())).await?;
        let running = stream.filter(|stream| stream.state == StreamState::Running);
        Ok(running.map(|stream| (streams, stream)))
    }
}

fn newest_request(view: &BranchView) -> Option<MessageId> {
    let row = view.row(view.row_of_turn(view.turns())?)?;
    Some(row.node.id.clone())
}

async fn deltas(
    streams: &dyn StreamStore,
    chat: &ChatRef,
    stream: &StoredStream,
) -> Result<Vec<AnswerDelta>, OperationError> {
    let (mut offset, mut deltas) = (0, Vec::new());
    while offset < stream.chunks {
        let part = streams.read_stream(chat, &stream.id, offset, limits::MAX_PAGE).await?;
        // A stream that began anew has nothing to do with what was read.
        let part = part.filter(|part| part.stream.run == stream.run && !part.chunks.is_empty());
        let Some(part) = part else { break };
        // A program may write chunks of its own meaning into the stream of a turn.
        deltas.extend(part.chunks.iter().filter_map(|chunk| serde_json::from_slice(chunk).ok()));
        offset = part.next();
    }
    Ok(deltas)
}

/// Returns the number of calls that are stored since the newest request.
fn stored_calls(view: &BranchView) -> usize {
    let first = view.row_of_turn(view.turns()).unwrap_or_default();
    let rows = (first..view.rows()).filter_map(|at| view.row(at));
    rows.filter_map(|row| row.node.message().ok()).map(|it| it.tool_calls().count()).sum()
}

/// Joins deltas, without what belongs to the first `stored` calls. A turn has one stream, and an
/// answer that is followed by another one made calls.
fn pieces(deltas: &[AnswerDelta], stored: usize) -> Vec<PieceInFlight> {
    // The pieces that are not stored, and the calls before them.
    let (mut pieces, mut calls) = (Vec::new(), 0);
    for delta in deltas {
        match (delta, pieces.last_mut()) {
            (AnswerDelta::Text(more), Some(PieceInFlight::Text(text)))
            | (AnswerDelta::Reasoning(more), Some(PieceInFlight::Thought(text)))
            | (AnswerDelta::ToolInput(more), Some(PieceInFlight::Call { input: text, .. })) => {
                text.push_str(more);
            }
            (AnswerDelta::Text(text), _) => pieces.push(PieceInFlight::Text(text.clone())),
            (AnswerDelta::Reasoning(text), _) => pieces.push(PieceInFlight::Thought(text.clone())),
            (AnswerDelta::ToolCall { .. }, _) if calls < stored => {
                calls += 1;
                pieces.clear();
            }
            (AnswerDelta::ToolCall { name, .. }, _) => {
                pieces.push(PieceInFlight::Call { tool: name.clone(), input: String::new() });
            }
            (AnswerDelta::Restarted, _) => pieces.clear(),
            // The rest of a call that is stored.
            _ => {}
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> AnswerDelta {
        AnswerDelta::ToolCall { id: String::new(), name: name.into() }
    }

    #[test]
    fn what_is_stored_or_void_is_not_in_flight() {
        let text = |text: &str| AnswerDelta::Text(text.into());
        let input = |text: &str| AnswerDelta::ToolInput(text.into());
        let deltas = [
            AnswerDelta::Reasoning("First".into()),
            text("I look."),
            call("flights"),
            input("{}"),
            call("hotels"),
            input("{}"),
            text("Voi"),
            AnswerDelta::Restarted,
            text("I "),
            text("book."),
            call("book"),
            input("{\"to\":"),
        ];
        let booking = [
            PieceInFlight::Text("I book.".into()),
            PieceInFlight::Call { tool: "book".into(), input: "{\"to\":".into() },
        ];
        assert_eq!(pieces(&deltas, 2), booking);
        assert_eq!(pieces(&deltas, 3), [], "an answer that was stored is shown once");
        let first = &deltas[..5];
        let [thought, said, flights, hotels] = pieces(first, 0).try_into().unwrap();
        assert_eq!(thought, PieceInFlight::Thought("First".into()));
        assert_eq!(said, PieceInFlight::Text("I look.".into()));
        assert_eq!(flights, PieceInFlight::Call { tool: "flights".into(), input: "{}".into() });
        assert_eq!(hotels, PieceInFlight::Call { tool: "hotels".into(), input: String::new() });
    }
}
