//! Events of OpenHands before its SDK (V0): a list of objects with an `action` or an `observation`,
//! JSON Lines of them, or an object with such a list under `history`, `events`, `items` or
//! `trajectory`.
//!
//! | file | chat |
//! |---|---|
//! | `action: system` | a system message |
//! | `action: message` | a user or assistant message with `content` and `image_urls` |
//! | `action: finish` of the agent | an assistant message: thought, `final_thought` |
//! | any other action of the agent | an assistant message: thought, call |
//! | `observation` | a tool message with `content` |
//! | an observation of no call of the agent | a user message: so OpenHands sends it to the model |
//! | any other action of the user, such as `run` | a user message: the `message` of the event |
//! | notes, such as `recall` and `change_agent_state` | an application message without text |
//! | `id`, `timestamp` | id and time; a time without a zone is taken as UTC |
//! | `model_response` | model and usage of the answer |
//!
//! The `tool_call_metadata` of an action names its call, and the arguments are those of the call in
//! `model_response`, else the `args` that the model chose. Agents that do not call functions have
//! no such metadata: the call of their event 12 is `event-12`. An observation without metadata is
//! the result of the call that its `cause` made. A result has failed if it is an error, a
//! rejection, or not a `success`.
//!
//! Each event is a message of its own, also if one answer of the model made several actions; the
//! usage counts with the first of them. The action `finish` is no call, since it has no result.
//! The `extras` of an observation and the `file_urls` of a message are kept and not shown.
//! Files of single events become a list with `jq -s 'sort_by(.id)' events/*.json`. Pairs of actions
//! and observations, which the first evaluations stored, are not read.
//!
//! Export gives equal values. An added call is a call of an MCP tool, which may have any name, and
//! an added result has no `cause`.

