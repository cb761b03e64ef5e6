//! Forms whose conversations are sequences or trees of records, and the reading they share.
//!
//! A record is an object that becomes one message or several, such as an answer and the results of
//! its calls. A [`RecordForm`] converts the content of a record to messages and back. Everything
//! else in the record is a patch in the metadata of its first answer, else of its first message,
//! under the key of the form: `{"at": position, "shape": name, "patch": {…}}`. Messages after the
//! first one have `{"at": position, "continues": true}`. Export is therefore exact up to the order
//! of keys, whatever else a record contains.
//!
//! A record that is not part of the conversation, or that cannot be read, becomes an application
//! message without text: it keeps its position, and no provider gets it. So does a part of a
//! message that its form alone understands.

mod file;
mod ids;
mod parts;
mod write;

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::from_map;
use context_core::base::{DiagnosticCode, JsonMap};
use context_core::trajectory::Measures;
use context_core::{Diagnostic, Json, Message, MessageId, Node, Part, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use self::file::{list_chat, read_lines, records_of};
use self::ids::RecordIds;
pub(crate) use self::parts::*;
pub(crate) use self::write::write;
use crate::branches::{self, BranchItem};
use crate::chat::{TranscriptChat, data, title, title_of, warning};
use crate::raw::{Entries, entries};
use crate::sidecar::{self, SidecarEntry};
use crate::{FileText, Format, TranscriptError, TranscriptSource};

/// The conversion of one form between records and messages.
pub(crate) trait RecordForm: Sync {
    fn format(&self) -> Format;

    /// Returns the metadata key for the original record of a message.
    fn key(&self) -> &'static str;

    /// Returns the place of a record in its conversation.
    fn place(&self, record: &Entries<'_>) -> RecordPlace;

    /// Returns whether an object is a record and not a header. Only files of lines have headers.
    fn is_record(&self, _record: &Entries<'_>) -> bool {
        true
    }

    /// Returns the name of a record's conversation, if a file mixes the records of several.
    fn conversation(&self, _record: &Entries<'_>) -> Option<String> {
        None
    }

    /// Returns the title in the object around a list of records, or in its first record.
    fn title(&self, _envelope: &Entries<'_>) -> Option<String> {
        None
    }

    /// Returns whether a record is part of the conversation, so that it should be readable.
    fn is_message(&self, record: &Entries<'_>) -> bool;

    /// Returns the messages of a record. `None` if the record is not part of the conversation or
    /// has an unknown form.
    fn read(&self, record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages>;

    /// Returns the record that messages express, without id and times. `shape` is that of the
    /// record the messages were read from, or empty.
    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap;

    /// Completes a record that was in no file.
    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap;

    /// Returns the messages that a message becomes if each record can hold only a part of it.
    fn split(&self, message: &Message) -> Vec<Message> {
        vec![message.clone()]
    }

    /// Returns whether the record of calls also holds their results.
    fn holds_results(&self) -> bool {
        false
    }

    /// Returns the measures of an answer. `_fields` are the fields of the record that its messages
    /// do not express.
    fn measures(&self, _fields: &serde_json::Value, _answer: &Message) -> Measures {
        Measures::default()
    }
}

/// The place of a record in its conversation.
#[derive(Debug, Default)]
pub(crate) struct RecordPlace {
    pub(crate) id: Option<String>,
    pub(crate) parent: RecordParent,
    pub(crate) time: Option<Timestamp>,
    /// The id of the record whose call the record answers, if the record names it.
    pub(crate) cause: Option<String>,
    /// Whether the record belongs to a sub-agent.
    pub(crate) is_side: bool,
}

/// The predecessor of a record.
#[derive(Debug, Default)]
pub(crate) enum RecordParent {
    /// The record before it in the file.
    #[default]
    Previous,
    /// None.
    Root,
    /// The record with this id.
    Named(String),
}

/// The surroundings of a record that its reading depends on.
#[derive(Debug, Default)]
pub(crate) struct RecordContext {
    /// The call that the record answers, for results without its id: the last call before the
    /// record, or that of its cause if it names one.
    pub(crate) call: Option<String>,
    /// Whether the record is the first one of its conversation.
    pub(crate) is_first: bool,
}

/// The messages of a record.
#[derive(Debug, Default)]
pub(crate) struct RecordMessages {
    pub(crate) messages: Vec<Message>,
    /// The name of the record's variant, if its form has several for such messages.
    pub(crate) shape: &'static str,
}

impl RecordMessages {
    /// Returns the messages of a record of the only or the usual variant. `None` without messages.
    pub(crate) fn plain(messages: Vec<Message>) -> Option<Self> {
        Self::shaped("", messages)
    }

    /// Returns the messages of a record of a variant. `None` without messages.
    pub(crate) fn shaped(shape: &'static str, messages: Vec<Message>) -> Option<Self> {
        (!messages.is_empty()).then_some(Self { messages, shape })
    }
}

/// A record to be completed.
#[derive(Debug)]
pub(crate) struct AddedRecord<'a> {
    pub(crate) id: &'a str,
    /// The id of the record before it.
    pub(crate) parent: Option<&'a str>,
    pub(crate) at: Timestamp,
    pub(crate) source: &'a TranscriptSource,
}

/// The original record of a message.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OriginalRecord {
    /// The position of the record: the number of its line, or its index from 0.
    at: usize,
    /// Whether the message belongs to the record of the message before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
    /// The variant of the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    shape: String,
    /// The difference between the messages and the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<Json>,
}

impl OriginalRecord {
    pub(crate) fn of(form: &dyn RecordForm, message: &Message) -> Option<Self> {
        message.metadata.get(form.key())?.parse().ok()
    }

    /// Returns the fields of the record that its messages do not express.
    pub(crate) fn fields(&self) -> serde_json::Value {
        let patch = self.patch.as_ref().and_then(|patch| patch.parse().ok());
        patch.map(set_fields).unwrap_or_default()
    }

    fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }
}

/// Returns the values that a patch sets, at their places.
fn set_fields(patch: serde_json::Value) -> serde_json::Value {
    let serde_json::Value::Object(mut patch) = patch else { return serde_json::Value::Null };
    if let Some(value) = patch.remove("set") {
        return value;
    }
    match patch.remove("keys").or_else(|| patch.remove("items")) {
        Some(serde_json::Value::Object(keys)) => {
            keys.into_iter().map(|(key, patch)| (key, set_fields(patch))).collect()
        }
        _ => serde_json::Value::Null,
    }
}

/// The name of the data part that holds a whole record.
fn record_name(form: &dyn RecordForm) -> String {
    format!("{}.record", form.key())
}

/// Returns the record that a message holds unchanged, if it does.
fn whole_record<'a>(form: &dyn RecordForm, message: &'a Message) -> Option<&'a Json> {
    match message.parts.as_slice() {
        [Part::Data(data)] if data.name == record_name(form) => Some(&data.value),
        _ => None,
    }
}

