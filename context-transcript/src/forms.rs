//! The forms of records, and their detection.

use context_core::Timestamp;
use serde_json::value::RawValue;

use crate::chat::TranscriptChat;
use crate::chatgpt::Chatgpt;
use crate::claude_ai::ClaudeAi;
use crate::opencode::Opencode;
use crate::openhands::Openhands;
use crate::pi::Pi;
use crate::read::{PROBED, Value};
use crate::records::RecordForm;
use crate::{
    FileLayout, FileText, Format, TranscriptError, chatgpt, claude_ai, opencode, openhands, pi,
};

/// Every form of records.
pub(crate) const FORMS: [&dyn RecordForm; 5] = [&Pi, &Opencode, &Openhands, &Chatgpt, &ClaudeAi];

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
const LISTS: [ListForm; 1] = [ListForm { form: &Openhands, is_record: openhands::is_event }];
/// The keys of objects that may hold such a list.
pub(crate) const LIST_KEYS: [&str; 4] = ["history", "events", "items", "messages"];

/// Returns the form of a format whose conversations are records.
pub(crate) fn of_format(format: Format) -> Option<&'static dyn RecordForm> {
    FORMS.iter().copied().find(|form| form.format() == format)
}

/// Returns the format of lines that are one session of records, if they are.
pub(crate) fn of_lines(values: &[Value<'_>]) -> Option<Format> {
    let probe =
        |is_line: fn(&RawValue) -> bool| values.iter().take(PROBED).any(|value| is_line(value.raw));
    probe(pi::is_line).then_some(Format::Pi)
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

/// Returns the form of a list of records: of the named format, else of the one that is detected.
pub(crate) fn of_list(
    named: Option<Format>,
    records: &[&RawValue],
) -> Option<&'static dyn RecordForm> {
    let is_form = |list: &&ListForm| match named {
        Some(named) => named == list.form.format(),
        None => {
            let mut probed = records.iter().take(PROBED);
            !records.is_empty() && probed.all(|record| (list.is_record)(record))
        }
    };
    LISTS.iter().find(is_form).map(|list| list.form)
}
