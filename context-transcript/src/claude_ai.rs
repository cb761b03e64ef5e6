//! Conversations of a data export of Claude.ai (`conversations.json`): objects whose
//! `chat_messages` are records of the conversation.
//!
//! | file | chat |
//! |---|---|
//! | `sender` `human` | a user message from its `content`, or from its `text` in older exports |
//! | the extracted text of its `attachments` | a user message after it |
//! | `sender` `assistant`: `text`, `thinking`, `tool_use` | an assistant message |
//! | `tool_result` | a tool message; a content block after it begins another assistant message |
//! | other blocks, such as `token_budget` | data of the message, which no provider gets |
//! | `uuid`, `created_at` | id and time |
//! | `parent_message_uuid`, if the export has it | the predecessor, else the message before it |
//! | `current_leaf_message_uuid`, if the export has it | the end of `main` |
//! | `name` | the title |
//! | the other keys of the conversation | the envelope |
//!
//! Exports contain neither model nor usage. A call without an id gets one from its position.
//! Export gives equal values. The `text` of an edited message is its texts, with a blank line
//! between them.

use context_codec_kit::wire::{array, object};
use context_core::base::JsonMap;
use context_core::{Json, Message, Part, Role, Timestamp};
use serde_json::json;
use serde_json::value::RawValue;

use crate::chat::TranscriptChat;
use crate::raw::{Entries, entries, text_of};
use crate::records::{
    self, AddedRecord, Conversation, RecordContext, RecordForm, RecordMessages, RecordParent,
    RecordPlace, block, block_json, call, has_list, input, is_true, list_in, map, reasoning,
    result, runs, text,
};
use crate::time::{format_time, time_of};
use crate::{FileLayout, FileText, Format, TranscriptError, TranscriptSource};

/// The metadata key for the original record of a message.
const KEY: &str = "claude-ai";
/// The key of the records.
const MESSAGES: &str = "chat_messages";
/// The predecessor of the first message.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

/// Conversations of Claude.ai.
pub(crate) struct ClaudeAi;

/// Returns whether a value is a conversation.
pub(crate) fn is_conversation(item: &RawValue) -> bool {
    entries(item)
        .is_some_and(|fields| has_list(&fields, MESSAGES) && text(&fields, "uuid").is_some())
}

/// Reads a conversation.
pub(crate) fn read(
    file: &FileText,
    item: &RawValue,
    layout: FileLayout,
    position: (usize, usize),
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let (records, envelope) = records::records_of(&ClaudeAi, file, item, MESSAGES)?;
    let field = |key: &str| envelope.get(key).and_then(Json::to_text);
    let (title, current) = (field("name"), field("current_leaf_message_uuid"));
    let source = TranscriptSource::new(file.name(), Format::ClaudeAi, layout, position)
        .in_envelope(Some((MESSAGES, envelope)));
    let (records, others) = (records.into_iter().enumerate().collect(), Vec::new());
    let form = &ClaudeAi;
    records::chat(Conversation { form, file, source, records, others, title, current, at })
}

impl RecordForm for ClaudeAi {
    fn format(&self) -> Format {
        Format::ClaudeAi
    }

