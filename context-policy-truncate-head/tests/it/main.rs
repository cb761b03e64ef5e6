//! Tests of the policy through its public API.

mod properties;
mod recovery;
mod retained;
mod shortening;

use std::sync::Arc;

use context_core::history::{HistoryRewrite, HistoryView, Proposal};
use context_core::model::{TokenCount, TokenCounter};
use context_core::{Message, Part, Role};

/// Counts one token per byte of text.
#[derive(Debug)]
pub(crate) struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}

pub(crate) type MessageList = Vec<Arc<Message>>;

pub(crate) fn history(messages: impl IntoIterator<Item = Message>) -> MessageList {
    messages.into_iter().map(Arc::new).collect()
}

pub(crate) fn user(text: &str) -> Message {
    Message::from(text)
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

pub(crate) fn call(id: &str) -> Message {
    Message::new(Role::Assistant, [Part::tool_call(id, "read", serde_json::json!({}))])
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, [Part::tool_result(id, text)])
}

/// Returns the history after a proposal, or `None` if nothing was proposed.
pub(crate) fn left(
    messages: &MessageList,
    propose: impl FnOnce(&HistoryView<'_>) -> Proposal,
) -> Option<HistoryRewrite> {
    let plan = propose(&HistoryView::new(messages, &Bytes)).into_plan()?;
    Some(plan.apply(messages).expect("a plan fits the history it was made for"))
}

/// Returns the original position of each message that is left; `None` for a gap message.
pub(crate) fn origins(
    messages: &MessageList,
    propose: impl FnOnce(&HistoryView<'_>) -> Proposal,
) -> Option<Vec<Option<usize>>> {
    left(messages, propose).map(|left| left.origins)
}
