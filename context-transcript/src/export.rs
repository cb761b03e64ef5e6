//! Writing chats in the form of their file, each alone or the whole file.

use context_core::base::CodecError;
use context_core::message::PlacedNode;
use context_core::{Diagnostic, Json, Message, Part};

use crate::records::{self, RecordForm};
use crate::{
    FileLayout, Format, TranscriptSource, chatgpt, claude_code, codex, forms, gemini_cli, toolbench,
};

/// A conversation in the form of its file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatContent {
    /// Messages in order.
    Messages(Vec<Json>),
    /// Lines with their numbers. Later additions have the highest number.
    Lines(Vec<(usize, Json)>),
    /// One value.
    Whole(Json),
}

impl ChatContent {
    /// Returns a chat that was read from a log ([`Format::is_log`]) in the form of its file.
    /// `nodes` are the messages in the order of the store: all of them for a tree
    /// ([`Format::is_tree`]), else those of a branch. Diagnostics name content that the form cannot
    /// hold. Fails if the body of a message cannot be read.
    pub fn of_log(
        source: &TranscriptSource,
        nodes: &[PlacedNode],
    ) -> Result<(Self, Vec<Diagnostic>), CodecError> {
        Ok(match source.format {
            Format::Toolbench => {
                let (value, diagnostics) = toolbench::write(source, nodes)?;
                (Self::Whole(value), diagnostics)
            }
            Format::GeminiCli => {
                let (value, diagnostics) = gemini_cli::write(source, nodes)?;
                (Self::Whole(value), diagnostics)
            }
            Format::Chatgpt => {
                let (value, diagnostics) = chatgpt::write(source, nodes)?;
                (Self::Whole(value), diagnostics)
            }
            Format::Codex => {
                let (lines, diagnostics) = codex::write(source, nodes)?;
                (Self::Lines(lines), diagnostics)
            }
            Format::ClaudeCode => {
                let (lines, diagnostics) = claude_code::write(source, nodes)?;
                (Self::Lines(lines), diagnostics)
            }
            format => match forms::of_chat(format, nodes) {
                Some(form) => Self::of_records(form, source, nodes)?,
                None => (Self::Messages(Vec::new()), Vec::new()),
            },
        })
    }

    /// Returns a chat whose conversation is records in the form of its file.
    fn of_records(
        form: &dyn RecordForm,
        source: &TranscriptSource,
        nodes: &[PlacedNode],
    ) -> Result<(Self, Vec<Diagnostic>), CodecError> {
        let (records, diagnostics) = records::write(form, source, nodes)?;
        let content = match source.layout {
            FileLayout::MixedLines | FileLayout::MixedList => {
                let sidecar = source.sidecar_lines().map(|(line, value)| (line, value.clone()));
                let records = records.into_iter().map(|record| (record.at, record.value));
                let mut lines: Vec<_> = sidecar.chain(records).collect();
                lines.sort_by_key(|(line, _)| *line);
                Self::Lines(lines)
            }
            _ => Self::Messages(records.into_iter().map(|record| record.value).collect()),
        };
        Ok((content, diagnostics))
    }
}

/// A chat to write to a file.
#[derive(Clone, Debug)]
pub struct ExportedChat {
    source: Option<TranscriptSource>,
    content: ChatContent,
}

impl ExportedChat {
    /// Creates a chat to write. Without a source, as for a chat that was not read from a file or is
    /// written in another form, the chat is a list of messages.
    pub fn new(source: Option<TranscriptSource>, content: ChatContent) -> Self {
        Self { source, content }
    }

    /// Returns the source.
    pub fn source(&self) -> Option<&TranscriptSource> {
        self.source.as_ref()
    }

    /// Returns the conversation as one value: in the form of its file, else as a list of messages.
    pub fn to_json(&self) -> Json {
        let value = match (&self.content, &self.source) {
            (ChatContent::Whole(value), _) => value.clone(),
            (ChatContent::Lines(lines), _) => list(lines.iter().map(|(_, line)| line)),
            (
                ChatContent::Messages(messages),
                Some(TranscriptSource { key: Some(key), envelope, .. }),
            ) => {
                let mut object = envelope.clone();
                object.insert(key.clone(), list(messages));
                Json::from_serialize(&object).expect("text keys and JSON values")
            }
            (ChatContent::Messages(messages), _) => list(messages),
        };
        value.compact()
    }

    /// Returns the conversation as text: one value, or lines if it was read from lines.
    pub fn to_text(&self) -> String {
        match &self.content {
            ChatContent::Lines(all) if self.layout() != Some(FileLayout::MixedList) => {
                lines(all.iter().map(|(_, line)| line.compact()))
            }
            ChatContent::Messages(messages) if self.layout() == Some(FileLayout::MessageLines) => {
                lines(messages.iter().map(Json::compact))
            }
            _ => lines([self.to_json()]),
        }
    }

    fn layout(&self) -> Option<FileLayout> {
        self.source.as_ref().map(|source| source.layout)
    }
}

/// Returns the text of a file with these conversations, which were read from one file, in the form
/// of that file.
pub fn to_file_text(chats: &[ExportedChat]) -> String {
    match (chats.first().and_then(ExportedChat::layout), chats) {
        (Some(FileLayout::List), _) => list_text(chats.iter().map(ExportedChat::to_json)),
        (Some(layout @ (FileLayout::MixedLines | FileLayout::MixedList)), _) => {
            let contents = chats.iter().filter_map(|chat| match &chat.content {
                ChatContent::Lines(lines) => Some(lines.iter()),
                _ => None,
            });
            let mut mixed: Vec<_> = contents.flatten().collect();
            mixed.sort_by_key(|(line, _)| *line);
            let mixed = mixed.into_iter().map(|(_, line)| line.compact());
            match layout {
                FileLayout::MixedLines => lines(mixed),
                _ => list_text(mixed),
            }
        }
        (_, [alone]) => alone.to_text(),
        _ => lines(chats.iter().map(ExportedChat::to_json)),
    }
}

/// Returns whether a message holds only data that its source understands: a line or record of a log
/// that is not part of the conversation.
pub fn is_log_entry(message: &Message) -> bool {
    let keys = [claude_code::KEY, toolbench::KEY, codex::KEY, gemini_cli::KEY];
    let is_marked = keys.iter().any(|key| message.metadata.get(key).is_some())
        || records::form_of(message).is_some();
    is_marked && message.parts.iter().all(|part| matches!(part, Part::Data(_)))
}

fn list<'a>(values: impl IntoIterator<Item = &'a Json>) -> Json {
    let values: Vec<_> = values.into_iter().collect();
    Json::from_serialize(&values).expect("JSON values")
}

/// Returns the text of a list with an item on each line.
fn list_text(items: impl Iterator<Item = Json>) -> String {
    let items: Vec<_> = items.map(|item| item.to_string()).collect();
    format!("[\n{}\n]\n", items.join(",\n"))
}

fn lines(values: impl IntoIterator<Item = Json>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}
