//! The forms of records, and their detection.

use context_core::Timestamp;
use context_core::message::PlacedNode;
use serde_json::value::RawValue;

use crate::chat::TranscriptChat;
use crate::chatgpt::Chatgpt;
use crate::claude_ai::ClaudeAi;
use crate::goose::Goose;
use crate::llm::Llm;
use crate::opencode::Opencode;
use crate::openhands::Openhands;
use crate::openhands::v0::{self, OpenhandsV0};
use crate::pi::Pi;
use crate::pydantic_ai::PydanticAi;
use crate::raw::Entries;
use crate::read::{PROBED, Value};
use crate::records::RecordForm;
use crate::{
    FileLayout, FileText, Format, TranscriptError, chatgpt, claude_ai, goose, llm, opencode,
    openhands, pi, pydantic_ai, records,
};

/// Every form of records.
pub(crate) const FORMS: [&dyn RecordForm; 9] =
    [&Pi, &Opencode, &Openhands, &OpenhandsV0, &Chatgpt, &ClaudeAi, &PydanticAi, &Goose, &Llm];

/// Reads an object that is one conversation.
pub(crate) type ReadObject = fn(
    &FileText,
    &RawValue,
    FileLayout,
    (usize, usize),
    Timestamp,
) -> Result<TranscriptChat, TranscriptError>;

/// A form whose conversations are objects.
struct ObjectForm {
    format: Format,
    is_conversation: fn(&RawValue) -> bool,
    read: ReadObject,
}

/// The forms whose conversations are objects.
const OBJECTS: [ObjectForm; 3] = [
    ObjectForm {
        format: Format::Opencode,
        is_conversation: opencode::is_session,
        read: opencode::read,
    },
    ObjectForm {
        format: Format::Chatgpt,
        is_conversation: chatgpt::is_conversation,
        read: chatgpt::read,
    },
    ObjectForm {
        format: Format::ClaudeAi,
        is_conversation: claude_ai::is_conversation,
        read: claude_ai::read,
    },
];

/// A form whose conversations are lists.
struct ListForm {
    form: &'static dyn RecordForm,
    is_record: fn(&RawValue) -> bool,
}

/// The forms whose conversations are lists.
const LISTS: [ListForm; 5] = [
    ListForm { form: &Openhands, is_record: openhands::is_event },
    ListForm { form: &OpenhandsV0, is_record: v0::is_event },
    ListForm { form: &PydanticAi, is_record: pydantic_ai::is_message },
    ListForm { form: &Goose, is_record: goose::is_message },
    ListForm { form: &Llm, is_record: llm::is_response },
];
/// The keys of objects that may hold such a list.
pub(crate) const LIST_KEYS: [&str; 6] =
    ["history", "events", "items", "messages", "conversation", "trajectory"];

/// Returns the form of a format whose conversations are records: of several, the current one.
pub(crate) fn of_format(format: Format) -> Option<&'static dyn RecordForm> {
    FORMS.iter().copied().find(|form| form.format() == format)
}

/// A form whose files are lines, with the title that a line may contain.
pub(crate) type LinesForm = (&'static dyn RecordForm, fn(&Entries<'_>) -> Option<String>);

/// Returns the form of lines that are one session of records: of the named format, else of the one
/// that is detected.
pub(crate) fn of_lines(named: Option<Format>, values: &[Value<'_>]) -> Option<LinesForm> {
    let is_pi = || values.iter().take(PROBED).any(|value| pi::is_line(value.raw));
    match named {
        Some(Format::Pi) => Some((&Pi, pi::name_of)),
        None if is_pi() => Some((&Pi, pi::name_of)),
        Some(Format::Goose) | None if goose::is_session(values) => Some((&Goose, goose::title_of)),
        _ => None,
    }
}

/// Returns the reader of an object that is a conversation of records: of the named format, else of
/// the one that is detected.
pub(crate) fn of_object(named: Option<Format>, object: &RawValue) -> Option<ReadObject> {
    let is_form = |form: &&ObjectForm| match named {
        Some(named) => named == form.format,
        None => (form.is_conversation)(object),
    };
    OBJECTS.iter().find(is_form).map(|form| form.read)
}

/// Returns the form in which a chat of a format is written: the one it was read from.
pub(crate) fn of_chat(format: Format, nodes: &[PlacedNode]) -> Option<&'static dyn RecordForm> {
    let read_from = |placed: &PlacedNode| {
        let form = records::form_of(placed.node.message().ok()?)?;
        (form.format() == format).then_some(form)
    };
    nodes.iter().find_map(read_from).or_else(|| of_format(format))
}

/// Returns the form of a list of records: the one that is detected among those of the named format
/// or of all. Without any, a named format has its current form.
pub(crate) fn of_list(
    named: Option<Format>,
    records: &[&RawValue],
) -> Option<&'static dyn RecordForm> {
    let is_named = |list: &&ListForm| named.is_none_or(|named| named == list.form.format());
    let is_detected = |list: &&ListForm| {
        let mut probed = records.iter().take(PROBED);
        !records.is_empty() && probed.all(|record| (list.is_record)(record))
    };
    let mut forms = LISTS.iter().filter(is_named);
    let detected = LISTS.iter().filter(is_named).find(is_detected);
    detected.or_else(|| named.and_then(|_| forms.next())).map(|list| list.form)
}
