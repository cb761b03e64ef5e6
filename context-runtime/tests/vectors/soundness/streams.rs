//! Invariants of streams at every step: *streamed*.
//!
//! A stream has as many stored chunks as it says, and they do not change until it is removed or
//! restarted. Acknowledged chunks are among them, at their position and unchanged. A stream that
//! has ended keeps its end state. Of several claims one wins. A call that fails changes no stream.

use std::collections::BTreeMap;

use context_runtime::store::{StoredStream, StreamState};
use serde_json::Value;

use crate::judge::{BoxError, Difference};
use crate::peer::streams::{parsed, place};
use crate::peer::{OperationResult, World};

const RULE: &str = "streamed";

/// The streams of a case by id, each with its chunks.
pub(super) type Streams = BTreeMap<String, (StoredStream, Vec<Value>)>;

/// Reads all streams from the store.
pub(super) async fn snapshot(world: &World) -> Result<Streams, BoxError> {
    let (store, chat) = (world.chats().0, place());
    let mut all = Streams::new();
    let Some(streams) = store.streams() else { return Ok(all) };
    if store.history().chat(&chat).await?.is_none() {
        return Ok(all);
    }
    for stream in streams.streams(&chat, 1000, None).await?.items {
        let part = streams.read_stream(&chat, &stream.id, 0, 1000).await?;
        let chunks = part.map(|part| part.chunks).unwrap_or_default();
        let chunks = chunks.iter().map(|chunk| parsed(chunk)).collect();
        all.insert(stream.id.to_string(), (stream, chunks));
    }
    Ok(all)
}

/// Judges a step. Returns whether there was anything to judge.
pub(super) fn check(
    op: &Value,
    given: &OperationResult,
    before: &Streams,
    after: &Streams,
) -> Result<Option<&'static str>, Difference> {
    if before.is_empty() && after.is_empty() {
        return Ok(None);
    }
    let (name, id) = (op[0].as_str().unwrap_or_default(), op[1].as_str().unwrap_or_default());
    let differs = |expected: String| Err(Difference::new(RULE, expected, format!("{after:?}")));
    if matches!(given, OperationResult::Error(_)) && before != after {
        return differs(format!("as it was: {before:?}"));
    }
    for (stream, chunks) in after.values() {
        if stream.chunks != chunks.len() as u64 {
            return differs(format!("{} chunks of {}", stream.chunks, stream.id));
        }
    }
    for (known, (old, chunks)) in before {
        if known == id && matches!(name, "sDelete" | "sReopen") {
            continue;
        }
        let kept = after.get(known).is_some_and(|(new, now)| {
            now.starts_with(chunks)
                && (!old.state.is_final() || (old.state, &old.error) == (new.state, &new.error))
        });
        if !kept {
            return differs(format!("{known} with {chunks:?}, {}", old.state.as_str()));
        }
    }
    match (name, given) {
        ("sAppend", OperationResult::Value(_)) => {
            let at = usize::try_from(op[2].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
            let parts = op[3].as_array().map(Vec::as_slice).unwrap_or_default();
            let stored = after.get(id).and_then(|(_, chunks)| chunks.get(at..at + parts.len()));
            if stored != Some(parts) {
                return differs(format!("{parts:?} from {at} on"));
            }
        }
        ("sClaim", OperationResult::Value(Value::Bool(true))) => {
            let was_free =
                before.get(id).is_some_and(|(stream, _)| stream.state == StreamState::Queued);
            if !was_free {
                return differs(format!("{id} to be claimed once"));
            }
        }
        _ => {}
    }
    Ok(Some(RULE))
}
