//! Operations on the recorded system's streams, which belong to no chat. Here all streams of a case
//! are in one chat.
//!
//! The recorded system has no claims for appending, so its writer is always the same and claims its
//! stream. Each claim of its manager is by another writer. It names the position of its chunks,
//! which a writer here knows, so another position is a conflict.

use std::sync::Arc;

use context_runtime::streams::{Streams, WriteOptions};
use context_runtime::{
    ChatRef, Error, ErrorKind, StreamId, Timestamp,
    store::{
        Created, NewChat, StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome,
        StreamState, StreamStore,
    },
};
use serde_json::{Value, json};

use super::ids::TickingClock;
use super::{OperationResult, PeerResult, World};

const NOW: Timestamp = Timestamp::from_micros(1);
/// The name of the writer.
const WRITER: &str = "writer";

/// The chat of the streams.
pub(crate) fn place() -> ChatRef {
    ChatRef::new("peer", "streams")
}

impl World {
    pub(super) async fn stream_operation(&mut self, op: &str, args: &Value) -> PeerResult {
        let chat = place();
        let _chat: Created =
            self.store.history().create_chat(NewChat::new(chat.clone(), NOW)).await?;
        let streams = self.store.streams().ok_or_else(|| OperationResult::missing("streams"))?;
        let id = StreamId::from(args[1].as_str().unwrap_or_default());
        match op {
            "sNew" => {
                let _created = streams.create_stream(&chat, &id, NOW).await?;
                Ok(Value::Null)
            }
            "sRegister" | "sUpsert" => {
                let outcome = streams.create_stream(&chat, &id, NOW).await?;
                let created = matches!(outcome, StreamOutcome::Applied(_));
                Ok(json!({"created": created, "status": outcome.stream().state.as_str()}))
            }
            "sClaim" => {
                self.claims += 1;
                let claim = StreamClaim::new(format!("claimer {}", self.claims), NOW);
                Ok(streams.claim_stream(&chat, &id, &claim).await?.is_done().into())
            }
            "sCancel" => {
                streams.cancel_stream(&chat, &id, NOW).await?;
                Ok(Value::Null)
            }
            "sStatus" => set_status(streams, &chat, &id, &args[2], &args[3]).await,
            "sAppend" => {
                claim(streams, &chat, &id).await?;
                let (clock, ids) = (Arc::new(TickingClock::default()), Arc::new(self.ids.clone()));
                append(&Streams::new(Arc::clone(&self.store), chat, clock, ids), id, args).await
            }
            "sChunks" => {
                let number = |value: &Value, otherwise| value.as_u64().unwrap_or(otherwise);
                let limit = usize::try_from(number(&args[3], 1000)).unwrap_or(1000);
                let part = streams.read_stream(&chat, &id, number(&args[2], 0), limit).await?;
                let Some(part) = part else { return Ok(json!([])) };
                let chunks = (part.offset..).zip(&part.chunks);
                Ok(chunks.map(|(seq, chunk)| json!([seq, parsed(chunk)])).collect())
            }
            "sGet" => Ok(streams.stream(&chat, &id).await?.as_ref().map_or(Value::Null, show)),
            "sDelete" => {
                streams.remove_stream(&chat, &id).await?;
                Ok(Value::Null)
            }
            "sReopen" => {
                let run = streams.stream(&chat, &id).await?.map_or(0, |stream| stream.run);
                accepted(streams.reopen_stream(&chat, &id, run, NOW).await?)
            }
            _ => Err(OperationResult::missing(format!("operation {op:?}"))),
        }
    }
}

fn show(stream: &StoredStream) -> Value {
    json!({
        "status": stream.state.as_str(),
        "started": stream.started_at.is_some(),
        "finished": stream.finished_at.is_some(),
        "cancelAsked": stream.cancel_requested_at.is_some(),
        "error": stream.error,
    })
}

pub(crate) fn parsed(chunk: &[u8]) -> Value {
    serde_json::from_slice(chunk).unwrap_or_default()
}

/// Returns null, or an error where the recorded system has one.
fn accepted(outcome: StreamOutcome) -> PeerResult {
    if outcome.is_done() { Ok(Value::Null) } else { Err(elsewhere()) }
}

fn elsewhere() -> OperationResult {
    Error::new(ErrorKind::Conflict, "stream", "the stream is elsewhere").into()
}

/// Claims the stream for the recorded system's writer.
async fn claim(
    streams: &dyn StreamStore,
    chat: &ChatRef,
    id: &StreamId,
) -> PeerResult<StoredStream> {
    let outcome = streams.claim_stream(chat, id, &StreamClaim::new(WRITER, NOW)).await?;
    Ok(outcome.stream().clone())
}

/// Sets a status. An invalid transition changes nothing and is no error.
async fn set_status(
    streams: &dyn StreamStore,
    chat: &ChatRef,
    id: &StreamId,
    status: &Value,
    error: &Value,
) -> PeerResult {
    let stream = claim(streams, chat, id).await?;
    let end = match status.as_str().unwrap_or_default() {
        "running" => return Ok(Value::Null),
        "completed" => StreamEnd::Completed,
        "failed" => StreamEnd::Failed(error.as_str().unwrap_or_default().to_owned()),
        "cancelled" => StreamEnd::Cancelled,
        other => return Err(OperationResult::missing(format!("status {other:?}"))),
    };
    if stream.state == StreamState::Running {
        let append = StreamAppend::new(WRITER, stream.chunks, Vec::<Vec<u8>>::new(), NOW).end(end);
        let _refused = streams.append_stream(chat, id, append).await?;
    }
    Ok(Value::Null)
}

async fn append(streams: &Streams, id: StreamId, args: &Value) -> PeerResult {
    let options = WriteOptions::default().writer(WRITER);
    let mut writer = streams.write(id, options).await.map_err(Error::from)?;
    if args[2].as_u64() != Some(writer.offset()) {
        return Err(elsewhere());
    }
    for part in args[3].as_array().into_iter().flatten() {
        let _demand = writer.push(part.to_string()).await.map_err(Error::from)?;
    }
    let _demand = writer.flush().await.map_err(Error::from)?;
    Ok(Value::Null)
}
