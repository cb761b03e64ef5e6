//! Conversations of a data export of ChatGPT (`conversations.json`): objects whose `mapping` is a
//! tree of nodes.
//!
//! | file | chat |
//! |---|---|
//! | a node with a `message` | a message with the node's key as id and `create_time` as time |
//! | content of type `text`, `multimodal_text`, `code` | its texts |
//! | content of type `thoughts` | reasoning |
//! | an assistant's message to a tool (`recipient`) | a call with the id of the node |
//! | a message of a tool, also `execution_output`, `tether_quote`, `tether_browsing_display` | the result of the last call before it |
//! | a node without a message, without text, or with other content | an application message without text |
//! | pointers to images | data of the message, which no provider gets: the images are other files of the export |
//! | `parent` | the predecessor; several nodes with the same one are [branches](crate::branches) |
//! | `current_node` | the end of `main` |
//! | `title` | the title |
//! | the other keys of the conversation | the envelope |
//!
//! The model is `model_slug` of the message's metadata; exports contain no usage. Export gives
//! equal values. An added message becomes a child of its predecessor and the current node.

mod content;

use context_codec_kit::wire::{array, from_map, null, object};
use context_core::base::{CodecError, JsonMap};
use context_core::message::PlacedNode;
use context_core::trajectory::Measures;
use context_core::{Diagnostic, Json, Message, Part, Timestamp};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::chat::TranscriptChat;
use crate::measures::text as measured_text;
use crate::raw::{Entries, entries, first, text_of};
use crate::read::unknown_form;
use crate::records::{
    self, AddedRecord, Conversation, RecordContext, RecordForm, RecordMessages, RecordParent,
    RecordPlace, map, object_in, text,
};
use crate::time::{seconds_of, time_of_seconds};
use crate::{FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource, lists};

/// The metadata key for the original node of a message.
const KEY: &str = "chatgpt";
/// The key of the nodes.
const NODES: &str = "mapping";
/// The key of a node within itself, if its `id` is another one.
const NODE_KEY: &str = "mapping key";

/// Conversations of ChatGPT.
pub(crate) struct Chatgpt;

/// Returns whether a value is a conversation.
pub(crate) fn is_conversation(item: &RawValue) -> bool {
    let nodes = || object_in(&entries(item)?, NODES);
    let is_node = |raw: &&RawValue| {
        entries(raw).is_some_and(|node| {
            ["message", "parent", "children"].iter().any(|key| node.contains_key(*key))
        })
    };
    let is_empty = || item.get().contains("\"current_node\"");
    item.get().contains("\"mapping\"")
        && nodes()
            .is_some_and(|nodes| nodes.values().all(is_node) && (!nodes.is_empty() || is_empty()))
}

/// Reads a conversation.
pub(crate) fn read(
    file: &FileText,
    item: &RawValue,
    layout: FileLayout,
    position: (usize, usize),
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let form = &Chatgpt;
    let envelope: JsonMap =
        serde_json::from_str(item.get()).map_err(|error| file.syntax_error(item.get(), error))?;
    let nodes = envelope.get(NODES).and_then(|nodes| nodes.parse::<JsonMap>().ok());
    let nodes = nodes
        .ok_or_else(|| unknown_form(file, item.get(), Some(form.format()), FormProblem::NoTree))?;
    if nodes.len() > lists::MAX_ITEMS {
        return Err(lists::too_many(file));
    }
    let nodes: Vec<_> = nodes.into_iter().map(|(key, node)| keyed(&key, node)).collect();
    let field = |key: &str| envelope.get(key).and_then(Json::to_text);
    let (title, current) = (field("title"), field("current_node"));
    let source = TranscriptSource::new(file.name(), form.format(), layout, position)
        .in_envelope(Some((NODES, envelope)));
    let records = nodes.iter().map(Json::as_raw).enumerate().collect();
    let others = Vec::new();
    records::chat(Conversation { form, file, source, records, others, title, current, at })
}

/// Returns a node that contains its key.
fn keyed(key: &str, node: Json) -> Json {
    let Some(fields) = entries(node.as_raw()) else {
        return object([(NODE_KEY, key.into()), ("node", node)]);
    };
    if text(&fields, "id").as_deref() == Some(key) {
        return node;
    }
    let mut fields: JsonMap = node.parse().unwrap_or_default();
    fields.insert(NODE_KEY.to_owned(), key.into());
    from_map(&fields)
}

