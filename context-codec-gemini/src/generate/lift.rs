//! Lifting of messages. This module only reads; lost values are found by comparing with the plain
//! form.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::marker::PhantomData;

use context_codec_kit::wire;
use context_codec_kit::wire::{Entries, LossyText, TakenText};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, ToolInput};
use context_core::model::WireError;
use context_core::{
    Diagnostic, Json, JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult,
};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::form::{Blob, Call, Content, File, PartForm, RawParts, Response};
use super::{NESTED, NO_ID, PART_KEY, PROVIDER, RESPONSE_KEY, SIGNATURE_KEY};

/// Reads contents in order, and keeps the state that later contents need.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The position of the message in its body; `None` for a single message.
    pub(super) position: Option<usize>,
    /// A buffer for the plain form of a content, which is compared with its source.
    pub(super) plain: Vec<u8>,
    /// The calls of the previous turn, as tools and ids, for responses that name no id.
    calls: Vec<(String, String)>,
    /// The same calls by tool, filled once there is such a response.
    open: HashMap<String, VecDeque<String>>,
    /// For each tool, how often this message named it without an id.
    unnamed: HashMap<String, usize>,
}

impl Reader {
    /// Lifts the message of a content, without the difference to its source.
    pub(super) fn content(
        &mut self,
        json: &str,
        path: &dyn Fn() -> String,
    ) -> Result<Message, WireError> {
        let content =
            serde_json::from_str::<Content<'_>>(json).or_else(|_| wire::read(json, &path()))?;
        let forms = content.parts.unwrap_or_default();
        let role = match content.role.as_ref().map(|role| role.0.as_str()) {
            None | Some("user" | "") => Role::User,
            Some("model") => Role::Assistant,
            Some("function" | "tool") => Role::Tool,
            Some("system") => Role::System,
            Some(role) => {
                let known = "user, model, function, tool, system";
                return Err(WireError::UnknownRole { role: role.to_owned(), known });
            }
        };
        self.unnamed.clear();
        if role == Role::Assistant {
            self.calls.clear();
            self.open.clear();
        }
        let (mut raw, mut parts) = (None, Vec::with_capacity(forms.len().max(1)));
        for (i, form) in forms.into_iter().enumerate() {
            let at = || format!("{}[{i}]", key_path(&path(), "parts"));
            let part = match self.part(form, i, &at)? {
                Some(part) => part,
                None => {
                    let raw_parts = match &mut raw {
                        Some(raw_parts) => raw_parts,
                        None => raw.insert(wire::read::<RawParts<'_>>(json, &path())?.parts),
                    };
                    opaque(raw_parts[i])
                }
            };
            parts.push(part);
        }
        let only_results =
            !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
        let role = if role == Role::User && only_results { Role::Tool } else { role };
        if parts.is_empty() {
            // Marks a message that was empty, in contrast to one whose content is still to come.
            parts.push(Part::text(""));
        }
        Ok(Message::new(role, parts))
    }

    /// Lifts a part; returns `None` if it has to be kept as it was written.
    pub(super) fn part(
        &mut self,
        form: PartForm<'_>,
        index: usize,
        at: &dyn Fn() -> String,
    ) -> Result<Option<Part>, WireError> {
        if let Some(signature) = form.signature
            && !signature.get().starts_with('"')
        {
            let path = key_path(&at(), "thoughtSignature");
            return Err(wire::wrong_type(&json_of(signature), &path, "a string"));
        }
        let contents = form.contents();
        if contents != 1 && !(contents == 0 && form.signature.is_some() && form.others.is_empty()) {
            if !form.others.keys().any(|key| is_known(&key.0)) {
                let reason = "a part of this kind is kept for its provider only";
                let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
                self.diagnostics.push(Diagnostic::new(code, severity, at(), reason));
            }
            return Ok(None);
        }
        let PartForm { text, thought, signature, inline_data, file_data, call, response, others } =
            form;
        let mut metadata = Metadata::default();
        if let Some(others) = self::others(&others) {
            metadata.insert(PART_KEY, others);
        }
        let is_thought = |text: &TakenText| thought || (text.0.is_empty() && signature.is_some());
        if contents == 0 || text.as_ref().is_some_and(is_thought) {
            let TakenText(text) = text.unwrap_or_default();
            return Ok(Some(thought_of(text, signature, metadata)));
        }
        if let Some(signature) = signature {
            metadata.insert(SIGNATURE_KEY, json_of(signature));
        }
        Ok(if let Some(TakenText(text)) = text {
            Some(Part::Text(context_core::message::Text { text, metadata }))
        } else if let Some(blob) = inline_data {
            inline(blob, metadata)
        } else if let Some(file) = file_data {
            filed(file, metadata)
        } else if let Some(call) = call {
            Some(Part::ToolCall(self.call(call, metadata, index, at)?))
        } else if let Some(response) = response {
            Some(Part::ToolResult(self.result(response, metadata, index, at)?))
        } else {
            None
        })
    }

    fn call(
        &mut self,
        call: Call<'_>,
        mut metadata: Metadata,
        index: usize,
        at: &dyn Fn() -> String,
    ) -> Result<ToolCall, WireError> {
        let missing = || WireError::Missing { path: key_path(&at(), "functionCall.name") };
        let LossyText(name) = call.name.ok_or_else(missing)?;
        let id = match call.id.map(|id| id.0).filter(|id| !id.is_empty()) {
            Some(id) => id,
            None => {
                metadata.insert(NO_ID, wire::truth());
                self.derived_id(&name, index)
            }
        };
        self.calls.push((name.clone(), id.clone()));
        Ok(ToolCall {
            id,
            name,
            input: ToolInput::Json(call.args.map_or_else(empty, json_of)),
            metadata,
        })
    }

    fn result(
        &mut self,
        response: Response<'_>,
        mut metadata: Metadata,
        index: usize,
        at: &dyn Fn() -> String,
    ) -> Result<ToolResult, WireError> {
        let name = response.name.map(|name| name.0).filter(|name| !name.is_empty());
        let called = name.as_deref().unwrap_or_default();
        let call_id = match response.id.map(|id| id.0).filter(|id| !id.is_empty()) {
            Some(id) => id,
            None => {
                metadata.insert(NO_ID, wire::truth());
                for (name, id) in self.calls.drain(..) {
                    self.open.entry(name).or_default().push_back(id);
                }
                match self.open.get_mut(called).and_then(VecDeque::pop_front) {
                    Some(id) => id,
                    None => self.derived_id(called, index),
                }
            }
        };
        let path = || key_path(&at(), "functionResponse");
        let (mut output, mut is_error) = (Vec::new(), false);
        if let Some(object) = response.response {
            let reason = ResponseText::of(object, &|| key_path(&path(), "response"))?;
            is_error = reason.is_error;
            output.extend(reason.text.map(Part::text));
            if let Some(form) = reason.form {
                metadata.insert(RESPONSE_KEY, form);
            }
        }
        for (i, raw) in response.parts.unwrap_or_default().into_iter().enumerate() {
            let form: PartForm<'_> = wire::read(raw.get(), &format!("{}.parts[{i}]", path()))?;
            let mut nested = Metadata::default().with(NESTED, wire::truth());
            if let Some(others) = others(&form.others) {
                nested.insert(PART_KEY, others);
            }
            output.push(
                match form {
                    PartForm { inline_data: Some(blob), file_data: None, .. } => {
                        inline(blob, nested)
                    }
                    PartForm { file_data: Some(file), inline_data: None, .. } => {
                        filed(file, nested)
                    }
                    _ => None,
                }
                .unwrap_or_else(|| opaque(raw)),
            );
        }
        Ok(ToolResult { call_id, name, output, is_error, metadata })
    }

    /// Returns an id for a call or response that names none: from its place in the body, or from
    /// its tool and how often the message named that tool.
    fn derived_id(&mut self, name: &str, index: usize) -> String {
        if let Some(position) = self.position {
            return format!("call_{position}_{index}");
        }
        let count = self.unnamed.entry(name.to_owned()).or_default();
        *count += 1;
        format!("call_{}_{count}", id_text(name))
    }
}

/// Replaces the characters that an id may not have.
pub(super) fn id_text(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    text.chars().map(keep).collect()
}

/// The text of a tool result, and its form in the response.
struct ResponseText {
    text: Option<String>,
    is_error: bool,
    form: Option<Json>,
}

impl ResponseText {
    fn of(response: &RawValue, path: &dyn Fn() -> String) -> Result<Self, WireError> {
        let entries = serde_json::from_str::<SoleEntry<'_>>(response.get());
        let (key, value) = match entries.or_else(|_| wire::read(response.get(), &path()))? {
            SoleEntry::None => return Ok(Self { text: None, is_error: false, form: None }),
            SoleEntry::One(key, value) => (key, value),
            SoleEntry::More => {
                let (text, form) = (compact(response), wire::object([("json", wire::truth())]));
                return Ok(Self { text: Some(text), is_error: false, form: Some(form) });
            }
        };
        let key = &*key;
        let plain = matches!(key, "output" | "error");
        let named = (!plain).then(|| ("key", Json::from(key)));
        let (text, form) = match wire::raw_text(value) {
            Some(text) => (text.into_owned(), named.map(|named| wire::object([named]))),
            None => {
                (compact(value), Some(wire::object([("key", key.into()), ("json", wire::truth())])))
            }
        };
        Ok(Self { text: Some(text), is_error: key == "error", form })
    }
}

/// The entry of an object with at most one entry.
enum SoleEntry<'a> {
    None,
    One(Cow<'a, str>, &'a RawValue),
    More,
}

