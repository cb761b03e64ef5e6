//! Export of a chat to records.

use context_runtime::wire::{outdated, says_the_same};
use context_runtime::{
    Diagnostic, DiagnosticCode, Error, Json, JsonMap, JsonPatch, Message, Part, Role,
    store::{NodeKind, Placed},
};

use super::super::{Source, note};
use super::{KEY, MESSAGES, Mark, record};
use crate::error::Failure;
use crate::text::time;

/// Returns the session, with later additions at the end.
pub(in super::super) fn back(
    source: &Source,
    nodes: &[Placed],
) -> Result<(Json, Vec<Diagnostic>), Failure> {
    let (mut records, mut diagnostics) = (Vec::new(), Vec::new());
    let nodes: Vec<_> =
        nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary).collect();
    let mut at = 0;
    while at < nodes.len() {
        let from = at;
        let (first, mark) = message(nodes[from])?;
        at += 1;
        let mut group = vec![first];
        // Results belong to the record of their calls.
        while let Some(placed) = nodes.get(at).filter(|_| first.role == Role::Assistant) {
            let (next, mark) = message(placed)?;
            if next.role != Role::Tool && !mark.is_some_and(|mark| mark.continues) {
                break;
            }
            group.push(next);
            at += 1;
        }
        if let (Some(_), [Part::Data(data)]) = (&mark, first.parts.as_slice()) {
            records.push(data.value.clone());
            continue;
        }
        let was_read = mark.is_some();
        let mark = mark.unwrap_or_default();
        let plain = record::written(&group, mark.parts);
        if let Some(patch) = mark.patch {
            if let Some(record) = restored(&group, &plain, patch) {
                records.push(record);
                continue;
            }
            let mut said = outdated(KEY);
            said.path = format!("{} {KEY}", nodes[from].node.id);
            diagnostics.push(said);
        }
        if was_read {
            // The messages express all of the record, or all that is left of it.
            records.push(plain);
            continue;
        }
        if first.role == Role::Tool {
            let id = nodes[from].node.id.to_string();
            diagnostics.push(note(
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

fn message(placed: &Placed) -> Result<(&Message, Option<Mark>), Failure> {
    let message = placed.node.message().map_err(Error::from)?;
    Ok((message, Mark::of(message)))
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
fn added(placed: &Placed, plain: &Json) -> Json {
    let entries = [("id", placed.node.id.to_string()), ("timestamp", time(placed.node.created_at))];
    let mut record: JsonMap = entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Json::from(value.as_str())))
        .collect();
    record.extend(plain.parse::<JsonMap>().unwrap_or_default());
    Json::from_serialize(&record).expect("text keys and JSON values")
}
