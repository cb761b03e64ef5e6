//! The objects of the form that are written: borrowed from messages, serialised in one pass.

use std::borrow::Cow;

use context_codec_kit::wire::truth;
use context_core::message::{Data, Reasoning, Text, ToolInput};
use context_core::{Json, Metadata, ToolCall, ToolResult};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::form::Entries;
use super::media::File;
use super::output::{Output, error_text};
use super::part_entries::{others, part_entries};
use super::providers::{self, OF_CALL, OF_PART};
use super::{DENIED_KEY, DYNAMIC_KEY, thought};

/// The keys of a tool part that its call and result determine.
pub(super) const TOOL: [&str; 7] =
    ["type", "toolName", "toolCallId", "state", "input", "output", "errorText"];
/// The same keys, if the call determines the raw input.
pub(super) const TOOL_RAW: [&str; 8] =
    [TOOL[0], TOOL[1], TOOL[2], TOOL[3], TOOL[4], TOOL[5], TOOL[6], "rawInput"];
/// The states of a call without a result that say more than that there is none.
pub(super) const APPROVAL: [&str; 2] = ["approval-requested", "approval-responded"];

/// A UIMessage.
#[derive(Debug)]
pub(super) struct UiMessage<'a> {
    pub(super) id: Id<'a>,
    pub(super) role: &'static str,
    /// `content` of version 4.
    pub(super) content: Option<String>,
    pub(super) metadata: Option<&'a Json>,
    /// `None` if there is only `content`.
    pub(super) parts: Option<Vec<UiPart<'a>>>,
    /// Its other keys.
    pub(super) others: Entries<'a>,
    /// Other keys that are not written.
    pub(super) hidden_keys: &'static [&'static str],
}

/// The id of a UIMessage.
#[derive(Debug)]
pub(super) enum Id<'a> {
    /// There is no id.
    None,
    /// The id that was read.
    Read(&'a Json),
    /// An id derived from the position.
    Derived(String),
}

impl Serialize for UiMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.id {
            Id::None => {}
            Id::Read(id) => map.serialize_entry("id", id)?,
            Id::Derived(id) => map.serialize_entry("id", id)?,
        }
        map.serialize_entry("role", self.role)?;
        if let Some(content) = &self.content {
            map.serialize_entry("content", content)?;
        }
        if let Some(metadata) = self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(parts) = &self.parts {
            map.serialize_entry("parts", parts)?;
        }
        const KNOWN: [&str; 5] = ["id", "role", "content", "metadata", "parts"];
        for (key, value) in self.others.iter() {
            if !KNOWN.contains(&key) && !self.hidden_keys.contains(&key) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// A part of a UIMessage.
#[derive(Debug)]
pub(super) enum UiPart<'a> {
    StepStart,
    Text(&'a Text),
    Reasoning(&'a Reasoning),
    File(File<'a>),
    Tool(&'a ToolCall, Option<Cow<'a, ToolResult>>),
    /// Data, and its other keys.
    Data(&'a Data, Option<Json>),
    Opaque(&'a Json),
}

impl Serialize for UiPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Opaque(json) = self {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::StepStart => map.serialize_entry("type", "step-start")?,
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", &text.text)?;
                serialize_other_keys::<S>(&mut map, &text.metadata, &["type", "text"], OF_PART)?;
            }
            Self::Reasoning(thought) => thought::write::<S>(thought, &mut map)?,
            Self::File(file) => file.write::<S>(&mut map)?,
            Self::Tool(call, result) => tool::<S>(&mut map, call, result.as_deref())?,
            Self::Data(data, others) => {
                map.serialize_entry("type", &format_args!("data-{}", data.name))?;
                map.serialize_entry("data", &data.value)?;
                for (key, value) in Entries::of(others.as_ref())
                    .iter()
                    .filter(|(key, _)| !["type", "data"].contains(key))
                {
                    map.serialize_entry(key, value)?;
                }
            }
            Self::Opaque(_) => {}
        }
        map.end()
    }
}

fn tool<S: Serializer>(
    map: &mut S::SerializeMap,
    call: &ToolCall,
    result: Option<&ToolResult>,
) -> Result<(), S::Error> {
    let part = part_entries(&call.metadata);
    if call.metadata.get(DYNAMIC_KEY) == Some(&truth()) {
        map.serialize_entry("type", "dynamic-tool")?;
        map.serialize_entry("toolName", &call.name)?;
    } else {
        map.serialize_entry("type", &format_args!("tool-{}", call.name))?;
    }
    map.serialize_entry("toolCallId", &call.id)?;
    let part_entries = part.maybe_text("state").filter(|state| APPROVAL.contains(&state.as_ref()));
    let state = match result {
        None => part_entries.as_deref().unwrap_or("input-available"),
        Some(result) if result.metadata.get(DENIED_KEY) == Some(&truth()) => "output-denied",
        Some(result) if result.is_error => "output-error",
        Some(_) => "output-available",
    };
    map.serialize_entry("state", state)?;
    match &call.input {
        ToolInput::Json(json) => map.serialize_entry("input", json)?,
        ToolInput::Invalid(text) if state == "output-error" => {
            map.serialize_entry("rawInput", text)?
        }
        ToolInput::Invalid(text) => map.serialize_entry("input", text)?,
    }
    match (state, result) {
        ("output-available", Some(result)) => map.serialize_entry("output", &Output(result))?,
        ("output-error", Some(result)) => map.serialize_entry("errorText", &error_text(result))?,
        _ => {}
    }
    let is_raw = state == "output-error" && matches!(call.input, ToolInput::Invalid(_));
    let known: &[&str] = if is_raw { &TOOL_RAW } else { &TOOL };
    serialize_other_keys::<S>(map, &call.metadata, known, OF_CALL)
}

/// Writes the other keys of a part, with the values in its metadata that belong to a provider.
fn serialize_other_keys<S: Serializer>(
    map: &mut S::SerializeMap,
    metadata: &Metadata,
    written: &[&str],
    key: &'static str,
) -> Result<(), S::Error> {
    let facts = providers::facts(metadata);
    if facts.is_empty() {
        return others::<S>(map, metadata, written);
    }
    for (name, value) in part_entries(metadata).iter() {
        if !written.contains(&name) && name != key {
            map.serialize_entry(name, value)?;
        }
    }
    providers::write::<S>(map, key, metadata, &facts)
}