/// A conversation to be read.
pub(crate) struct Conversation<'a> {
    pub(crate) form: &'static dyn RecordForm,
    pub(crate) file: &'a FileText,
    pub(crate) source: TranscriptSource,
    /// The records with their positions.
    pub(crate) records: Vec<(usize, &'a RawValue)>,
    /// The other content of the file.
    pub(crate) others: Vec<SidecarEntry>,
    /// The title that the file contains.
    pub(crate) title: Option<String>,
    /// The id of the record that the file names as the current one.
    pub(crate) current: Option<String>,
    /// The time of records before the first time.
    pub(crate) at: Timestamp,
}

/// Reads the records of a conversation as a chat.
pub(crate) fn chat(conversation: Conversation<'_>) -> Result<TranscriptChat, TranscriptError> {
    let Conversation { form, file, mut source, records, others, title: named, current, at } =
        conversation;
    let mut diagnostics = Vec::new();
    let fields: Vec<_> = records.iter().map(|(_, raw)| entries(raw).unwrap_or_default()).collect();
    let places: Vec<_> = fields.iter().map(|record| form.place(record)).collect();
    let mut ids = RecordIds::of(&places, &mut diagnostics);
    let mut items = items(&places, &ids, &mut diagnostics);
    for cut in branches::cut_cycles(&mut items) {
        let problem = "it is its own ancestor: it becomes a root";
        diagnostics.push(warning(DiagnosticCode::Misplaced, ids.names[cut].clone(), problem));
    }
    let mut now = places.iter().find_map(|place| place.time).unwrap_or(at);
    let times: Vec<_> = places
        .iter()
        .map(|place| {
            now = place.time.unwrap_or(now);
            now
        })
        .collect();

    let mut calls: Vec<Option<String>> = vec![None; items.len()];
    let mut nodes: Vec<Vec<Node>> = (0..items.len()).map(|_| Vec::new()).collect();
    for index in branches::parents_first(&items) {
        let parent = items[index].parent;
        let cause = places[index].cause.as_ref();
        let asked = cause.map_or(parent, |cause| ids.indexes.get(cause).copied());
        let call = asked.and_then(|asked| calls[asked].clone());
        let context = RecordContext { call, is_first: parent.is_none() };
        let (at, raw) = records[index];
        let id = ids.names[index].clone();
        let messages = match messages(form, raw, &fields[index], at, &context) {
            Some(messages) => {
                items[index].is_message = true;
                messages
            }
            None => {
                if form.is_message(&fields[index]) {
                    let problem = "it cannot be read: it is kept, and no provider gets it";
                    let code = DiagnosticCode::Unrepresentable;
                    diagnostics.push(warning(code, id.clone(), problem));
                }
                vec![log_entry(form, at, Json::from(raw.to_owned()).compact())]
            }
        };
        calls[index] = open_call(&messages, context.call);
        for (number, message) in messages.into_iter().enumerate() {
            let id = if number == 0 { id.clone() } else { ids.further(&id, number + 1) };
            nodes[index].push(Node::new(id, message, times[index]));
        }
    }
    let current = current.and_then(|id| ids.indexes.get(&id).copied());
    let no_tree = |source| file.tree_error(form.format(), source);
    let mut tree = branches::tree(&items, nodes, current).map_err(no_tree)?;
    source.sidecar = sidecar::store(
        others,
        &mut tree,
        |_| record_name(form),
        |entry| log_entry(form, entry.at, entry.value.clone()).metadata,
        |entry| ids.free(format!("line-{}", entry.at)),
        at,
    )
    .map_err(no_tree)?;
    let title = named.and_then(|text| title_of(&text)).or_else(|| title(tree.nodes()));
    Ok(TranscriptChat { source, title, tree, diagnostics })
}

