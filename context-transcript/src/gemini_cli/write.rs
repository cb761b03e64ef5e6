//! Export of a chat to records.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{outdated, says_the_same};
use context_core::base::{CodecError, DiagnosticCode, JsonMap};
use context_core::message::{NodeKind, PlacedNode};
use context_core::{Diagnostic, Json, Message, Part, Role};

use super::{KEY, MESSAGES, OriginalRecord, record};
use crate::TranscriptSource;
use crate::chat::warning;
use crate::time::format_time;

/// Returns the session, with later additions at the end.
pub(crate) fn write(
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Json, Vec<Diagnostic>), CodecError> {
    let (mut records, mut diagnostics) = (Vec::new(), Vec::new());
    let nodes: Vec<_> =
        nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary).collect();
    let mut at = 0;
    while at < nodes.len() {
        let from = at;
        let (first, original) = message(nodes[from])?;
        at += 1;
        let mut group = vec![first];
        // Results belong to the record of their calls.
        while let Some(placed) = nodes.get(at).filter(|_| first.role == Role::Assistant) {
            let (next, original) = message(placed)?;
            if next.role != Role::Tool && !original.is_some_and(|original| original.continues) {
                break;
            }
            group.push(next);
            at += 1;
        }
        if let (Some(_), [Part::Data(data)]) = (&original, first.parts.as_slice()) {
            records.push(data.value.clone());
            continue;
        }
        let was_read = original.is_some();
        let original = original.unwrap_or_default();
        let plain = record::to_json(&group, original.parts);
        if let Some(patch) = original.patch {
            if let Some(record) = restored(&group, &plain, patch) {
                records.push(record);
                continue;
            }
            let mut diagnostic = outdated(KEY);
            diagnostic.path = format!("{} {KEY}", nodes[from].node.id);
            diagnostics.push(diagnostic);
        }
        if was_read {
            // The messages express all of the record, or all that is left of it.
            records.push(plain);
            continue;
        }
        if first.role == Role::Tool {
            let id = nodes[from].node.id.to_string();
            diagnostics.push(warning(
                DiagnosticCode::Unpaired,
                id,
                "left out: results without their calls",
            ));
            continue;
        }
        records.push(added(nodes[from], &plain));
    }
    let mut object = source.envelope.clone();
    object.insert(MESSAGES.to_owned(), Json::from_serialize(&records).expect("JSON values"));
    Ok((Json::from_serialize(&object).expect("text keys and JSON values"), diagnostics))
}

fn message(placed: &PlacedNode) -> Result<(&Message, Option<OriginalRecord>), CodecError> {
    let message = placed.node.message()?;
    Ok((message, OriginalRecord::of(message)))
}

/// Returns the original record if its patch still applies to the messages.
fn restored(group: &[&Message], plain: &Json, patch: Json) -> Option<Json> {
    let source = JsonPatch::from(patch).apply(plain)?;
    let (again, _) = record::read(
        &serde_json::from_str::<Box<serde_json::value::RawValue>>(source.as_str()).ok()?,
    )?;
    let same = again.len() == group.len()
        && again.iter().zip(group).all(|(again, message)| says_the_same(again, message));
    same.then_some(source)
}

/// Returns a record that was in no file, or that was changed.
fn added(placed: &PlacedNode, plain: &Json) -> Json {
    let entries =
        [("id", placed.node.id.to_string()), ("timestamp", format_time(placed.node.created_at))];
    let mut record: JsonMap = entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Json::from(value.as_str())))
        .collect();
    record.extend(plain.parse::<JsonMap>().unwrap_or_default());
    Json::from_serialize(&record).expect("text keys and JSON values")
}
