//! Lowering of messages. Never fails: content that the form cannot hold is left out, with a
//! diagnostic.

use std::borrow::Cow;
use std::collections::HashMap;

use context_core::message::{Media, MediaSource, Reasoning, ToolInput};

use context_codec_kit::wire;
use context_codec_kit::wire::{GEMINI_MEDIA, MediaFault};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::model::MediaKind;
use context_core::{
    Diagnostic, Json, JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult,
};
use serde::Deserialize;

use super::content_out::{ContentOut, Kind, Order, PartOut, Response};
use super::lift::is_own_file;
use super::{NESTED, NO_ID, PART_KEY, PROVIDER, RESPONSE_KEY, SIGNATURE_KEY, opaque};

/// The target of a written message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For the provider: what it accepts, in the order it requires.
    Send,
    /// For the source: in the original order.
    Source,
}

/// Writes messages in order, and keeps the state that later messages need.
#[derive(Default)]
pub(super) struct Writer<'a> {
    mode: Option<Mode>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The position of the message in its request; `None` for a single message.
    pub(super) position: Option<usize>,
    /// Whether media may be written within a response although they were not read there.
    pub(super) nests_media: bool,
    /// The calls of the previous turn.
    calls: HashMap<&'a str, CallRef<'a>>,
}

#[derive(Clone, Copy)]
struct CallRef<'a> {
    name: &'a str,
    has_id: bool,
    order: usize,
}

