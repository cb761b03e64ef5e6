//! Export of a chat to lines.

use context_core::base::{CodecError, DiagnosticCode, JsonMap};
use context_core::message::{NodeKind, PlacedNode};
use context_core::{Diagnostic, Json, Message, Part, Role};

use super::{KEY, OriginalLine};
use crate::chat::warning;
use crate::time::format_time;
use crate::{Format, TranscriptSource};

/// Lines with their numbers.
type Lines = Vec<(usize, Json)>;

/// Returns the lines of a session with their numbers, in order. Later additions follow at the end.
/// A message that was amended without its line metadata comes after the message stored before it.
pub(crate) fn write(
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Lines, Vec<Diagnostic>), CodecError> {
    let mut lines: Lines =
        source.sidecar_lines().map(|(line, value)| (line, value.clone())).collect();
    let (mut diagnostics, mut session, mut last) = (Vec::new(), None, 0);
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message()?;
        let original = message.metadata.get(KEY).and_then(|json| json.parse::<OriginalLine>().ok());
        if let Some((line, data)) = whole_line(message, original.as_ref()) {
            last = line;
            lines.push((line, data));
            continue;
        }
        let mut lowered = Format::ClaudeCode.lower_source_of(message);
        for mut diagnostic in lowered.diagnostics {
            diagnostic.path = format!("{} {}", placed.node.id, diagnostic.path);
            diagnostics.push(diagnostic);
        }
        let Some(message_object) = lowered.messages.pop() else {
            let (code, id) = (DiagnosticCode::Unrepresentable, placed.node.id.to_string());
            diagnostics.push(warning(code, id, "left out: it has no form here"));
            continue;
        };
        let (line, mut map) =
            match original.and_then(|original| Some((original.line, original.rest?))) {
                Some((line, rest)) => {
                    session = session.or_else(|| rest.get("sessionId").cloned());
                    (line, rest)
                }
                None => {
                    let line = if placed.node.revision > 0 { last } else { usize::MAX };
                    (line, added(placed, message, session.as_ref()))
                }
            };
        last = line;
        map.insert("message".to_owned(), message_object);
        lines.push((line, Json::from_serialize(&map).expect("text keys and JSON values")));
    }
    lines.sort_by_key(|(line, _)| *line);
    Ok((lines, diagnostics))
}

/// Returns the line of a message that holds the whole line.
fn whole_line(message: &Message, original: Option<&OriginalLine>) -> Option<(usize, Json)> {
    match (original, message.parts.as_slice()) {
        (Some(OriginalLine { line, rest: None }), [Part::Data(data)]) => {
            Some((*line, data.value.clone()))
        }
        _ => None,
    }
}

/// Returns the line fields for a message that was in no file.
fn added(placed: &PlacedNode, message: &Message, session: Option<&Json>) -> JsonMap {
    let text = |text: &str| Json::from(text);
    let kind = match message.role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::User | Role::Tool => "user",
    };
    let parent = placed
        .parent
        .as_ref()
        .map_or_else(|| serde_json::Value::Null.into(), |id| text(id.as_str()));
    let entries = [
        ("parentUuid", Some(parent)),
        ("isSidechain", Some(serde_json::Value::Bool(false).into())),
        ("sessionId", session.cloned()),
        ("type", Some(text(kind))),
        ("uuid", Some(text(placed.node.id.as_str()))),
        ("timestamp", Some(text(&format_time(placed.node.created_at)))),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
