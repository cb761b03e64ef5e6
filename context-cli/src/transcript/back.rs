//! Export: chats in the form of their file, each alone or the whole file.

use context_runtime::{Diagnostic, Json, Message, Part, store::Placed};

use super::source::Form;
use super::{Codec, Source, claude_code, codex, gemini_cli, toolbench};
use crate::error::Failure;

/// A chat to export.
pub(crate) struct Exported {
    pub(crate) chat: String,
    /// The source, or `None` if the chat was not imported or another form is requested.
    pub(crate) source: Option<Source>,
    pub(crate) content: Content,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A conversation in the form of its file.
pub(crate) enum Content {
    /// Messages in order.
    Messages(Vec<Json>),
    /// Lines with their numbers. Later additions have the highest number.
    Lines(Vec<(usize, Json)>),
    /// One value.
    Whole(Json),
}

impl Content {
    /// Returns a chat that was imported as a tree in the form of its file. `nodes` are in the order
    /// of the store.
    pub(crate) fn of_tree(
        source: &Source,
        nodes: &[Placed],
    ) -> Result<(Self, Vec<Diagnostic>), Failure> {
        Ok(match source.codec {
            Codec::Toolbench => {
                let (value, diagnostics) = toolbench::back(source, nodes)?;
                (Self::Whole(value), diagnostics)
            }
            Codec::GeminiCli => {
                let (value, diagnostics) = gemini_cli::back(source, nodes)?;
                (Self::Whole(value), diagnostics)
            }
            Codec::Codex => {
                let (lines, diagnostics) = codex::back(source, nodes)?;
                (Self::Lines(lines), diagnostics)
            }
            _ => {
                let (lines, diagnostics) = claude_code::back(source, nodes)?;
                (Self::Lines(lines), diagnostics)
            }
        })
    }
}

/// Returns whether a message contains only data that its source understands.
pub(crate) fn is_note(message: &Message) -> bool {
    let keys = [claude_code::KEY, toolbench::KEY, codex::KEY, gemini_cli::KEY];
    let is_marked = keys.iter().any(|key| message.metadata.get(key).is_some());
    is_marked && message.parts.iter().all(|part| matches!(part, Part::Data(_)))
}

/// Returns a conversation as one value: in the form of its file, else as a list of messages.
pub(crate) fn value(exported: &Exported) -> Json {
    let value = match (&exported.content, &exported.source) {
        (Content::Whole(value), _) => value.clone(),
        (Content::Lines(lines), _) => list(lines.iter().map(|(_, line)| line)),
        (Content::Messages(messages), Some(Source { key: Some(key), envelope, .. })) => {
            let mut object = envelope.clone();
            object.insert(key.clone(), list(messages));
            Json::from_serialize(&object).expect("text keys and JSON values")
        }
        (Content::Messages(messages), _) => list(messages),
    };
    value.compact()
}

fn list<'a>(values: impl IntoIterator<Item = &'a Json>) -> Json {
    let values: Vec<_> = values.into_iter().collect();
    Json::from_serialize(&values).expect("JSON values")
}

/// Returns a conversation as text: one value, or lines if it was imported as lines.
pub(crate) fn single(exported: &Exported) -> String {
    let form = exported.source.as_ref().map(|source| source.form);
    match &exported.content {
        Content::Lines(all) => lines(all.iter().map(|(_, line)| line.compact())),
        Content::Messages(messages) if form == Some(Form::MessageLines) => {
            lines(messages.iter().map(Json::compact))
        }
        _ => lines([value(exported)]),
    }
}

/// Returns the conversations of one file in the form of the file.
pub(crate) fn file(all: &[Exported]) -> String {
    let form = all.first().and_then(|first| Some(first.source.as_ref()?.form));
    match (form, all) {
        (Some(Form::List), _) => {
            let items: Vec<_> = all.iter().map(|exported| value(exported).to_string()).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        (Some(Form::MixedLines), _) => {
            let contents = all.iter().filter_map(|exported| match &exported.content {
                Content::Lines(lines) => Some(lines.iter()),
                _ => None,
            });
            let mut mixed: Vec<_> = contents.flatten().collect();
            mixed.sort_by_key(|(line, _)| *line);
            lines(mixed.into_iter().map(|(_, line)| line.compact()))
        }
        (_, [alone]) => single(alone),
        _ => lines(all.iter().map(value)),
    }
}

fn lines(values: impl IntoIterator<Item = Json>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}