/// The form of a result's text in its response.
#[derive(Default, Deserialize)]
struct TextForm {
    key: Option<String>,
    #[serde(default)]
    json: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode: Some(mode), ..Self::default() }
    }

    fn for_source(&self) -> bool {
        self.mode == Some(Mode::Source)
    }

    fn note(&mut self, index: usize, why: &str) {
        let path = match self.position {
            Some(position) => format!("messages[{position}].parts[{index}]"),
            None => format!("parts[{index}]"),
        };
        let code = DiagnosticCode::Unrepresentable;
        self.diagnostics.push(Diagnostic::new(code, Severity::Warning, path, why));
    }

    /// Returns the content of a message. When sending it may have no parts; then nothing in the
    /// message has a form.
    pub(super) fn content(&mut self, message: &'a Message) -> ContentOut<'a> {
        let by_model = message.role == Role::Assistant;
        let role = match message.role {
            Role::Assistant => "model",
            Role::System if self.for_source() => "system",
            Role::System | Role::User | Role::Tool => "user",
        };
        let mut content = ContentOut {
            role,
            parts: Vec::with_capacity(message.parts.len()),
            order: Order::Usual,
        };
        if by_model {
            self.calls.clear();
        }
        let mut beside = Vec::new();
        for (i, part) in message.parts.iter().enumerate() {
            let part = self.part(part, i, by_model, &mut beside);
            content.parts.extend(part);
        }
        if !self.for_source() {
            content.parts.extend(beside);
            if !by_model {
                self.order(&mut content.parts);
                // Only the model signs.
                content.parts.iter_mut().for_each(|part| part.signature = None);
            }
        }
        content
    }

    /// Puts results before everything else. Results that are distinguished only by their order are
    /// put in the order of their calls.
    fn order(&self, parts: &mut [PartOut<'a>]) {
        parts.sort_by_key(|part| match &part.kind {
            Kind::Response(response) => response.order,
            _ => usize::MAX,
        });
    }

    fn part(
        &mut self,
        part: &'a Part,
        index: usize,
        by_model: bool,
        beside: &mut Vec<PartOut<'a>>,
    ) -> Option<PartOut<'a>> {
        let source = self.for_source();
        let why = match part {
            Part::Text(text) => {
                let signature = text.metadata.get(SIGNATURE_KEY).filter(|_| by_model);
                if !source && signature.is_none() && text.text.is_blank() {
                    return None;
                }
                return Some(
                    PartOut::new(Kind::Text(Cow::Borrowed(&text.text))).with(&text.metadata),
                );
            }
            Part::Opaque(block) if block.provider == PROVIDER => {
                match opaque::fault(&block.value, by_model).filter(|_| !source) {
                    None => return Some(PartOut::new(Kind::Opaque(&block.value))),
                    Some(why) => why,
                }
            }
            Part::Reasoning(thought) if source || by_model => match reasoning(thought, source) {
                Some(part) => return Some(part),
                None => "a thought of another provider",
            },
            Part::ToolCall(call) if source || by_model => return Some(self.call(call, index)),
            Part::ToolResult(result) if source || !by_model => {
                return Some(self.result(result, index, beside));
            }
            Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                match self.media(part, media) {
                    Ok(kind) => return Some(PartOut::new(kind).with(&media.metadata)),
                    Err(why) => why,
                }
            }
            Part::Reasoning(_) | Part::ToolCall(_) => {
                "only an assistant message holds thoughts and calls"
            }
            Part::ToolResult(_) => "an assistant message holds no results",
            Part::Opaque(_) => "a block of another provider",
            Part::Data(_) => "data of the application",
            _ => "the form has no such part",
        };
        self.note(index, &format!("left out: {why}"));
        None
    }

    fn call(&mut self, call: &'a ToolCall, index: usize) -> PartOut<'a> {
        let has_id = call.metadata.get(NO_ID).is_none();
        if !self.for_source() {
            let order = self.calls.len();
            self.calls.insert(&call.id, CallRef { name: &call.name, has_id, order });
        }
        let args = match &call.input {
            ToolInput::Json(json) if self.for_source() || wire::kind(json) == "an object" => {
                Cow::Borrowed(json)
            }
            other => {
                // The provider accepts only an object, and the model should see what it wrote.
                self.note(index, "the input is not a JSON object: it is sent as a value in one");
                let value = match other {
                    ToolInput::Json(json) => json.clone(),
                    ToolInput::Invalid(text) => text.as_str().into(),
                };
                Cow::Owned(wire::object([("value", value)]))
            }
        };
        let id = has_id.then_some(call.id.as_str());
        PartOut::new(Kind::Call { id, name: &call.name, args }).with(&call.metadata)
    }

    fn result(
        &mut self,
        result: &'a ToolResult,
        index: usize,
        beside: &mut Vec<PartOut<'a>>,
    ) -> PartOut<'a> {
        let called = self.calls.get(result.call_id.as_str()).copied();
        let has_id = match called {
            Some(called) if !self.for_source() => called.has_id,
            _ => result.metadata.get(NO_ID).is_none(),
        };
        let name = result.name.as_deref();
        let name = if self.for_source() { name } else { called.map(|called| called.name).or(name) };
        let (mut texts, mut nested, mut follow) = (Vec::new(), Vec::new(), Vec::new());
        let mut lost = Vec::new();
        for part in &result.output {
            match part {
                Part::Text(text) => texts.push(&text.text),
                Part::Opaque(block) if block.provider == PROVIDER => {
                    let found = if self.for_source() {
                        Some(Ok(()))
                    } else {
                        opaque::media_of(&block.value)
                    };
                    match found {
                        Some(Ok(())) => nested.push(PartOut::new(Kind::Opaque(&block.value))),
                        Some(Err(fault)) => {
                            lost.push(MediaKind::Document);
                            self.note(index, &format!("left out: {}", fault.reason()));
                        }
                        None => self.note(index, "left out: a result holds only text and media"),
                    }
                }
                Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                    match self.media(part, media) {
                        Ok(kind) if self.nests(media) => {
                            nested.push(PartOut::new(kind).with(&media.metadata));
                        }
                        Ok(kind) => follow.push((media, PartOut::new(kind).with(&media.metadata))),
                        Err(why) => {
                            lost.extend(wire::media_kind(part));
                            self.note(index, &format!("left out: {why}"));
                        }
                    }
                }
                _ => self.note(index, "left out: a result holds only text and media"),
            }
        }
        let mut text = JsonString::join(texts, "\n");
        if let Some((first, _)) = follow.first() {
            let kind = first.media_type.as_deref().unwrap_or("media");
            let note = match follow.len() {
                1 => format!("({kind} follows the results)"),
                n => format!("({kind} and {} more follow the results)", n - 1),
            };
            add_line(&mut text, &note);
            let name = called
                .map(|called| called.name)
                .or(result.name.as_deref())
                .unwrap_or(&result.call_id);
            beside.push(PartOut::new(Kind::Text(Cow::Owned(
                format!("From the result of {name}:").into(),
            ))));
            beside.extend(follow.into_iter().map(|(_, part)| part));
        }
        if let Some(note) = wire::lost_media(&lost).filter(|_| !self.for_source()) {
            add_line(&mut text, &note);
        }
        let (key, value, json) = result_text(result, text);
        let order = match called {
            Some(called) if !has_id => called.order,
            _ => 0,
        };
        let response = Response {
            id: has_id.then_some(result.call_id.as_str()),
            name: name.or_else(|| (!self.for_source()).then_some(result.call_id.as_str())),
            key,
            value,
            json,
            parts: nested,
            order,
        };
        PartOut::new(Kind::Response(Box::new(response))).with(&result.metadata)
    }

    /// Returns whether media are written into their response: they were read there, or the model is
    /// known to accept them there.
    fn nests(&self, media: &Media) -> bool {
        const NESTED_TYPES: [&str; 5] =
            ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];
        self.for_source()
            || media.metadata.get(NESTED).is_some()
            || self.nests_media
                && media.media_type.as_deref().is_some_and(|kind| NESTED_TYPES.contains(&kind))
    }

    fn media(&self, part: &'a Part, media: &'a Media) -> Result<Kind<'a>, &'static str> {
        if self.for_source() {
            return source_form(media);
        }
        request_form(part, media).map_err(MediaFault::reason)
    }
}

/// Returns media for the source, unchanged.
fn source_form(media: &Media) -> Result<Kind<'_>, &'static str> {
    let (media_type, name) = (media.media_type.as_deref(), media.name.as_deref());
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media_type.ok_or(MediaFault::NoType.reason())?;
            Ok(Kind::Inline { media_type, data: data.into(), name })
        }
        MediaSource::Url(uri) => {
            let media_type =
                media_type.or_else(|| type_of(uri)).ok_or(MediaFault::NoType.reason())?;
            Ok(Kind::File { media_type: Some(media_type), uri, name })
        }
        MediaSource::Reference(uri) => Ok(Kind::File { media_type, uri, name }),
        _ => Err(MediaFault::Elsewhere.reason()),
    }
}

