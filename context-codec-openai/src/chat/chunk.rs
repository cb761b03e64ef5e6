//! Reading of stream events. Everything that can fail is done here, before an answer changes, so an
//! event counts as a whole or not at all. The module `stream` decides what an event adds to an
//! answer.

use std::borrow::Cow;

use context_codec_kit::wire::{kind, raw_text, read, read_list, read_object, read_text};
use context_core::model::WireError;
use context_core::{Diagnostic, Json, Message};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::UsageIn;
use super::{form, lift};

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChunkIn<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<ChoiceIn<'a>>>,
    usage: Option<UsageIn>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChoiceIn<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<DeltaIn<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    finish_reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeltaIn<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    audio: Option<AudioIn<'a>>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallIn<'a>>>,
    #[serde(borrow)]
    function_call: Option<FunctionIn<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AudioIn<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) transcript: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallIn<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<FunctionIn<'a>>,
    #[serde(borrow)]
    custom: Option<FunctionIn<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionIn<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// The content of an event.
pub(super) struct Chunk<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<UsageIn>,
    pub(super) choices: Vec<Choice<'a>>,
    /// Whether there are answers besides the first.
    pub(super) has_others: bool,
    /// Whether the event reports an error.
    pub(super) is_error: bool,
}

/// The event's content for the first answer.
pub(super) struct Choice<'a> {
    pub(super) delta: Option<Delta<'a>>,
    /// The message of a server that sends it in one event.
    pub(super) message: Option<(Message, Vec<Diagnostic>)>,
    pub(super) finish: Option<String>,
    pub(super) is_error: bool,
}

/// The new content of a message.
pub(super) struct Delta<'a> {
    pub(super) thought: Option<Cow<'a, str>>,
    /// Whether the thought is under the newer of its keys.
    pub(super) is_newer: bool,
    pub(super) texts: Vec<Cow<'a, str>>,
    /// Whether there was content that is not text.
    pub(super) has_others: bool,
    pub(super) refusal: Option<Cow<'a, str>>,
    pub(super) audio: Option<AudioIn<'a>>,
    pub(super) annotations: Vec<Json>,
    pub(super) calls: Vec<CallDelta<'a>>,
    pub(super) legacy: Option<FunctionDelta<'a>>,
}

/// The new content of a call.
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Cow<'a, str>,
    pub(super) is_custom: bool,
    pub(super) function: FunctionDelta<'a>,
}

#[derive(Default)]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<Cow<'a, str>>,
    /// The next piece of the input.
    pub(super) more: Option<Cow<'a, str>>,
    /// Whether it continues the arguments of a call, even if it has a name.
    pub(super) continues: bool,
}

impl<'a> Chunk<'a> {
    pub(super) fn read(event: &'a str) -> Result<Self, WireError> {
        let raw: &'a RawValue = read(event, "event")?;
        if !raw.get().starts_with('{') {
            let found = kind(&form::json(raw));
            return Err(WireError::WrongType {
                path: "event".to_owned(),
                expected: "an object",
                found,
            });
        }
        let ChunkIn { id, model, choices, usage, error } = read(event, "")?;
        let (first, others): (Vec<_>, Vec<_>) = choices
            .unwrap_or_default()
            .into_iter()
            .partition(|choice| choice.index.unwrap_or_default() == 0);
        Ok(Self {
            id: id.filter(|id| !id.is_empty()),
            model: model.filter(|model| !model.is_empty()),
            usage,
            choices: first.into_iter().map(ChoiceIn::read).collect::<Result<_, _>>()?,
            has_others: !others.is_empty(),
            is_error: error.is_some(),
        })
    }
}

impl<'a> ChoiceIn<'a> {
    fn read(self) -> Result<Choice<'a>, WireError> {
        let delta = self.delta.map(DeltaIn::read).transpose()?;
        let message = self.message.map(lift::answer).transpose();
        let message = message.map_err(|error| error.within("choices[0].message"))?;
        Ok(Choice {
            delta,
            message: message.map(|lifted| (lifted.message, lifted.diagnostics)),
            finish: self.finish_reason.filter(|reason| !reason.is_empty()),
            is_error: self.error.is_some(),
        })
    }
}

impl<'a> DeltaIn<'a> {
    fn read(self) -> Result<Delta<'a>, WireError> {
        let filled =
            |raw: Option<&'a RawValue>| raw.and_then(raw_text).filter(|text| !text.is_empty());
        // Servers that write the thought under both keys write it twice.
        let older = filled(self.reasoning_content);
        let is_newer = older.is_none();
        let (texts, has_others) = self.content.map(texts).transpose()?.unwrap_or_default();
        let refusal = self.refusal.map(|raw| text_at(raw, "refusal")).transpose()?;
        let annotations = self.annotations.map(|raw| read_list(raw, "annotations")).transpose()?;
        let calls = self.tool_calls.into_iter().flatten();
        Ok(Delta {
            thought: older.or_else(|| filled(self.reasoning)),
            is_newer,
            texts,
            has_others,
            refusal: refusal.filter(|text| !text.is_empty()),
            audio: self.audio,
            annotations: annotations.unwrap_or_default().into_iter().map(form::json).collect(),
            calls: calls.map(CallIn::read).collect::<Result<_, _>>()?,
            legacy: self.function_call.map(FunctionIn::read).transpose()?,
        })
    }
}

impl<'a> CallIn<'a> {
    fn read(self) -> Result<CallDelta<'a>, WireError> {
        let is_custom = self.custom.is_some();
        let id = self.id.map(|raw| text_at(raw, "tool_calls.id")).transpose()?.unwrap_or_default();
        let function = self.custom.or(self.function).unwrap_or_default().read()?;
        Ok(CallDelta { index: self.index, id, is_custom, function })
    }
}

impl<'a> FunctionIn<'a> {
    fn read(self) -> Result<FunctionDelta<'a>, WireError> {
        let name = self.name.map(|raw| text_at(raw, "tool_calls.function.name")).transpose()?;
        let more = self.arguments.or(self.input).map(|raw| match raw_text(raw) {
            Some(text) => Ok(text),
            // Some servers write the object itself, which is then complete.
            None if raw.get().starts_with('{') => Ok(Cow::Borrowed(raw.get())),
            None => text_at(raw, "tool_calls.function.arguments"),
        });
        let more = more.transpose()?;
        let begins = |text: &str| text.is_empty() || text.trim_start().starts_with('{');
        let continues =
            self.arguments.is_some() && more.as_deref().is_some_and(|text| !begins(text));
        Ok(FunctionDelta { name, more, continues })
    }
}

/// Returns the texts of a content, and whether it has anything else.
fn texts(content: &RawValue) -> Result<(Vec<Cow<'_, str>>, bool), WireError> {
    if !content.get().starts_with('[') {
        return Ok((vec![text_at(content, "content")?], false));
    }
    let (mut texts, mut has_others) = (Vec::new(), false);
    for (i, item) in read_list(content, "choices[0].delta.content")?.into_iter().enumerate() {
        let part: form::PartIn<'_> = read_object(item, &format!("choices[0].delta.content[{i}]"))?;
        match (part.kind.and_then(raw_text).as_deref(), part.text.and_then(raw_text)) {
            (Some("text"), Some(text)) => texts.push(text),
            _ => has_others = true,
        }
    }
    Ok((texts, has_others))
}

fn text_at<'a>(raw: &'a RawValue, key: &str) -> Result<Cow<'a, str>, WireError> {
    read_text(raw, key).map_err(|error| error.within("choices[0].delta"))
}