/// Returns the items of records, each with its predecessor.
fn items(
    places: &[RecordPlace],
    ids: &RecordIds,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<BranchItem> {
    let mut items = Vec::with_capacity(places.len());
    for (index, place) in places.iter().enumerate() {
        let parent = match &place.parent {
            RecordParent::Previous => index.checked_sub(1),
            RecordParent::Root => None,
            RecordParent::Named(id) => ids.indexes.get(id).copied(),
        };
        if parent.is_none() && matches!(place.parent, RecordParent::Named(_)) {
            let problem = "its parent is not in its conversation: it becomes a root";
            let id = ids.names[index].clone();
            diagnostics.push(warning(DiagnosticCode::Misplaced, id, problem));
        }
        items.push(BranchItem { parent, is_side: place.is_side, is_message: false });
    }
    items
}

/// Returns the messages of a record with its metadata, or `None` if it cannot be read.
fn messages(
    form: &dyn RecordForm,
    raw: &RawValue,
    record: &Entries<'_>,
    at: usize,
    context: &RecordContext,
) -> Option<Vec<Message>> {
    let RecordMessages { mut messages, shape } = form.read(record, context)?;
    let plain = from_map(&form.write(&messages.iter().collect::<Vec<_>>(), shape));
    let patch = JsonPatch::between_raw(plain.as_raw(), raw).map(JsonPatch::into_json);
    // The measures of an answer are read from the fields of its record.
    let holder = messages.iter().position(|message| message.role == Role::Assistant).unwrap_or(0);
    for (index, message) in messages.iter_mut().enumerate() {
        let original = OriginalRecord {
            at,
            continues: index > 0,
            shape: if index == 0 { shape.to_owned() } else { String::new() },
            patch: patch.clone().filter(|_| index == holder),
        };
        message.metadata.insert(form.key(), original.to_json());
    }
    Some(messages)
}

/// Returns the application message that holds a whole record.
fn log_entry(form: &dyn RecordForm, at: usize, record: Json) -> Message {
    let original = OriginalRecord { at, ..OriginalRecord::default() };
    let mut message = Message::new(Role::System, [data(record_name(form), record)]);
    message.metadata.insert(form.key(), original.to_json());
    message
}

/// Returns the call that results after these messages answer. `before` is that of the record before
/// them.
fn open_call(messages: &[Message], before: Option<String>) -> Option<String> {
    let last = messages.iter().flat_map(Message::tool_calls).last();
    let is_answered = || messages.iter().any(|message| message.role != Role::Tool);
    match last {
        Some(call) => Some(call.id.clone()),
        None => before.filter(|_| !is_answered()),
    }
}

/// Returns the form of a message that was read from a record.
pub(crate) fn form_of(message: &Message) -> Option<&'static dyn RecordForm> {
    crate::forms::FORMS.iter().copied().find(|form| message.metadata.get(form.key()).is_some())
}

/// Returns the measures of an answer that was read from a record.
pub(crate) fn measures(message: &Message) -> Option<Measures> {
    let form = form_of(message)?;
    let measures = form.measures(&OriginalRecord::of(form, message)?.fields(), message);
    (!measures.is_empty()).then_some(measures)
}

/// Returns the id of a chat's message as text.
fn id_text(id: &MessageId) -> String {
    id.to_string()
}
