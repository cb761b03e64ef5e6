//! Steps of an answer, and their parts.

use std::collections::BTreeMap;

use context_codec_kit::wire;
use context_codec_kit::wire::LossyText;
use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::model::{AnswerDelta, WireError};
use context_core::{Json, Metadata, Part, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ANNOTATIONS_KEY, PROVIDER};
use crate::continued::Continued;

/// A step, or a piece of one. Its keys depend on its type.
#[derive(Deserialize)]
pub(super) struct StepForm<'a> {
    #[serde(rename = "type")]
    kind: LossyText,
    signature: Option<LossyText>,
    #[serde(borrow)]
    summary: Option<Vec<&'a RawValue>>,
    content: Option<&'a RawValue>,
    id: Option<LossyText>,
    call_id: Option<LossyText>,
    name: Option<LossyText>,
    arguments: Option<&'a RawValue>,
}

/// An item of the model's output.
#[derive(Deserialize)]
struct ItemForm<'a> {
    #[serde(rename = "type")]
    kind: Option<LossyText>,
    text: Option<LossyText>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    data: Option<LossyText>,
    uri: Option<LossyText>,
    mime_type: Option<LossyText>,
}

/// The model's output, and the annotations of each text by its position.
#[derive(Clone, Debug, Default)]
struct Output {
    parts: Vec<Part>,
    continued: Continued,
    annotations: BTreeMap<usize, Vec<Json>>,
}

/// A step that is being received.
#[derive(Clone, Debug)]
pub(super) struct Step {
    kind: Kind,
    /// Whether the provider ended the step.
    pub(super) is_over: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Thought {
        text: String,
        signature: Option<String>,
    },
    Output(Output),
    /// The input, and its text if it arrived in pieces.
    Call {
        id: String,
        name: String,
        input: Json,
        written: String,
    },
    /// The keys of the step, and the call of the provider's own tools that it is or answers.
    Other {
        calls: Option<String>,
        answers: Option<String>,
        map: JsonMap,
    },
}

impl Step {
    /// Begins a step with its first keys.
    pub(super) fn begin(
        json: &str,
        path: &str,
        deltas: &mut Vec<AnswerDelta>,
    ) -> Result<Self, WireError> {
        let form: StepForm<'_> = wire::read(json, path)?;
        let missing = |key: &str| WireError::Missing { path: format!("{path}.{key}") };
        let kind = match form.kind.0.as_str() {
            "thought" => {
                let mut text = String::new();
                for (i, item) in form.summary.unwrap_or_default().into_iter().enumerate() {
                    let item: ItemForm<'_> =
                        wire::read(item.get(), &format!("{path}.summary[{i}]"))?;
                    text.push_str(&item.text.unwrap_or_default().0);
                }
                if !text.is_empty() {
                    deltas.push(AnswerDelta::Reasoning(text.clone()));
                }
                Kind::Thought { text, signature: form.signature.map(|text| text.0) }
            }
            "model_output" => {
                let mut output = Output::default();
                if let Some(content) = form.content {
                    let path = format!("{path}.content");
                    for (i, raw) in
                        wire::read::<Vec<&RawValue>>(content.get(), &path)?.into_iter().enumerate()
                    {
                        add_item(raw, &format!("{path}[{i}]"), &mut output, deltas)?;
                    }
                }
                Kind::Output(output)
            }
            "function_call" => {
                let id = form.id.ok_or_else(|| missing("id"))?.0;
                let name = form.name.ok_or_else(|| missing("name"))?.0;
                deltas.push(AnswerDelta::ToolCall { id: id.clone(), name: name.clone() });
                let input = form.arguments.map_or_else(|| wire::object([]), compact);
                if input.as_str() != "{}" {
                    deltas.push(AnswerDelta::ToolInput(input.as_str().to_owned()));
                }
                Kind::Call { id, name, input, written: String::new() }
            }
            kind => {
                let id = form.id.map(|id| id.0).filter(|_| kind.ends_with("_call"));
                let map = wire::read::<JsonMap>(json, path)?;
                let map = map.into_iter().map(|(key, value)| (key, value.compact())).collect();
                Kind::Other { calls: id, answers: form.call_id.map(|id| id.0), map }
            }
        };
        Ok(Self { kind, is_over: false })
    }

