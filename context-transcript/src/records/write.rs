//! Export of a chat to records.

use std::collections::HashMap;

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{from_map, says_the_same};
use context_core::base::{CodecError, DiagnosticCode, JsonMap, Severity};
use context_core::message::{NodeKind, PlacedNode};
use context_core::{Diagnostic, Json, Message, MessageId, Metadata, Part, Role};

use super::{AddedRecord, OriginalRecord, RecordContext, RecordForm, id_text, whole_record};
use crate::TranscriptSource;
use crate::chat::warning;
use crate::raw::entries;

/// The depth to which the fields of a changed record are kept.
const MAX_DEPTH: usize = 4;

/// A record to be written.
#[derive(Debug)]
pub(crate) struct WrittenRecord {
    /// The position. Later additions have the highest one.
    pub(crate) at: usize,
    pub(crate) value: Json,
    /// The id of the record, if it was in no file.
    pub(crate) added: Option<String>,
    /// The id of the message before the record.
    pub(crate) parent: Option<String>,
}

/// The messages of one record.
struct Group<'a> {
    nodes: Vec<(&'a PlacedNode, &'a Message)>,
    original: Option<OriginalRecord>,
    at: usize,
}

/// Returns the records of a chat in order, with later additions at the end. A message that was
/// amended without its metadata comes after the message stored before it.
pub(crate) fn write(
    form: &dyn RecordForm,
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Vec<WrittenRecord>, Vec<Diagnostic>), CodecError> {
    let groups = groups(form, nodes)?;
    let (mut records, mut diagnostics) = (Vec::with_capacity(groups.len()), Vec::new());
    let mut last_ids: HashMap<MessageId, String> = HashMap::new();
    for group in groups {
        let Some((first, message)) = group.nodes.first() else { continue };
        let parent = first.parent.as_ref();
        let parent = parent.map(|id| last_ids.get(id).cloned().unwrap_or_else(|| id_text(id)));
        let mut last_id = id_text(&first.node.id);
        let messages: Vec<_> = group.nodes.iter().map(|(_, message)| *message).collect();
        if let Some(original) = &group.original {
            if let Some(value) = whole_record(form, message) {
                let value = value.clone();
                records.push(WrittenRecord { at: group.at, value, added: None, parent });
            } else if let Some(value) =
                restored(form, &messages, original, &last_id, &mut diagnostics)
            {
                records.push(WrittenRecord { at: group.at, value, added: None, parent });
            }
        } else if form.holds_results() && message.role == Role::Tool {
            let problem = "left out: results without their calls";
            diagnostics.push(warning(DiagnosticCode::Unpaired, last_id.clone(), problem));
        } else {
            let mut parent = parent;
            let split = match messages.as_slice() {
                [alone] => form.split(alone),
                several => several.iter().map(|message| (*message).clone()).collect(),
            };
            let split: Vec<Vec<&Message>> = match messages.len() {
                1 => split.iter().map(|message| vec![message]).collect(),
                _ => vec![split.iter().collect()],
            };
            for (number, messages) in split.into_iter().enumerate() {
                if number > 0 {
                    last_id = format!("{}.{}", first.node.id, number + 1);
                }
                let plain = form.write(&messages, "");
                if !is_whole(form, &plain, &messages) {
                    let problem = "some of it is left out: it has no form here";
                    let code = DiagnosticCode::Unrepresentable;
                    diagnostics.push(warning(code, last_id.clone(), problem));
                    if plain.is_empty() {
                        continue;
                    }
                }
                let (at, id) = (first.node.created_at, last_id.as_str());
                let added = AddedRecord { id, parent: parent.as_deref(), at, source };
                let value = from_map(&form.complete(plain, &added));
                let added = Some(last_id.clone());
                records.push(WrittenRecord { at: group.at, value, added, parent });
                parent = Some(last_id.clone());
            }
        }
        for (placed, _) in &group.nodes {
            last_ids.insert(placed.node.id.clone(), last_id.clone());
        }
    }
    records.sort_by_key(|record| record.at);
    Ok((records, diagnostics))
}