    fn key(&self) -> &'static str {
        KEY
    }

    fn place(&self, record: &Entries<'_>) -> RecordPlace {
        let parent = match record.get("parent_message_uuid") {
            None => RecordParent::Previous,
            Some(parent) => match text_of(parent).filter(|parent| parent != ROOT) {
                Some(parent) => RecordParent::Named(parent),
                None => RecordParent::Root,
            },
        };
        let time = record.get("created_at").and_then(|time| time_of(time));
        RecordPlace { id: text(record, "uuid"), parent, time, ..RecordPlace::default() }
    }

    fn is_message(&self, record: &Entries<'_>) -> bool {
        let has_text = || text(record, "text").is_none_or(|text| !text.is_empty());
        list_in(record, "content").is_none_or(|content| !content.is_empty()) || has_text()
    }

    fn read(&self, record: &Entries<'_>, _: &RecordContext) -> Option<RecordMessages> {
        let sender = text(record, "sender")?;
        let content = list_in(record, "content")?;
        let old = || text(record, "text").filter(|text| !text.is_empty());
        let (shape, mut messages) = match (sender.as_str(), content.is_empty()) {
            ("human", false) => {
                let parts: Option<Vec<_>> = content.into_iter().map(user_part).collect();
                ("", vec![Message::new(Role::User, parts?)])
            }
            ("assistant", false) => ("", answer(&content)?),
            (sender, true) => {
                let role = match sender {
                    "human" => Role::User,
                    "assistant" => Role::Assistant,
                    _ => return None,
                };
                match old() {
                    Some(text) => ("text", vec![Message::text(role, text)]),
                    None => ("attachments", Vec::new()),
                }
            }
            _ => return None,
        };
        let attached = |raw: &RawValue| {
            let text = text(&entries(raw)?, "extracted_content")?;
            (!text.is_empty()).then(|| Part::text(text))
        };
        let attachments = list_in(record, "attachments").unwrap_or_default();
        let texts: Option<Vec<_>> = attachments.into_iter().map(attached).collect();
        if let Some(texts) = texts.filter(|texts| !texts.is_empty() && sender == "human") {
            messages.push(Message::new(Role::User, texts));
        }
        RecordMessages::shaped(shape, messages)
    }

    fn write(&self, messages: &[&Message], shape: &str) -> JsonMap {
        let Some(message) = messages.first() else { return JsonMap::default() };
        let is_user = message.role == Role::User;
        let (messages, attached) = match messages {
            messages if !is_user => (messages, None),
            [alone] if shape == "attachments" => (&[][..], Some(alone)),
            [content, rest @ ..] => (std::slice::from_ref(content), rest.first()),
            [] => (&[][..], None),
        };
        let parts = || messages.iter().flat_map(|message| &message.parts);
        let texts: Vec<_> = parts()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect();
        let sender = if is_user { "human" } else { "assistant" };
        let mut record =
            map([("text", texts.join("\n\n").as_str().into()), ("sender", sender.into())]);
        if shape.is_empty() {
            let blocks: Vec<_> = parts().filter_map(block_of).collect();
            record.insert("content".to_owned(), array(&blocks));
        }
        if let Some(attached) = attached {
            let text = |part: &Part| match part {
                Part::Text(text) => Some(json!({"extracted_content": text.text}).into()),
                _ => None,
            };
            let attached: Vec<Json> = attached.parts.iter().filter_map(text).collect();
            record.insert("attachments".to_owned(), array(&attached));
        }
        record
    }

    fn complete(&self, record: JsonMap, added: &AddedRecord<'_>) -> JsonMap {
        let time = format_time(added.at);
        let mut whole = map([
            ("uuid", added.id.into()),
            ("created_at", time.as_str().into()),
            ("updated_at", time.as_str().into()),
            ("attachments", array(&[])),
            ("files", array(&[])),
        ]);
        whole.extend(record);
        if let Some(parent) = added.parent {
            whole.insert("parent_message_uuid".to_owned(), parent.into());
        }
        whole
    }

    fn holds_results(&self) -> bool {
        true
    }
}

fn user_part(raw: &RawValue) -> Option<Part> {
    let fields = entries(raw)?;
    match text(&fields, "type")?.as_str() {
        "text" => Some(Part::text(text(&fields, "text")?)),
        _ => Some(block(KEY, raw)),
    }
}

/// Returns the messages of an answer.
fn answer(blocks: &[&RawValue]) -> Option<Vec<Message>> {
    let (mut parts, mut last_call) = (Vec::new(), String::new());
    for (index, raw) in blocks.iter().enumerate() {
        let fields = entries(raw)?;
        parts.push(match text(&fields, "type")?.as_str() {
            "thinking" => {
                let signature = text(&fields, "signature");
                (Role::Assistant, reasoning(text(&fields, "thinking")?, signature))
            }
            "tool_use" => {
                last_call = text(&fields, "id").unwrap_or_else(|| format!("call-{}", index + 1));
                let input = fields.get("input").copied();
                (Role::Assistant, call(last_call.clone(), text(&fields, "name")?, input))
            }
            "tool_result" => {
                let id = text(&fields, "tool_use_id").unwrap_or_else(|| last_call.clone());
                let output = match fields.get("content").and_then(|content| text_of(content)) {
                    Some(text) => vec![Part::text(text)],
                    None => {
                        let output = list_in(&fields, "content")?.into_iter().map(user_part);
                        output.collect::<Option<_>>()?
                    }
                };
                let name = text(&fields, "name");
                (Role::Tool, result(id, name, output, is_true(&fields, "is_error")))
            }
            _ => (Role::Assistant, user_part(raw)?),
        });
    }
    Some(runs(parts))
}

fn block_of(part: &Part) -> Option<Json> {
    match part {
        Part::Text(text) => Some(json!({"type": "text", "text": text.text}).into()),
        Part::Reasoning(thought) => {
            let signature = thought.signature.as_deref().map(|text| ("signature", text.into()));
            let fields = [("type", "thinking".into()), ("thinking", thought.text.as_str().into())];
            Some(object(fields.into_iter().chain(signature)))
        }
        Part::ToolCall(call) => Some(object([
            ("type", "tool_use".into()),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("input", input(call)),
        ])),
        Part::ToolResult(result) => {
            let output: Vec<_> = result.output.iter().filter_map(block_of).collect();
            let name = result.name.as_deref().map(|name| ("name", name.into()));
            let fields = [
                ("type", "tool_result".into()),
                ("tool_use_id", result.call_id.as_str().into()),
                ("content", array(&output)),
                ("is_error", json!(result.is_error).into()),
            ];
            Some(object(fields.into_iter().chain(name)))
        }
        other => block_json(KEY, other),
    }
}
