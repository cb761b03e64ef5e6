//! Tests of the policy through its public API.

mod limits;
mod strip;

use std::sync::Arc;

use context_core::history::{HistoryView, Proposal};
use context_core::message::{Media, MediaSource};
use context_core::model::{MediaKind, TokenCount, TokenCounter};
use context_core::{Message, Metadata, Part, Role, ToolResult};

/// Counts a token per byte of text, and a hundred per piece of media.
#[derive(Debug)]
pub(crate) struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }

    fn count_media(&self, _: MediaKind, _: &Media) -> TokenCount {
        TokenCount::exact(100)
    }
}

pub(crate) type MessageList = Vec<Arc<Message>>;

pub(crate) fn media(source: MediaSource, name: Option<&str>) -> Media {
    Media { source, media_type: None, name: name.map(str::to_owned), metadata: Metadata::default() }
}

pub(crate) fn image(name: &str) -> Part {
    Part::Image(media(MediaSource::Base64("AAAA".into()), Some(name)))
}

pub(crate) fn attached(parts: impl IntoIterator<Item = Part>) -> Arc<Message> {
    Arc::new(Message::new(Role::User, parts))
}

pub(crate) fn called(id: &str) -> Arc<Message> {
    Arc::new(Message::new(Role::Assistant, [Part::tool_call(id, "look", serde_json::json!({}))]))
}

pub(crate) fn shown(
    id: &str,
    output: impl IntoIterator<Item = Part>,
    is_error: bool,
) -> Arc<Message> {
    let output = output.into_iter().collect();
    let result = ToolResult {
        call_id: id.into(),
        name: None,
        output,
        is_error,
        metadata: Metadata::default(),
    };
    Arc::new(Message::new(Role::Tool, [Part::ToolResult(result)]))
}

pub(crate) fn left(
    messages: &MessageList,
    propose: impl FnOnce(&HistoryView<'_>) -> Proposal,
) -> Option<MessageList> {
    let plan = propose(&HistoryView::new(messages, &Bytes)).into_plan()?;
    Some(plan.apply(messages).expect("a plan fits the history it was made for").messages.to_vec())
}

/// Returns names of media and texts of a history, in order.
pub(crate) fn content(messages: &MessageList) -> Vec<String> {
    let of = |part: &Part| match part {
        Part::Text(text) => Some(text.text.to_string()),
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => media.name.clone(),
        _ => None,
    };
    let parts = messages.iter().flat_map(|message| &message.parts);
    let parts = parts.flat_map(|part| match part {
        Part::ToolResult(result) => result.output.iter().collect(),
        part => vec![part],
    });
    parts.filter_map(of).collect()
}