/// Returns the key of a node, and the node as it was in the file.
fn unkeyed(node: &Json) -> (String, Json) {
    let mut fields: JsonMap = node.parse().unwrap_or_default();
    let Some(key) = fields.shift_remove(NODE_KEY) else {
        return (fields.get("id").and_then(Json::to_text).unwrap_or_default(), node.clone());
    };
    let is_alone = fields.len() == 1;
    let node = match fields.get("node").filter(|node| is_alone && first(node.as_raw()) != '{') {
        Some(node) => node.clone(),
        None => from_map(&fields),
    };
    (key.to_text().unwrap_or_default(), node)
}

/// Returns the conversation, with later additions as children of their predecessors.
pub(crate) fn write(
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Json, Vec<Diagnostic>), CodecError> {
    let (records, diagnostics) = records::write(&Chatgpt, source, nodes)?;
    let mut mapping = JsonMap::default();
    let mut envelope = source.envelope.clone();
    for record in records {
        let (key, node) = unkeyed(&record.value);
        if let Some(id) = &record.added {
            if let Some(parent) = record.parent.and_then(|parent| mapping.get_mut(&parent)) {
                add_child(parent, id);
            }
            envelope.insert("current_node".to_owned(), id.as_str().into());
        }
        mapping.insert(key, node);
    }
    envelope.insert(NODES.to_owned(), from_map(&mapping));
    Ok((from_map(&envelope), diagnostics))
}

/// Adds a child to a node, unless the node has it.
fn add_child(node: &mut Json, id: &str) {
    let Ok(mut fields) = node.parse::<JsonMap>() else { return };
    let children = fields.get("children").and_then(|children| children.parse().ok());
    let mut children: Vec<Json> = children.unwrap_or_default();
    if children.iter().any(|child| child.to_text().as_deref() == Some(id)) {
        return;
    }
    children.push(id.into());
    fields.insert("children".to_owned(), array(&children));
    *node = from_map(&fields);
}

impl RecordForm for Chatgpt {
    fn format(&self) -> Format {
        Format::Chatgpt
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let parent = record.get("parent").and_then(|parent| text_of(parent));
        let message = object_in(record, "message").unwrap_or_default();
        RecordPlace {
            id: text(record, NODE_KEY).or_else(|| text(record, "id")),
            parent: parent.map_or(RecordParent::Root, RecordParent::Named),
            time: message.get("create_time").and_then(|time| time_of_seconds(time)),
            ..RecordPlace::default()
        }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        content::is_text(record)
    }

    fn read(&self, record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages> {
        content::read(record, context)
    }

    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap {
        messages.first().map(|message| content::write(message, shape)).unwrap_or_default()
    }

    fn complete(&self, mut record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let message = record.get("message").and_then(|message| message.parse::<JsonMap>().ok());
        let mut whole = map([
            ("id", added.id.into()),
            ("create_time", json!(seconds_of(added.at)).into()),
            ("status", "finished_successfully".into()),
            ("weight", json!(1.0).into()),
            ("metadata", json!({}).into()),
            ("recipient", "all".into()),
        ]);
        whole.extend(message.unwrap_or_default());
        record.insert("id".to_owned(), added.id.into());
        record.insert("message".to_owned(), from_map(&whole));
        record.insert("parent".to_owned(), added.parent.map_or_else(null, Json::from));
        record.insert("children".to_owned(), array(&[]));
        record
    }

    /// Reasoning, calls and results are nodes of their own.
    fn split(&self, message: &Message) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        for part in &message.parts {
            let kind = |part: &Part| match part {
                Part::Reasoning(_) => 1,
                Part::ToolCall(_) | Part::ToolResult(_) => 2,
                _ => 0,
            };
            let last = messages.last_mut().filter(|last| {
                last.parts.last().is_some_and(|last| kind(last) == kind(part) && kind(part) < 2)
            });
            match last {
                Some(last) => last.parts.push(part.clone()),
                None => messages.push(Message::new(message.role, [part.clone()])),
            }
        }
        messages
    }

    fn measures(&self, fields: &Value, _: &Message) -> Measures {
        let message = &fields["message"];
        let mut measures = Measures::default();
        measures.model = measured_text(&message["metadata"], "model_slug");
        measures
    }
}
