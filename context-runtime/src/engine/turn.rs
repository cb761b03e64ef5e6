//! The connection between a chat and a model call: preparing the call and taking over its answer.

use std::collections::HashSet;
use std::sync::Arc;

use context_core::runtime::{
    CaptureTurnInput, CutOwner, PrepareInput, ToolResultInput, ToolResultOutput,
};
use context_core::{
    Chain, ChatRef, ContextRuntime, Error, Fragment, Message, MessageId, Result, ToolResult,
};

use super::{ContextEngine, Resolved};

impl Resolved {
    /// Returns the input from which a runtime prepares a call: the chat with its user, prompt and
    /// messages, and the newest user request as the turn. Model, provider, tools and limits can be
    /// added. The runtime, or the codec of the [call](crate::ModelCall), supplies what is not set.
    /// The engine [owns the cuts](CutOwner::Caller): they are kept by [`accept`] or [`compact`].
    ///
    /// [`accept`]: ContextEngine::accept
    /// [`compact`]: ContextEngine::compact
    pub fn prepare(&self) -> PrepareInput {
        let mut input = PrepareInput::new(&self.chat, turn_of(&self.messages), "", "");
        input.request = self.request();
        input.cuts = CutOwner::Caller;
        input
    }

    /// Returns the input for the memory of a runtime at the end of a turn. See
    /// [`ContextRuntime::capture_turn`]. Messages have the ids of the chat, so that memories of
    /// them can be found by id when they are to be removed. Save the messages, too: an engine that
    /// is dropped with captured messages that were never saved logs a warning, because memories
    /// would name messages that are in no chat. Transient messages are left out.
    pub fn capture(&self) -> CaptureTurnInput {
        self.captured.note(&self.pending);
        self.capture_of(self.without(None, |id| self.transient.contains(id)))
    }

    /// Returns the input for the memory of a turn that this is the history before, and that stored
    /// these messages, the question first. What a cut within the turn took out of the window is
    /// among them.
    #[cfg(feature = "agents")]
    pub(crate) fn capture_with(&self, turn: &Chain) -> CaptureTurnInput {
        let added: HashSet<_> = turn.iter().map(|node| &node.id).collect();
        let is_added = |id: &MessageId| self.transient.contains(id) || added.contains(id);
        let question = turn.get(0).map(|node| &node.id);
        let mut messages = self.without(question, is_added);
        turn.iter().for_each(|node| messages.push(Arc::clone(node)));
        self.capture_of(messages)
    }

    /// Returns the messages without some of them: the transient ones, and others that do not come
    /// before the one with the id `first`. Messages before all of these are shared and not looked
    /// at.
    fn without(&self, first: Option<&MessageId>, is_out: impl Fn(&MessageId) -> bool) -> Chain {
        let mut sought: HashSet<&MessageId> = self.transient.iter().chain(first).collect();
        let mut shared = self.messages.len();
        let mut nodes = self.messages.iter().rev();
        while !sought.is_empty() {
            let Some(node) = nodes.next() else {
                shared = 0;
                break;
            };
            shared -= 1;
            sought.remove(&node.id);
        }
        let mut left = self.messages.prefix(shared);
        let behind = (shared..self.messages.len()).filter_map(|at| self.messages.get(at));
        behind.filter(|node| !is_out(&node.id)).for_each(|node| left.push(Arc::clone(node)));
        left
    }

    fn capture_of(&self, messages: Chain) -> CaptureTurnInput {
        let turn = turn_of(&messages).to_owned();
        CaptureTurnInput::of_chain(&self.chat, turn, messages)
    }
}

impl ContextEngine {
    /// Sets the results of tools for the newest calls. The runtime shortens results that are too
    /// large, and stores the full text if it was given a store. The results that the runtime
    /// returns become pending.
    ///
    /// Returns [`Invalid`](crate::ErrorKind::Invalid) if a result answers no call of this chat, so
    /// that results of another chat are not set here.
    pub async fn set_tool_results(
        &mut self,
        runtime: &dyn ContextRuntime,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<ToolResultOutput> {
        let id = MessageId::from(self.parts.ids.next_id());
        self.set_tool_results_as(runtime, results, &id).await
    }

    /// Sets the results of tools, as a message with this id.
    pub(crate) async fn set_tool_results_as(
        &mut self,
        runtime: &dyn ContextRuntime,
        results: impl IntoIterator<Item = ToolResult>,
        id: &MessageId,
    ) -> Result<ToolResultOutput> {
        let results = Message::tool(results);
        let shown = self.shown_messages().await?;
        check_calls(&shown, &results)?;
        let input = ToolResultInput::new(&self.chat, turn_of(&shown), shown.messages(), results);
        let output = runtime.apply_tool_results(input).await?;
        let mut appended =
            output.appended.iter().map(|message| Fragment::from(Arc::clone(message)));
        self.set(appended.next().map(|results| results.with_id(id.clone())));
        self.set(appended);
        Ok(output)
    }

    /// Returns the stored messages of the branch from this one on, whatever compactions show of
    /// them. Empty if the branch does not have the message.
    #[cfg(feature = "agents")]
    pub(crate) async fn stored_from(&mut self, first: &MessageId) -> Result<Chain> {
        let mut from = self.view().await?.position(first);
        if from.is_none() {
            from = self.whole_view().await?.position(first);
        }
        let (Some(from), Some(view)) = (from, &self.view) else { return Ok(Chain::default()) };
        let stored = (from..view.chain().len()).filter_map(|position| view.chain().get(position));
        let stored = stored.filter(|node| node.is_shown());
        let decoded = stored.map(|node| self.decoded.decode(node, &self.parts.codecs));
        Ok(Chain::from_nodes(0, decoded))
    }

    /// Refuses a value that was made for another chat. The error does not name the other chat,
    /// because its user may be another one.
    pub(crate) fn check_chat(&self, operation: &'static str, chat: &ChatRef) -> Result<()> {
        if *chat == self.chat {
            return Ok(());
        }
        Err(Error::invalid(operation, "the value was made for another chat")
            .with("chat", &self.chat.chat))
    }
}

/// Refuses results that answer no call of a conversation.
fn check_calls(shown: &Chain, results: &Message) -> Result<()> {
    // The calls are probably the newest.
    let messages = || shown.iter().rev().filter_map(|node| node.message().ok());
    let is_call =
        |id: &str| messages().any(|message| message.tool_calls().any(|call| *call.id == *id));
    match results.tool_results().find(|result| !is_call(&result.call_id)) {
        Some(_) => Err(Error::invalid("set_tool_results", "a result answers no call of this chat")),
        None => Ok(()),
    }
}

/// Returns the turn: the id of the newest user request.
fn turn_of(messages: &Chain) -> &str {
    let is_request = |message: &Arc<Message>| message.is_request();
    let mut nodes = messages.iter().rev();
    nodes.find(|node| node.message().is_ok_and(is_request)).map_or("", |node| node.id.as_str())
}