/// Returns media for the provider, if it accepts their type.
fn request_form<'a>(part: &Part, media: &'a Media) -> Result<Kind<'a>, MediaFault> {
    let kind = wire::media_kind(part).unwrap_or(MediaKind::Document);
    let (uri, media_type) = match &media.source {
        MediaSource::Url(uri) if wire::is_web_url(uri) || is_own_file(uri) => {
            let media_type = media.media_type.as_deref().or_else(|| type_of(uri));
            (uri, Some(media_type.ok_or(MediaFault::NoType)?))
        }
        MediaSource::Reference(uri) if is_own_file(uri) => (uri, media.media_type.as_deref()),
        _ => {
            let found = GEMINI_MEDIA.check(kind, media)?;
            let media_type = found.media_type.ok_or(MediaFault::NoType)?;
            return Ok(Kind::Inline { media_type, data: found.data, name: None });
        }
    };
    let taken = |named| GEMINI_MEDIA.type_name(kind, named).ok_or(MediaFault::Type);
    let media_type = media_type.map(taken).transpose()?;
    Ok(Kind::File { media_type, uri, name: None })
}

/// Returns whether a message of this role can hold a part: the same decision as in writing it,
/// without writing it.
pub(super) fn carries(role: Role, part: &Part) -> bool {
    let by_model = role == Role::Assistant;
    match part {
        Part::Text(_) => true,
        Part::Opaque(block) => {
            block.provider == PROVIDER && opaque::fault(&block.value, by_model).is_none()
        }
        Part::Reasoning(thought) => by_model && reasoning(thought, false).is_some(),
        Part::ToolCall(_) => by_model,
        Part::ToolResult(_) => !by_model,
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
            request_form(part, media).is_ok()
        }
        _ => false,
    }
}

/// Returns the media type of a file at an address, by its extension.
fn type_of(uri: &str) -> Option<&'static str> {
    let path = uri.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" => "audio/ogg",
        _ => return None,
    })
}

/// Adds a line to the text of a result.
fn add_line(text: &mut Option<Cow<'_, JsonString>>, line: &str) {
    match text {
        Some(text) if !text.is_empty() => text.to_mut().push_str(&format!("\n{line}")),
        _ => *text = Some(Cow::Owned(line.into())),
    }
}

/// Returns the key of a result's text, the text, and the JSON to write in its place.
fn result_text<'a>(
    result: &'a ToolResult,
    text: Option<Cow<'a, JsonString>>,
) -> (Option<Cow<'static, str>>, Option<Cow<'a, JsonString>>, Option<Json>) {
    let usual = if result.is_error { "error" } else { "output" };
    let Some(text) = text else { return (None, None, None) };
    let form: Option<TextForm> =
        result.metadata.get(RESPONSE_KEY).and_then(|form| form.parse().ok());
    let Some(TextForm { key, json }) = form else { return (Some(usual.into()), Some(text), None) };
    let key = match key.as_deref() {
        // The result's error flag counts, not the key that was read.
        Some("error") if !result.is_error => None,
        Some(other) if other != "error" && result.is_error => None,
        _ => Some(key),
    };
    let parsed = json.then(|| Json::from_text(text.to_cow()).ok());
    match (key, parsed) {
        (Some(Some(key)), None) => (Some(key.into()), Some(text), None),
        (Some(Some(key)), Some(Some(json))) => (Some(key.into()), None, Some(json)),
        (Some(None), Some(Some(json))) if wire::kind(&json) == "an object" && !result.is_error => {
            (None, None, Some(json))
        }
        _ => (Some(usual.into()), Some(text), None),
    }
}

/// Returns the part of a thought of this provider; for a source, of any provider.
fn reasoning(thought: &Reasoning, source: bool) -> Option<PartOut<'_>> {
    let is_own = thought.provider.as_deref() == Some(PROVIDER);
    if !source && (!is_own || thought.signature.is_none() && thought.text.is_blank()) {
        return None;
    }
    let mut part = PartOut::new(Kind::Text(Cow::Borrowed(&thought.text))).with(&thought.metadata);
    // A signature alone is an empty text that is not a thought.
    part.thought = !thought.text.is_empty();
    part.signature = thought.signature.as_ref().map(|signature| Cow::Owned(signature.into()));
    Some(part)
}

impl<'a> PartOut<'a> {
    /// Adds the metadata that belongs to a part.
    fn with(mut self, metadata: &'a Metadata) -> Self {
        if !metadata.is_empty() {
            self.signature = metadata.get(SIGNATURE_KEY).map(Cow::Borrowed);
            self.others = metadata
                .get(PART_KEY)
                .and_then(|others| others.parse::<JsonMap>().ok())
                .map(Box::new);
        }
        self
    }
}
