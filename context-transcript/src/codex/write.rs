//! Export of a chat to lines.

use std::sync::Arc;

use context_core::base::{CodecError, DiagnosticCode, JsonMap};
use context_core::message::{NodeKind, PlacedNode};
use context_core::{Diagnostic, Json, Part};

use super::{ITEM, KEY, OriginalLine};
use crate::TranscriptSource;
use crate::chat::warning;
use crate::list_codec::{ListCodec, locate_by_id};
use crate::time::format_time;

/// Lines with their numbers.
type Lines = Vec<(usize, Json)>;

/// Returns the lines of a session with their numbers, in order, with later additions at the end.
pub(crate) fn write(
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Lines, Vec<Diagnostic>), CodecError> {
    let mut lines: Lines =
        source.sidecar_lines().map(|(line, value)| (line, value.clone())).collect();
    let (mut diagnostics, mut last, mut has_payloads) = (Vec::new(), 0, None);
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message()?;
        let originals = message
            .metadata
            .get(KEY)
            .and_then(|json| json.parse::<Vec<OriginalLine>>().ok())
            .unwrap_or_default();
        if let ([OriginalLine { line, .. }], [Part::Data(data)]) =
            (originals.as_slice(), message.parts.as_slice())
        {
            last = *line;
            lines.push((last, data.value.clone()));
            continue;
        }
        let (items, lost) = ListCodec::RESPONSES.lower_source(vec![Arc::clone(message)]);
        diagnostics.extend(lost.into_iter().map(|mut diagnostic| {
            locate_by_id(&mut diagnostic, std::slice::from_ref(&placed.node.id));
            diagnostic
        }));
        if items.is_empty() {
            let id = placed.node.id.to_string();
            diagnostics.push(warning(
                DiagnosticCode::Unrepresentable,
                id,
                "left out: it has no form here",
            ));
        }
        let mut originals = originals.into_iter();
        // Additional items of an edited message get the position of its last line.
        let (mut line, mut rest) = match placed.node.revision {
            0 => (usize::MAX, None),
            _ => (last, None),
        };
        for item in items {
            match originals.next() {
                Some(original) => {
                    has_payloads = has_payloads.or(Some(original.rest.is_some()));
                    (line, rest) = (original.line, original.rest);
                }
                None => rest = rest.or_else(|| has_payloads.unwrap_or(true).then(|| added(placed))),
            }
            last = line;
            let value = match rest.clone() {
                None => item,
                Some(mut rest) => {
                    rest.insert("payload".to_owned(), item);
                    Json::from_serialize(&rest).expect("text keys and JSON values")
                }
            };
            lines.push((line, value));
        }
    }
    lines.sort_by_key(|(line, _)| *line);
    Ok((lines, diagnostics))
}

/// Returns the line fields for an item that was in no file.
fn added(placed: &PlacedNode) -> JsonMap {
    let time = format_time(placed.node.created_at);
    let entries = [("timestamp", time.as_str()), ("type", ITEM)];
    entries.into_iter().map(|(key, value)| (key.to_owned(), Json::from(value))).collect()
}
