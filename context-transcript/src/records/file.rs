//! Reading the records of a file: of its lines, or of a list.

use context_core::Timestamp;
use context_core::base::JsonMap;
use serde_json::value::RawValue;

use super::{Conversation, RecordForm, chat};
use crate::chat::TranscriptChat;
use crate::raw::{Entries, entries, value_of};
use crate::read::{ReadTranscript, Value, unknown_form};
use crate::sidecar::SidecarEntry;
use crate::{FileLayout, FileText, FormProblem, TranscriptError, TranscriptSource, lists};

/// Reads a file of lines that is one conversation. Lines that are not records are kept with their
/// numbers. `title` returns the title from a line that has one; the last one counts.
pub(crate) fn read_lines(
    form: &'static dyn RecordForm,
    file: &FileText,
    values: Vec<Value<'_>>,
    title: impl Fn(&Entries<'_>) -> Option<String>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let mut read = ReadTranscript::default();
    let (mut records, mut others, mut named) = (Vec::new(), Vec::new(), None);
    for Value { line, raw } in values {
        let Some(entries) = entries(raw) else {
            let problem = FormProblem::LineNotObject;
            read.broken.push(line, unknown_form(file, raw.get(), Some(form.format()), problem));
            continue;
        };
        named = title(&entries).or(named);
        match form.is_record(&entries) {
            true => records.push((line, raw)),
            false => others.push(SidecarEntry { at: line, value: super::json_of(raw) }),
        }
    }
    if records.is_empty() && others.is_empty() {
        return Ok(read);
    }
    let layout = FileLayout::MixedLines;
    let source = TranscriptSource::new(file.name(), form.format(), layout, (0, 1));
    let (title, current) = (named, None);
    let conversation = Conversation { form, file, source, records, others, title, current, at };
    read.chats.push(chat(conversation)?);
    Ok(read)
}

/// Returns the records of an object under a key, and the rest of the object.
pub(crate) fn records_of<'a>(
    form: &dyn RecordForm,
    file: &FileText,
    object: &'a RawValue,
    key: &str,
) -> Result<(Vec<&'a RawValue>, JsonMap), TranscriptError> {
    let envelope = serde_json::from_str(object.get())
        .map_err(|error| file.syntax_error(object.get(), error))?;
    let list = value_of(object, key, '[').ok_or_else(|| {
        unknown_form(file, object.get(), Some(form.format()), FormProblem::NoMessages)
    })?;
    Ok((lists::items(file, list)?, envelope))
}

/// Reads a list of records as a chat.
pub(crate) fn list_chat(
    form: &'static dyn RecordForm,
    file: &FileText,
    source: TranscriptSource,
    records: Vec<&RawValue>,
    title: Option<String>,
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let records = records.into_iter().enumerate().collect();
    let (others, current) = (Vec::new(), None);
    chat(Conversation { form, file, source, records, others, title, current, at })
}