use context_codec_kit::wire::{array, from_map, object};
use context_core::base::JsonMap;
use context_core::trajectory::Measures;
use context_core::{Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Format;
use crate::measures::{number, text as measured_text};
use crate::raw::{Entries, entries, first, text_of};
use crate::records::{
    AddedRecord, RecordContext, RecordForm, RecordMessages, RecordPlace, call, call_of_text, input,
    list_in, map, media_of, media_of_url, object_in, reasoning, result, split_calls, text, texts,
    url_of,
};
use crate::time::{format_time, time_of};

/// The metadata key for the original event of a message, and for the kind of the action or
/// observation of a call or result.
const KEY: &str = "openhands-v0";
/// The actions and observations that are not part of the conversation.
const NOTES: [&str; 17] = [
    "null",
    "recall",
    "change_agent_state",
    "agent_state_changed",
    "condensation",
    "condensation_request",
    "condense",
    "loop_detection",
    "loop_recovery",
    "microagent",
    "workspace_context",
    "start",
    "pause",
    "resume",
    "stop",
    "push",
    "send_pr",
];
/// The observations of a call that failed.
const FAILURES: [&str; 2] = ["error", "user_rejected"];
/// The fields of `args` that the model does not choose, and the thought.
const NOT_INPUT: [&str; 13] = [
    "thought",
    "blocking",
    "confirmation_state",
    "hidden",
    "include_extra",
    "impl_source",
    "is_confirmation",
    "is_confirmed",
    "is_static",
    "keep_prompt",
    "kernel_init_code",
    "security_risk",
    "translated_ipython_code",
];
/// The start of the id of a call without one, before the id of its event.
const EVENT: &str = "event-";

/// Events of OpenHands before its SDK.
pub(crate) struct OpenhandsV0;

/// Returns whether a value is an event.
pub(crate) fn is_event(raw: &RawValue) -> bool {
    let Some(fields) = entries(raw) else { return false };
    let has = |key: &str, begins: char| fields.get(key).is_some_and(|raw| first(raw) == begins);
    let is_source = |source: String| ["agent", "user", "environment"].contains(&&*source);
    let is_action = has("action", '"') && has("args", '{') && !fields.contains_key("observation");
    let is_observation = has("observation", '"') && fields.contains_key("content");
    let is_one = is_action || (is_observation && !fields.contains_key("action"));
    let is_other = ["role", "kind"].iter().any(|key| fields.contains_key(*key));
    is_one && !is_other && text(&fields, "source").is_some_and(is_source)
}

impl RecordForm for OpenhandsV0 {
    fn format(&self) -> Format {
        Format::Openhands
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let id = number_in(record, "id").map(|id| id.to_string()).or_else(|| text(record, "id"));
        let time = record.get("timestamp").and_then(|time| time_of(time));
        let cause = number_in(record, "cause").map(|cause| cause.to_string());
        RecordPlace { id, time, cause, ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        let kind = text(record, "action").or_else(|| text(record, "observation"));
        // A user who ends the conversation says nothing.
        let is_end = |kind: &str| is_of_user(record) && ["finish", "reject"].contains(&kind);
        kind.is_some_and(|kind| !NOTES.contains(&&*kind) && !is_end(&kind))
    }

    fn read(&self, record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages> {
        if !self.is_message(record) {
            return None;
        }
        let Some(action) = text(record, "action") else {
            return observation(record, context);
        };
        let args = object_in(record, "args")?;
        match action.as_str() {
            "system" => {
                let prompt = Message::text(Role::System, text(&args, "content")?);
                RecordMessages::plain(vec![prompt])
            }
            "message" => {
                let role = if is_of_user(record) { Role::User } else { Role::Assistant };
                let is_old = !args.contains_key("image_urls") && args.contains_key("images_urls");
                let shape = if is_old { "images_urls" } else { "" };
                let mut parts = vec![Part::text(text(&args, "content")?)];
                for url in list_in(&args, image_key(shape))? {
                    parts.push(media_of_url(text_of(url)?, Some("image/*".to_owned()), None));
                }
                RecordMessages::shaped(shape, vec![Message::new(role, parts)])
            }
            _ if is_of_user(record) => {
                let request = Message::text(Role::User, text(record, "message")?);
                RecordMessages::shaped("action", vec![request])
            }
            "finish" => {
                let last = text(&args, "final_thought").filter(|text| !text.is_empty());
                let mut parts = thought(&args);
                parts.extend(last.map(Part::text));
                if parts.is_empty() {
                    parts.push(Part::text(text(record, "message")?));
                }
                RecordMessages::shaped("finish", vec![Message::new(Role::Assistant, parts)])
            }
            _ => {
                let mut parts = thought(&args);
                let (mut call, shape) = call_of(record, &action)?;
                call.metadata.insert(KEY, action.as_str());
                parts.push(Part::ToolCall(call));
                RecordMessages::shaped(shape, vec![Message::new(Role::Assistant, parts)])
            }
        }
    }

    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap {
        let Some(message) = messages.first() else { return JsonMap::default() };
        let content = || Json::from(texts(&message.parts).as_str());
        match (message.role, message.parts.as_slice()) {
            (Role::Tool, [Part::ToolResult(result), ..]) => write_result(result),
            (Role::Assistant, [thought @ .., Part::ToolCall(call)]) => {
                write_call(call, thought, shape)
            }
            (Role::Assistant, parts) if shape == "finish" => write_finish(parts),
            (Role::User, _) if shape == "observation" => map([
                ("source", "user".into()),
                ("observation", "run".into()),
                ("content", content()),
            ]),
            (Role::User, _) if shape == "action" => map([
                ("source", "user".into()),
                ("message", content()),
                ("action", "run".into()),
                ("args", json!({}).into()),
            ]),
            (role, parts) => {
                let source = if role == Role::User { "user" } else { "agent" };
                let action = if role == Role::System { "system" } else { "message" };
                let is_image = |part: &&Part| matches!(part, Part::Image(_));
                let images = parts
                    .iter()
                    .filter(is_image)
                    .filter_map(|part| Some(Json::from(url_of(media_of(part)?)?.as_str())));
                let images: Vec<_> = images.collect();
                let images = (!images.is_empty()).then(|| (image_key(shape), array(&images)));
                map([
                    ("source", source.into()),
                    ("message", content()),
                    ("action", action.into()),
                    ("args", object([("content", content())].into_iter().chain(images))),
                ])
            }
        }
    }

    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let id = added.id.parse::<u64>().map_or_else(|_| added.id.into(), |id| json!(id).into());
        let time = format_time(added.at);
        let time = time.trim_end_matches('Z').into();
        let mut event = map([("id", id), ("timestamp", time), ("source", "agent".into())]);
        event.extend(record);
        event
    }

    fn split(&self, message: &Message) -> Vec<Message> {
        split_calls(message)
    }

    fn measures(&self, fields: &Value, message: &Message) -> Measures {
        let response = &fields["tool_call_metadata"]["model_response"];
        let mut measures = Measures::default();
        let run = || measured_text(&fields["llm_metrics"]["accumulated_token_usage"], "model");
        measures.model = measured_text(response, "model").or_else(run);
        // The response is in the event of each of its calls. The first call is in the fields if
        // there are several.
        let first = response.pointer("/choices/0/message/tool_calls/0/id").and_then(Value::as_str);
        let own = message.tool_calls().next().map(|call| call.id.as_str());
        if first.is_none() || first == own {
            let (usage, some) = (&response["usage"], |tokens: &u64| *tokens > 0);
            let (input, output) =
                (&usage["prompt_tokens_details"], &usage["completion_tokens_details"]);
            measures.input_tokens = number(usage, "prompt_tokens").filter(some);
            measures.output_tokens = number(usage, "completion_tokens").filter(some);
            measures.cache_read_tokens = number(input, "cached_tokens").filter(some);
            measures.cache_write_tokens = number(usage, "cache_creation_input_tokens").filter(some);
            measures.reasoning_tokens = number(output, "reasoning_tokens").filter(some);
        }
        measures
    }
}

fn is_of_user(record: &Entries<'_>) -> bool {
    text(record, "source").as_deref() == Some("user")
}

/// Returns a field that is a number and not negative.
fn number_in(record: &Entries<'_>, key: &str) -> Option<u64> {
    serde_json::from_str(record.get(key)?.get()).ok()
}

/// Returns the key of the images of a message, which the first versions spelled otherwise.
fn image_key(shape: &str) -> &'static str {
    if shape == "images_urls" { "images_urls" } else { "image_urls" }
}

/// Returns the reasoning and text of a thought. Most versions have only the text.
fn thought(args: &Entries<'_>) -> Vec<Part> {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (thought, said) = match object_in(args, "thought") {
        Some(thought) => (text(&thought, "reasoning_content"), text(&thought, "text")),
        None => (None, text(args, "thought")),
    };
    let thought = some(thought).map(|text| reasoning(text, None));
    thought.into_iter().chain(some(said).map(Part::text)).collect()
}