    /// Adds a piece.
    pub(super) fn add(
        &mut self,
        json: &RawValue,
        path: &str,
        deltas: &mut Vec<AnswerDelta>,
    ) -> Result<(), WireError> {
        let form: StepForm<'_> = wire::read(json.get(), path)?;
        match &mut self.kind {
            Kind::Thought { text, signature } => {
                if let Some(content) = form.content {
                    let item: ItemForm<'_> = wire::read(content.get(), &format!("{path}.content"))?;
                    let more = item.text.unwrap_or_default().0;
                    text.push_str(&more);
                    deltas.push(AnswerDelta::Reasoning(more));
                }
                if let Some(signed) = form.signature {
                    *signature = Some(signed.0);
                }
            }
            Kind::Output(output) => add_item(json, path, output, deltas)?,
            Kind::Call { written, .. } => {
                if let Some(arguments) = form.arguments {
                    let piece = compact(arguments);
                    let piece = wire::text(&piece).unwrap_or_else(|| piece.as_str().to_owned());
                    written.push_str(&piece);
                    deltas.push(AnswerDelta::ToolInput(piece));
                }
            }
            Kind::Other { map, .. } => {
                for (key, value) in wire::read::<JsonMap>(json.get(), path)? {
                    if key != "type" {
                        map.insert(key, value.compact());
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the id of the call of the provider's own tools that this step is, and of the one
    /// that it answers.
    pub(super) fn server_ids(&self) -> (Option<&str>, Option<&str>) {
        match &self.kind {
            Kind::Other { calls, answers, .. } => (calls.as_deref(), answers.as_deref()),
            _ => (None, None),
        }
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call { .. })
    }

    /// Returns the parts of the step, or `None` if it is not whole.
    pub(super) fn parts(&self) -> Option<Vec<Part>> {
        Some(match &self.kind {
            Kind::Thought { text, signature } => {
                if signature.is_none() && !self.is_over {
                    return None;
                }
                let (text, signature, provider) =
                    (text.clone(), signature.clone(), Some(PROVIDER.to_owned()));
                vec![Part::Reasoning(Reasoning {
                    text: text.into(),
                    signature: signature.map(Into::into),
                    provider,
                    ..Reasoning::default()
                })]
            }
            Kind::Output(output) => output.parts(),
            Kind::Call { id, name, input, written } => {
                if !self.is_over {
                    return None;
                }
                let input = match written.is_empty() {
                    true => ToolInput::Json(input.clone()),
                    false => ToolInput::from_written(written.as_str()),
                };
                let (id, name) = (id.clone(), name.clone());
                vec![Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() })]
            }
            Kind::Other { map, .. } => vec![opaque(wire::from_map(map))],
        })
    }
}

impl Output {
    fn parts(&self) -> Vec<Part> {
        let mut parts = self.continued.join(&self.parts);
        for (at, annotations) in &self.annotations {
            if let Some(Part::Text(text)) = parts.get_mut(*at) {
                text.metadata.insert(ANNOTATIONS_KEY, wire::array(annotations));
            }
        }
        parts
    }
}

/// Adds an item of the model's output: a text is appended to the text before.
fn add_item(
    raw: &RawValue,
    path: &str,
    Output { parts, continued, annotations: all }: &mut Output,
    deltas: &mut Vec<AnswerDelta>,
) -> Result<(), WireError> {
    let item: ItemForm<'_> = wire::read(raw.get(), path)?;
    let annotations = item.annotations.map(|raw| wire::list(&compact(raw), path)).transpose()?;
    let kind = item.kind.as_ref().map_or("text", |kind| kind.0.as_str());
    if let Some(LossyText(text)) = item.text.filter(|_| kind == "text") {
        if !text.is_empty() {
            deltas.push(AnswerDelta::Text(text.clone()));
        }
        match parts.last() {
            Some(Part::Text(_)) => continued.push(parts.len() - 1, &text),
            _ => parts.push(Part::Text(Text { text: text.into(), metadata: Metadata::default() })),
        }
    } else if annotations.is_none() {
        parts.push(
            media(kind, item.data, item.uri, item.mime_type)
                .unwrap_or_else(|| opaque(compact(raw))),
        );
    }
    if let (Some(annotations), Some(Part::Text(_))) = (annotations, parts.last()) {
        all.entry(parts.len() - 1).or_default().extend(annotations);
    }
    Ok(())
}

fn media(
    kind: &str,
    data: Option<LossyText>,
    uri: Option<LossyText>,
    media_type: Option<LossyText>,
) -> Option<Part> {
    let part = match kind {
        "image" => Part::Image,
        "audio" => Part::Audio,
        "document" => Part::Document,
        _ => return None,
    };
    let source = match (data, uri) {
        (Some(data), _) => MediaSource::Base64(data.0.into()),
        (None, Some(uri)) => MediaSource::Url(uri.0),
        _ => return None,
    };
    let media_type = media_type.map(|kind| kind.0);
    Some(part(Media { source, media_type, name: None, metadata: Metadata::default() }))
}

fn opaque(value: Json) -> Part {
    Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value })
}

fn compact(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}