impl<'de: 'a, 'a> Deserialize<'de> for SoleEntry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SoleEntryVisitor(PhantomData))
    }
}

struct SoleEntryVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for SoleEntryVisitor<'a> {
    type Value = SoleEntry<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entry = SoleEntry::None;
        while let Some((wire::Key(key), value)) = map.next_entry()? {
            entry = match entry {
                // Of a repeated key the last value counts.
                SoleEntry::One(before, _) if before == key => SoleEntry::One(key, value),
                SoleEntry::None => SoleEntry::One(key, value),
                _ => SoleEntry::More,
            };
        }
        Ok(entry)
    }
}

fn thought_of(text: JsonString, signature: Option<&RawValue>, metadata: Metadata) -> Part {
    let signature = signature.and_then(wire::json_string);
    let provider = Some(PROVIDER.to_owned());
    Part::Reasoning(Reasoning { text, signature, provider, encrypted: None, metadata })
}

fn inline(blob: Blob, metadata: Metadata) -> Option<Part> {
    media(MediaSource::Base64(blob.data?.0), blob.mime_type, blob.name, metadata)
}

fn filed(file: File, metadata: Metadata) -> Option<Part> {
    let uri = file.uri?.0;
    let source =
        if is_own_file(&uri) { MediaSource::Reference(uri) } else { MediaSource::Url(uri) };
    media(source, file.mime_type, file.name, metadata)
}