/// Returns the call of an action, and the name of its shape.
fn call_of(record: &Entries<'_>, action: &str) -> Option<(ToolCall, &'static str)> {
    let args = || {
        let mut args: JsonMap = serde_json::from_str(record.get("args")?.get()).ok()?;
        args.retain(|key, _| !NOT_INPUT.contains(&key.as_str()));
        Some(from_map(&args))
    };
    let named = object_in(record, "tool_call_metadata").and_then(|metadata| {
        let (id, name) = (text(&metadata, "tool_call_id")?, text(&metadata, "function_name")?);
        Some((arguments(&metadata, &id), id, name))
    });
    let (part, shape) = match named {
        Some((Some(arguments), id, name)) => (call_of_text(id, name, &arguments), ""),
        Some((None, id, name)) => (call(id, name, Some(args()?.as_raw())), "args"),
        None => {
            let id = format!("{EVENT}{}", number_in(record, "id")?);
            (call(id, action.to_owned(), Some(args()?.as_raw())), "event")
        }
    };
    match part {
        Part::ToolCall(call) => Some((call, shape)),
        _ => None,
    }
}

/// Returns the arguments that the model wrote for a call.
fn arguments(metadata: &Entries<'_>, id: &str) -> Option<String> {
    let choices = list_in(&object_in(metadata, "model_response")?, "choices")?;
    let answer = object_in(&entries(choices.first()?)?, "message")?;
    let calls = list_in(&answer, "tool_calls")?;
    let mut calls = calls.into_iter().filter_map(entries);
    let call = calls.find(|call| text(call, "id").as_deref() == Some(id))?;
    text(&object_in(&call, "function")?, "arguments")
}