/// Returns messages by record.
fn groups<'a>(
    form: &dyn RecordForm,
    nodes: &'a [PlacedNode],
) -> Result<Vec<Group<'a>>, CodecError> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    // The group that each message belongs to, or follows if it is a boundary.
    let mut by_id: HashMap<&MessageId, usize> = HashMap::new();
    let mut last = 0;
    for placed in nodes {
        let parent = placed.parent.as_ref().and_then(|parent| by_id.get(parent).copied());
        if placed.node.kind == NodeKind::Boundary {
            if let Some(parent) = parent {
                by_id.insert(&placed.node.id, parent);
            }
            continue;
        }
        let message: &Message = placed.node.message()?;
        let original = OriginalRecord::of(form, message);
        let continues = match &original {
            Some(original) => original.continues,
            None => message.role == Role::Tool && form.holds_results(),
        };
        if let Some(index) = parent.filter(|_| continues)
            && let Some(group) = groups.get_mut(index)
            && group.nodes.first().is_some_and(|(_, first)| whole_record(form, first).is_none())
        {
            group.nodes.push((placed, message));
            if let (Some(first), Some(original)) = (&mut group.original, original) {
                first.patch = first.patch.take().or(original.patch);
            }
            by_id.insert(&placed.node.id, index);
            continue;
        }
        let at = match &original {
            Some(original) => original.at,
            None if placed.node.revision > 0 => last,
            None => usize::MAX,
        };
        last = if at == usize::MAX { last } else { at };
        by_id.insert(&placed.node.id, groups.len());
        groups.push(Group { nodes: vec![(placed, message)], original, at });
    }
    Ok(groups)
}

/// Returns the record of messages that were read from one. What the messages no longer express is
/// written as they express it now, with the other fields of the record.
fn restored(
    form: &dyn RecordForm,
    messages: &[&Message],
    original: &OriginalRecord,
    id: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Json> {
    let plain = form.write(messages, &original.shape);
    let Some(patch) = &original.patch else { return Some(from_map(&plain)) };
    let value = from_map(&plain);
    if let Some(whole) = JsonPatch::from(patch.clone()).apply(&value)
        && reads_as(form, &whole, messages)
    {
        return Some(whole);
    }
    let problem = "changed since it was read: written without the fields of its parts that only its \
                   source had";
    diagnostics.push(Diagnostic::new(
        DiagnosticCode::Unrepresentable,
        Severity::Info,
        format!("{id} {}", form.key()),
        problem,
    ));
    let kept = with_fields(&value, patch, 0);
    Some(if reads_as(form, &kept, messages) { kept } else { value })
}

/// Adds the fields that only the original had to an object.
fn with_fields(value: &Json, patch: &Json, depth: usize) -> Json {
    let keys = || patch.parse::<JsonMap>().ok()?.get("keys")?.parse::<JsonMap>().ok();
    let (Ok(mut map), Some(keys)) = (value.parse::<JsonMap>(), keys()) else {
        return value.clone();
    };
    for (key, change) in keys {
        let field = match map.get(&key) {
            Some(before) if depth < MAX_DEPTH => Some(with_fields(before, &change, depth + 1)),
            Some(_) => None,
            None => change.parse::<JsonMap>().ok().and_then(|change| change.get("set").cloned()),
        };
        if let Some(field) = field {
            map.insert(key, field);
        }
    }
    from_map(&map)
}

/// Returns whether a record expresses the content of messages that were in no file.
fn is_whole(form: &dyn RecordForm, plain: &JsonMap, messages: &[&Message]) -> bool {
    read_again(form, &from_map(plain), messages).is_some_and(|again| {
        again.len() == messages.len()
            && again.iter().zip(messages).all(|(again, message)| {
                again.role == message.role && content(again) == content(message)
            })
    })
}

/// Returns the parts of a message without what a form may leave out: metadata, names of results.
fn content(message: &Message) -> Vec<Part> {
    let mut parts = message.parts.clone();
    for part in &mut parts {
        match part {
            Part::Text(text) => text.metadata = Metadata::default(),
            Part::Reasoning(thought) => {
                (thought.metadata, thought.provider) = (Metadata::default(), None);
            }
            Part::ToolCall(call) => call.metadata = Metadata::default(),
            Part::ToolResult(result) => {
                (result.metadata, result.name) = (Metadata::default(), None);
            }
            Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                media.metadata = Metadata::default();
            }
            _ => {}
        }
    }
    parts
}

/// Returns whether a record is read as these messages.
fn reads_as(form: &dyn RecordForm, record: &Json, messages: &[&Message]) -> bool {
    read_again(form, record, messages).is_some_and(|again| {
        again.len() == messages.len()
            && again.iter().zip(messages).all(|(again, message)| says_the_same(again, message))
    })
}

/// Reads a record that was written from messages.
fn read_again(form: &dyn RecordForm, record: &Json, messages: &[&Message]) -> Option<Vec<Message>> {
    let last_result = messages.iter().flat_map(|message| message.tool_results()).last();
    let context = RecordContext {
        call: last_result.map(|result| result.call_id.clone()),
        is_first: messages.first().is_some_and(|message| message.role == Role::System),
    };
    let fields = entries(record.as_raw())?;
    form.read(&fields, &context).map(|again| again.messages)
}