/// Returns whether an address names a file that this provider stores.
pub(super) fn is_own_file(uri: &str) -> bool {
    uri.starts_with("gs://") || uri.starts_with("https://generativelanguage.googleapis.com/")
}

/// Returns the part of media of a kind that other providers have too. None has a part for video.
fn media(
    source: MediaSource,
    media_type: Option<LossyText>,
    name: Option<LossyText>,
    metadata: Metadata,
) -> Option<Part> {
    let media_type = media_type?.0;
    let kind = match media_type.split('/').next()? {
        "image" => Part::Image,
        "audio" => Part::Audio,
        "video" => return None,
        _ => Part::Document,
    };
    Some(kind(Media {
        source,
        media_type: Some(media_type),
        name: name.map(|name| name.0),
        metadata,
    }))
}

/// Returns whether a part with this key is known although it is kept unchanged.
fn is_known(key: &str) -> bool {
    const KNOWN: [&str; 8] = [
        "executableCode",
        "executable_code",
        "codeExecutionResult",
        "code_execution_result",
        "toolCall",
        "tool_call",
        "toolResponse",
        "tool_response",
    ];
    KNOWN.contains(&key)
}

fn others(map: &Entries<'_>) -> Option<Json> {
    if map.is_empty() {
        return None;
    }
    let map: JsonMap = map.iter().map(|(key, value)| (key.0.to_string(), json_of(value))).collect();
    Some(wire::from_map(&map))
}

fn opaque(raw: &RawValue) -> Part {
    Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: json_of(raw) })
}

/// Returns the value without white space between its tokens.
pub(super) fn json_of(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}

fn compact(raw: &RawValue) -> String {
    json_of(raw).as_str().to_owned()
}

/// Returns an empty object.
pub(super) fn empty() -> Json {
    wire::object([])
}

/// Returns the path of a key of the value at a path.
pub(super) fn key_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
