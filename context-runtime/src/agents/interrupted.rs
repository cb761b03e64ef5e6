//! Turns that were interrupted: their process ended, or they were dropped.

use std::sync::Arc;

use context_core::{Message, MessageId, Node, Result, ToolCall};

use super::AgentChat;

/// A turn that has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InterruptedTurn {
    /// The id of the question, which names the turn.
    pub id: MessageId,
    /// The question.
    pub question: Arc<Message>,
    /// The tool calls without a result. Their tools may have run.
    pub open_calls: Vec<ToolCall>,
}

impl AgentChat {
    /// Returns the newest turn of the branch if it has no answer: its process ended, or it was
    /// cancelled or dropped. [`resume`](Self::resume) continues it; [`turn`](Self::turn) leaves it
    /// as it is and asks something else.
    pub async fn interrupted(&mut self) -> Result<Option<InterruptedTurn>> {
        let shown = self.engine.shown_messages().await?;
        let nodes: Vec<&Arc<Node>> = shown.iter().collect();
        let message = |node: &Arc<Node>| node.message().ok().cloned();
        let is_request = |node: &&Arc<Node>| node.message().is_ok_and(|m| m.is_request());
        let Some(at) = nodes.iter().rposition(is_request) else { return Ok(None) };
        let Some(question) = message(nodes[at]) else { return Ok(None) };
        let after: Vec<_> = nodes[at + 1..].iter().filter_map(|node| message(node)).collect();
        let answered = |call: &ToolCall| {
            after.iter().flat_map(|m| m.tool_results()).any(|result| result.call_id == call.id)
        };
        let calls = after.iter().flat_map(|message| message.tool_calls());
        let open_calls: Vec<_> = calls.filter(|call| !answered(call)).cloned().collect();
        let is_over = after.last().is_some_and(|last| {
            last.role == context_core::Role::Assistant && last.tool_calls().next().is_none()
        });
        if is_over && open_calls.is_empty() {
            return Ok(None);
        }
        Ok(Some(InterruptedTurn { id: nodes[at].id.clone(), question, open_calls }))
    }
}
