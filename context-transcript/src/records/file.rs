//! Reading the records of a file of lines.

use context_core::Timestamp;

use super::{Conversation, RecordForm, chat};
use crate::raw::{Entries, entries};
use crate::read::{ReadTranscript, Value, unknown_form};
use crate::sidecar::SidecarEntry;
use crate::{FileLayout, FileText, FormProblem, TranscriptError, TranscriptSource};

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
