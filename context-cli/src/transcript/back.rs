//! The way out: chats as they stood in their file, one alone or the file as a whole.

use context_runtime::{Diagnostic, Json, Message, Part, store::Placed};

use super::source::Form;
use super::{Codec, Source, claude_code, codex, gemini_cli, toolbench};
use crate::error::Failure;

/// A chat on its way out.
pub(crate) struct Exported {
    pub(crate) chat: String,
    /// Where it came from; nothing if it was not imported or is wanted in another form.
    pub(crate) source: Option<Source>,
    pub(crate) content: Content,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A conversation in the form of its file.
pub(crate) enum Content {
    /// Messages, one after the other.
    Messages(Vec<Json>),
    /// Lines; what was added since has the highest number.
    Lines(Vec<(usize, Json)>),
    /// One value that holds it all.
    Whole(Json),
}

impl Content {
    /// A chat that came in as a tree, as it stood in its file. `nodes` are in the order of the
    /// store.
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

/// Whether a message holds nothing but what only its source understands.
pub(crate) fn is_note(message: &Message) -> bool {
    let keys = [claude_code::KEY, toolbench::KEY, codex::KEY, gemini_cli::KEY];
    let is_marked = keys.iter().any(|key| message.metadata.get(key).is_some());
    is_marked && message.parts.iter().all(|part| matches!(part, Part::Data(_)))
}

/// A conversation alone, as one value: as it stood in its file, else a list of messages.
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

/// A conversation alone, as text: one value, or lines if that is how it came.
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

/// Conversations of one file, in its form.
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
