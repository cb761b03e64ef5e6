//! The stored messages, as proof of a client's messages and as the calls that are open.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::message::{Data, Media, MessageHash, Text, ToolInput};
use context_core::{Message, Metadata, Part, Role, ToolCall, ToolResult};

/// The stored messages by their content. Each one is taken at most once, and in order.
pub(super) struct StoredMessages<'a> {
    messages: &'a [Arc<Message>],
    exact: HashMap<MessageHash, Vec<usize>>,
    /// Positions by the hash of the [`essence`].
    similar: HashMap<MessageHash, Vec<usize>>,
    /// The position behind the message that was taken last.
    next: usize,
}

impl<'a> StoredMessages<'a> {
    pub(super) fn new(messages: &'a [Arc<Message>]) -> Self {
        let (mut exact, mut similar) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for (position, message) in messages.iter().enumerate() {
            exact.entry(message.hash()).or_default().push(position);
            if let Some(hash) = essence(message) {
                similar.entry(hash).or_default().push(position);
            }
        }
        Self { messages, exact, similar, next: 0 }
    }

    /// Takes the first stored message that equals this one, or else the first one that differs only
    /// in what a page does not send back.
    pub(super) fn take(&mut self, message: &Message) -> Option<&'a Arc<Message>> {
        let first = |positions: &HashMap<MessageHash, Vec<usize>>, hash: &MessageHash| {
            let positions = positions.get(hash)?;
            positions.get(positions.partition_point(|position| *position < self.next)).copied()
        };
        let similar =
            || first(&self.similar, &essence(message).filter(|_| !message.is_synthetic())?);
        let position = first(&self.exact, &message.hash()).or_else(similar)?;
        self.next = position + 1;
        self.messages.get(position)
    }
}

/// Returns the hash of the content that a page sends back. `None` for other roles than the
/// assistant's and a tool's, and without such content.
fn essence(message: &Message) -> Option<MessageHash> {
    if !matches!(message.role, Role::Assistant | Role::Tool) {
        return None;
    }
    let parts = essential(&message.parts);
    (!parts.is_empty()).then(|| Message::new(message.role, parts).hash())
}

fn essential(parts: &[Part]) -> Vec<Part> {
    let media = |media: &Media| Media { metadata: Metadata::default(), ..media.clone() };
    let part = |part: &Part| {
        Some(match part {
            Part::Text(Text { text, .. }) if !text.is_blank() => Part::text(text.clone()),
            Part::ToolCall(call) => Part::ToolCall(ToolCall {
                id: call.id.clone(),
                name: call.name.clone(),
                input: match &call.input {
                    ToolInput::Json(json) => ToolInput::Json(json.compact()),
                    invalid => invalid.clone(),
                },
                metadata: Metadata::default(),
            }),
            Part::ToolResult(result) => Part::ToolResult(ToolResult {
                call_id: result.call_id.clone(),
                name: None,
                output: essential(&result.output),
                is_error: result.is_error,
                metadata: Metadata::default(),
            }),
            Part::Image(image) => Part::Image(media(image)),
            Part::Document(document) => Part::Document(media(document)),
            Part::Audio(audio) => Part::Audio(media(audio)),
            Part::Data(data) => {
                Part::Data(Data { name: data.name.clone(), value: data.value.compact() })
            }
            _ => return None,
        })
    };
    parts.iter().filter_map(part).collect()
}

/// The stored calls, and which of them have no result yet.
#[derive(Default)]
pub(super) struct OpenCalls {
    /// The names of the tools of all calls, by id.
    all: HashMap<String, Vec<String>>,
    /// Those of the calls without result, in order.
    open: HashMap<String, Vec<String>>,
    /// The calls that were answered since the last [`begin`](Self::begin): id, position, name.
    taken: Vec<(String, usize, String)>,
}

impl OpenCalls {
    pub(super) fn new(messages: &[Arc<Message>]) -> Self {
        let mut calls = Self::default();
        for message in messages {
            if message.role == Role::Assistant {
                for call in message.tool_calls() {
                    calls.all.entry(call.id.clone()).or_default().push(call.name.clone());
                    calls.open.entry(call.id.clone()).or_default().push(call.name.clone());
                }
            }
            for result in message.tool_results() {
                calls.answer(result);
            }
        }
        calls.begin();
        calls
    }

    /// Begins a message: what it answers can be [reopened](Self::reopen).
    pub(super) fn begin(&mut self) {
        self.taken.clear();
    }

    /// Takes the open call of a result. Returns whether there is one.
    pub(super) fn answer(&mut self, result: &ToolResult) -> bool {
        let Some(names) = self.open.get_mut(&result.call_id) else { return false };
        let Some(position) = names.iter().position(|name| is_named(result, name)) else {
            return false;
        };
        let name = names.remove(position);
        self.taken.push((result.call_id.clone(), position, name));
        true
    }

    /// Returns whether a result belongs to a stored call, open or not.
    pub(super) fn knows(&self, result: &ToolResult) -> bool {
        let names = self.all.get(&result.call_id);
        names.is_some_and(|names| names.iter().any(|name| is_named(result, name)))
    }

    /// Opens the calls again that were answered since the message began.
    pub(super) fn reopen(&mut self) {
        for (id, position, name) in self.taken.drain(..).rev() {
            self.open.entry(id).or_default().insert(position, name);
        }
    }
}

fn is_named(result: &ToolResult, name: &str) -> bool {
    result.name.as_deref().is_none_or(|of_result| of_result == name)
}
