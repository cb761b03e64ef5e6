//! Export of a chat to lines.

use context_runtime::{
    Diagnostic, DiagnosticCode, Error, Json, JsonMap, Message, Part, Role,
    store::{NodeKind, Placed},
};

use super::super::{Codec, Source, note};
use super::{KEY, Mark};
use crate::error::Failure;
use crate::text::time;

/// Lines with their numbers.
type Lines = Vec<(usize, Json)>;

/// Returns the lines of a session with their numbers, in order. Later additions follow at the end.
/// A message that was amended without its line metadata comes after the message stored before it.
pub(in super::super) fn back(
    source: &Source,
    nodes: &[Placed],
) -> Result<(Lines, Vec<Diagnostic>), Failure> {
    let mut lines: Vec<_> = source.kept.iter().map(|kept| (kept.at, kept.value.clone())).collect();
    let (mut diagnostics, mut session, mut last) = (Vec::new(), None, 0);
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message().map_err(Error::from)?;
        let mark = message.metadata.get(KEY).and_then(|json| json.parse::<Mark>().ok());
        if let Some((line, data)) = whole(message, mark.as_ref()) {
            last = line;
            lines.push((line, data));
            continue;
        }
        let (mut written, said) = Codec::ClaudeCode.lower_source_of(message);
        for mut diagnostic in said {
            diagnostic.path = format!("{} {}", placed.node.id, diagnostic.path);
            diagnostics.push(diagnostic);
        }
        let Some(message_object) = written.pop() else {
            let (code, id) = (DiagnosticCode::Unrepresentable, placed.node.id.to_string());
            diagnostics.push(note(code, id, "left out: it has no form here"));
            continue;
        };
        let (line, mut map) = match mark.and_then(|mark| Some((mark.line, mark.rest?))) {
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
fn whole(message: &Message, mark: Option<&Mark>) -> Option<(usize, Json)> {
    match (mark, message.parts.as_slice()) {
        (Some(Mark { line, rest: None }), [Part::Data(data)]) => Some((*line, data.value.clone())),
        _ => None,
    }
}

/// Returns the line fields for a message that was in no file.
fn added(placed: &Placed, message: &Message, session: Option<&Json>) -> JsonMap {
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
        ("timestamp", Some(text(&time(placed.node.created_at)))),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