/// Returns the message of an observation.
fn observation(record: &Entries<'_>, context: &RecordContext) -> Option<RecordMessages> {
    let (kind, content) = (text(record, "observation")?, text(record, "content")?);
    let metadata = object_in(record, "tool_call_metadata");
    let metadata = metadata.and_then(|metadata| {
        Some((text(&metadata, "tool_call_id")?, text(&metadata, "function_name")))
    });
    // The first versions stored the metadata with the action alone.
    let cause = || {
        number_in(record, "cause")?;
        Some((context.call.clone()?, None))
    };
    let Some((id, name)) = metadata.or_else(cause) else {
        let observed = Message::text(Role::User, content);
        return RecordMessages::shaped("observation", vec![observed]);
    };
    let has_failed = record.get("success").is_some_and(|success| success.get() == "false");
    let is_error = has_failed || FAILURES.contains(&&*kind);
    let mut part = result(id, name, vec![Part::text(content)], is_error);
    if let Part::ToolResult(result) = &mut part {
        result.metadata.insert(KEY, kind.as_str());
    }
    RecordMessages::plain(vec![Message::new(Role::Tool, [part])])
}

/// Returns the kind of the action or observation that a call or result was read from.
fn kind_of(metadata: &Metadata) -> Option<String> {
    metadata.get(KEY)?.to_text()
}

/// Returns the id of the event of a call that has no id of its own.
fn event_of(call_id: &str) -> Option<Json> {
    let id: u64 = call_id.strip_prefix(EVENT)?.parse().ok()?;
    Some(json!(id).into())
}

/// Returns the event of a call.
fn write_call(call: &ToolCall, thought: &[Part], shape: &str) -> JsonMap {
    let kind = kind_of(&call.metadata);
    let mut args = match (shape, &kind) {
        ("args" | "event", _) => input(call).parse().unwrap_or_default(),
        (_, Some(_)) => JsonMap::default(),
        (_, None) => map([("name", call.name.as_str().into()), ("arguments", input(call))]),
    };
    args.extend(thought_of(thought));
    let action = kind.as_deref().unwrap_or("call_tool_mcp").into();
    let mut event = map([("action", action), ("args", from_map(&args))]);
    if let Some(id) = event_of(&call.id).filter(|_| shape == "event") {
        event.insert("id".to_owned(), id);
        return event;
    }
    let mut metadata = map([
        ("function_name", call.name.as_str().into()),
        ("tool_call_id", call.id.as_str().into()),
    ]);
    if shape != "args" {
        let function = json!({"name": call.name, "arguments": call.input.as_written()});
        let calls = json!([{"id": call.id, "type": "function", "function": function}]);
        let response =
            json!({"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]});
        metadata.insert("model_response".to_owned(), response.into());
        metadata.insert("total_calls_in_response".to_owned(), json!(1).into());
    }
    event.insert("tool_call_metadata".to_owned(), from_map(&metadata));
    event
}

/// Returns the field of a thought, if there is one.
fn thought_of(parts: &[Part]) -> Option<(String, Json)> {
    let reasoned = parts.iter().find_map(|part| match part {
        Part::Reasoning(thought) => Some(thought.text.as_str()),
        _ => None,
    });
    let said = texts(parts);
    let thought = match reasoned {
        Some(reasoned) => json!({"text": said, "reasoning_content": reasoned}).into(),
        None if said.is_empty() => return None,
        None => said.as_str().into(),
    };
    Some(("thought".to_owned(), thought))
}

/// Returns the event of the end: the last text is the final thought.
fn write_finish(parts: &[Part]) -> JsonMap {
    let (thought, last) = match parts {
        [thought @ .., Part::Text(last)] => (thought, Some(last)),
        parts => (parts, None),
    };
    let last = last.map(|last| ("final_thought".to_owned(), last.text.as_str().into()));
    let args: JsonMap = thought_of(thought).into_iter().chain(last).collect();
    map([("source", "agent".into()), ("action", "finish".into()), ("args", from_map(&args))])
}

/// Returns the event of a result.
fn write_result(result: &ToolResult) -> JsonMap {
    let other = if result.is_error { "error" } else { "mcp" };
    let kind = kind_of(&result.metadata);
    let kind = kind.as_deref().unwrap_or(other);
    let content = texts(&result.output);
    let mut event = map([("observation", kind.into()), ("content", content.as_str().into())]);
    if result.is_error && !FAILURES.contains(&kind) {
        event.insert("success".to_owned(), json!(false).into());
    }
    match event_of(&result.call_id) {
        Some(cause) => event.insert("cause".to_owned(), cause),
        None => {
            let id = ("tool_call_id", result.call_id.as_str().into());
            let name = result.name.as_deref().map(|name| ("function_name", name.into()));
            event.insert("tool_call_metadata".to_owned(), object(name.into_iter().chain([id])))
        }
    };
    event
}
