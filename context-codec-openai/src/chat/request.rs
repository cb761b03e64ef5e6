//! Whole bodies: lifting and lowering.

use std::cell::{Cell, RefCell};

use context_codec_kit::JsonPatch;
use context_codec_kit::normalize::{HistoryRules, Normalized};
use context_codec_kit::wire::{Entries, Key, outdated, read_list, read_object};
use context_core::message::Text;
use context_core::model::{LiftedRequest, LoweredRequest, WireError};
use context_core::{Diagnostic, Json, Message, ModelRequest, Part, Role};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::envelope::{self, Envelope};
use super::lower::{self, Mode, Writer};
use super::{BREAKPOINT, PROVIDER, ROLE, SOURCE_KEY, residual};
use crate::body::{self, BodyIn};

/// The provider's rules for a history. Some of its servers refuse ids longer than 40 characters,
/// all refuse ids longer than 64.
pub(super) const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.max_id_len = 40;
    rules.max_name_len = 64;
    rules.chooses_blocks = true;
    rules.carries = lower::carries;
    rules
};

pub(super) fn lift(body: &Json) -> Result<LiftedRequest, WireError> {
    let (entries, messages) = match body::read(body.as_str(), "messages") {
        Some(BodyIn { entries, list }) => (entries, list),
        None => step_by_step(body)?,
    };
    let mut request = envelope::lift(&entries);
    let mut diagnostics = Vec::new();
    for (i, raw) in messages.iter().enumerate() {
        let at = || format!("messages[{i}]");
        let lifted = residual::lifted(raw).map_err(|error| error.within(&at()))?;
        diagnostics.extend(lifted.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.path = format!("{}.{}", at(), diagnostic.path);
            diagnostic
        }));
        match hoisted(&lifted.message) {
            Some(system) if i == 0 && messages.len() > 1 => request.system = system,
            _ => request.messages.push(lifted.message.into()),
        }
    }
    let plain = plain_envelope(&request);
    let source = Json::from_serialize(&entries).expect("text keys and valid raw values");
    if plain.as_str() != source.as_str()
        && let Some(patch) = JsonPatch::between(&plain, &source)
    {
        request.metadata.insert(SOURCE_KEY, patch.into_json());
    }
    Ok(LiftedRequest::new(request, diagnostics))
}

/// Reads a body value by value, in order to report what is wrong.
fn step_by_step(body: &Json) -> Result<(Entries<'_>, Vec<&RawValue>), WireError> {
    let mut entries: Entries<'_> = read_object(body.as_raw(), "body")?;
    let messages = entries.shift_remove("messages").filter(|messages| messages.get() != "null");
    let messages = messages.ok_or_else(|| WireError::Missing { path: "messages".to_owned() })?;
    Ok((entries, read_list(messages, "messages")?))
}

pub(super) fn lower(request: &ModelRequest) -> Result<LoweredRequest, WireError> {
    if request.compaction.is_some() {
        return Err(WireError::NoCompaction { form: PROVIDER });
    }
    let normalized = context_codec_kit::normalize::normalize_request(request, &RULES);
    let tools = context_codec_kit::normalize::normalize_tools(request, &RULES, PROVIDER);
    let mut of_envelope = Vec::new();
    let envelope = Envelope::to_send(request, &tools, &mut of_envelope);
    let mut writer = Writer::new(Mode::Send);
    writer.system(request.system_texts());
    let messages = Messages { writer: writer.into(), normalized: &normalized, count: Cell::new(0) };
    let body = Body { envelope: &envelope, messages: Some(&messages) };
    let body = Json::from_serialize(&body).expect("text keys and valid raw values");
    if messages.count.get() == 0 {
        return Err(WireError::NothingToSend);
    }
    let mut written_diagnostics = std::mem::take(&mut messages.writer.borrow_mut().diagnostics);
    let mut diagnostics = normalized.diagnostics.clone();
    diagnostics.append(&mut written_diagnostics);
    diagnostics.append(&mut of_envelope);
    Ok(LoweredRequest::new(body, diagnostics))
}

/// The messages of a body. Each message is lowered and serialised at once, without collecting the
/// others.
struct Messages<'a> {
    writer: RefCell<Writer<'a>>,
    normalized: &'a Normalized<'a>,
    /// The number of messages written after the system prompt.
    count: Cell<usize>,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut writer = self.writer.borrow_mut();
        let mut list = serializer.serialize_seq(None)?;
        for form in writer.written.drain(..) {
            list.serialize_element(&form)?;
        }
        let last = self.normalized.messages.len();
        for i in 0..=last {
            match self.normalized.messages.get(i) {
                Some(message) => writer.message_at(self.normalized.origin(i), message),
                None => writer.end(),
            }
            self.count.set(self.count.get() + writer.written.len());
            for form in writer.written.drain(..) {
                list.serialize_element(&form)?;
            }
        }
        list.end()
    }
}

pub(super) fn lower_source(request: &ModelRequest) -> LoweredRequest {
    let mut diagnostics = Vec::new();
    let mut writer = Writer::new(Mode::Source { as_parts: false });
    writer.system(request.system.iter());
    let system = writer.written.iter().map(|form| Json::from_serialize(form).expect("text keys"));
    let mut messages: Vec<Json> = system.collect();
    for (i, message) in request.messages.iter().enumerate() {
        let lowered = residual::restore(message);
        messages.extend(lowered.messages);
        diagnostics.extend(lowered.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.path = format!("messages[{i}].{}", diagnostic.path);
            diagnostic
        }));
    }
    let envelope = source_envelope(request, &mut diagnostics);
    let messages = Json::from_serialize(&messages).expect("JSON values");
    let mut entries: Entries<'_> = read_object(envelope.as_raw(), "").unwrap_or_default();
    entries.insert(Key("messages".into()), messages.as_raw());
    LoweredRequest::new(Json::from_serialize(&entries).expect("text keys"), diagnostics)
}

/// Writes everything but the messages, in the form of the source.
fn source_envelope(request: &ModelRequest, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let plain = plain_envelope(request);
    let Some(patch) = request.metadata.get(SOURCE_KEY) else { return plain };
    if let Some(source) = JsonPatch::from(patch.clone()).apply(&plain)
        && let Ok(entries) = read_object::<Entries<'_>>(source.as_raw(), "")
        && envelope::same_envelope(&envelope::lift(&entries), request)
    {
        return source;
    }
    diagnostics.push(outdated(SOURCE_KEY));
    plain
}

fn plain_envelope(request: &ModelRequest) -> Json {
    let envelope = Envelope::in_full(request);
    let body = Body { envelope: &envelope, messages: None };
    Json::from_serialize(&body).expect("text keys and valid raw values")
}

/// Returns the system prompt of a message that is nothing but a system prompt.
fn hoisted(message: &Message) -> Option<Vec<Text>> {
    if message.role != Role::System || message.metadata.iter().any(|(key, _)| key != ROLE) {
        return None;
    }
    let role = message.metadata.get(ROLE);
    let text = |part: &Part| match part {
        Part::Text(text)
            if !text.text.is_empty() && text.metadata.iter().all(|(key, _)| key == BREAKPOINT) =>
        {
            let mut text = text.clone();
            if let Some(role) = role {
                text.metadata.insert(ROLE, role.clone());
            }
            Some(text)
        }
        _ => None,
    };
    message.parts.iter().map(text).collect()
}

/// A body: its envelope and, unless only the envelope is asked for, its messages.
struct Body<'a> {
    envelope: &'a Envelope<'a>,
    messages: Option<&'a Messages<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.envelope.serialize_with(serializer, self.messages)
    }
}
