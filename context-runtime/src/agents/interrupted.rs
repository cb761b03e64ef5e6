//! Turns that were interrupted: their process ended, or they were dropped.

use std::sync::Arc;

use context_core::{Message, MessageId, Result, Role, ToolCall};

use super::AgentChat;
use super::recorder::StoredTurn;
use crate::ContextEngine;

/// A turn that has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InterruptedTurn {
    /// The id of the question, which names the turn.
    pub id: MessageId,
    /// The question.
    pub question: Arc<Message>,
    /// The tool calls of the newest answer without a result. Their tools may have run.
    pub open_calls: Vec<ToolCall>,
}

impl AgentChat {
    /// Returns the newest turn of the branch if it has no answer: its process ended, or it was
    /// cancelled or dropped. [`resume`](Self::resume) continues it; [`turn`](Self::turn) leaves it
    /// as it is and asks something else.
    pub async fn interrupted(&mut self) -> Result<Option<InterruptedTurn>> {
        let Some(turn) = self.newest_turn().await? else { return Ok(None) };
        if turn.answer().is_some() {
            return Ok(None);
        }
        let open_calls = turn.open_calls();
        let (id, question) = turn.question;
        Ok(Some(InterruptedTurn { id, question, open_calls }))
    }

    /// Returns the newest turn of the branch, answered or not. `None` if nobody asked anything.
    pub async fn newest_turn(&mut self) -> Result<Option<StoredTurn>> {
        newest_turn(&mut self.engine).await
    }
}

/// Returns the turn of the newest request, as far as it is stored. `None` if there is no request.
pub(super) async fn newest_turn(engine: &mut ContextEngine) -> Result<Option<StoredTurn>> {
    let shown = engine.shown_messages().await?;
    let readable = shown
        .iter()
        .rev()
        .filter_map(|node| Some((node.id.clone(), Arc::clone(node.message().ok()?))));
    let mut messages = Vec::new();
    for (id, message) in readable {
        if message.is_request() {
            messages.reverse();
            let (chat, question) = (engine.chat_ref().chat.clone(), (id, message));
            return Ok(Some(StoredTurn { chat, question, messages, is_continued: true }));
        }
        messages.push((id, message));
    }
    Ok(None)
}

impl StoredTurn {
    /// Returns the answer that ends the turn: one without calls.
    pub fn answer(&self) -> Option<&(MessageId, Arc<Message>)> {
        let ends = |message: &Message| {
            message.role == Role::Assistant && message.tool_calls().next().is_none()
        };
        self.messages.last().filter(|(_, last)| ends(last))
    }

    /// Returns the calls of the newest answer that have no result.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        let is_answer = |message: &Message| message.role == Role::Assistant;
        let Some(at) = self.messages.iter().rposition(|(_, message)| is_answer(message)) else {
            return Vec::new();
        };
        let results = || self.messages[at..].iter().flat_map(|(_, next)| next.tool_results());
        let is_open = |call: &&ToolCall| !results().any(|result| result.call_id == call.id);
        self.messages[at].1.tool_calls().filter(is_open).cloned().collect()
    }
}
