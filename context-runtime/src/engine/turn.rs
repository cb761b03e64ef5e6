//! A chat and a call of a model: what the call is about, and what comes of it.

use std::sync::Arc;

use context_core::runtime::{CaptureTurnInput, PrepareInput, ToolResultInput, ToolResultOutput};
use context_core::{
    Chain, ChatRef, ContextRuntime, Error, Message, ModelRequest, Result, ToolResult,
};

use super::{ContextEngine, Resolved};

impl Resolved {
    /// It as what a runtime prepares a call from: the chat with its user, prompt and messages, the
    /// request of the user that is newest as turn. Model, provider, tools and limits can be added;
    /// what is not said is the runtime's, or the codec's of the [call](crate::ModelCall).
    pub fn prepare(&self) -> PrepareInput {
        PrepareInput::new(&self.chat, turn_of(&self.messages), "", "")
            .system(String::from(self.system_prompt.clone()))
            .messages(readable(&self.messages))
    }

    /// It as a turn that ended, for the memory of a runtime: see [`ContextRuntime::capture_turn`].
    /// Messages have the ids of the chat, so that they can be forgotten by them. Save them, too: an
    /// engine that is dropped with messages that were captured and never saved traces a warning,
    /// since memories would name messages that are in no chat.
    pub fn capture(&self) -> CaptureTurnInput {
        self.captured.note(&self.pending);
        let turn = turn_of(&self.messages);
        let mut input = CaptureTurnInput::new(&self.chat, turn, readable(&self.messages));
        let nodes = self.messages.iter().filter(|node| node.message().is_ok());
        input.ids = nodes.map(|node| node.id.clone()).collect();
        input
    }
}

impl ContextEngine {
    /// Sets what tools answered to the newest calls. The runtime shortens what is too large and
    /// keeps all of it elsewhere, if it was given a place; what it made of the results is pending
    /// then, and returned.
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) if one answers no call of this chat: what tools
    /// answered elsewhere is not set here.
    pub async fn set_tool_results(
        &mut self,
        runtime: &dyn ContextRuntime,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<ToolResultOutput> {
        let results = Message::tool(results);
        let shown = self.shown_messages().await?;
        check_calls(&shown, &results)?;
        let input = ToolResultInput::new(&self.chat, turn_of(&shown), readable(&shown), results);
        let output = runtime.apply_tool_results(input).await?;
        self.set(output.appended.iter().map(Arc::clone));
        Ok(output)
    }

    /// Refuses what was made of another chat. The error does not name it: its user may be another
    /// one.
    pub(crate) fn check_own(&self, operation: &'static str, chat: &ChatRef) -> Result<()> {
        if *chat == self.chat {
            return Ok(());
        }
        Err(Error::invalid(operation, "this was made of another chat")
            .with("chat", &self.chat.chat))
    }
}

/// Refuses results that answer no call of a conversation.
fn check_calls(shown: &Chain, results: &Message) -> Result<()> {
    let messages = || shown.iter().filter_map(|node| node.message().ok());
    let is_call =
        |id: &str| messages().any(|message| message.tool_calls().any(|call| *call.id == *id));
    match results.tool_results().find(|result| !is_call(&result.call_id)) {
        Some(_) => Err(Error::invalid("set_tool_results", "a result answers no call of this chat")),
        None => Ok(()),
    }
}

/// The messages that can be read, as in [`Resolved::request`].
fn readable(messages: &Chain) -> Vec<Arc<Message>> {
    ModelRequest::of_chain(messages).messages
}

/// Which turn of the user it is: the id of the request that is newest.
fn turn_of(messages: &Chain) -> &str {
    let is_request = |message: &Arc<Message>| message.is_request() && !message.is_checkpoint();
    let mut nodes = messages.iter().rev();
    nodes.find(|node| node.message().is_ok_and(is_request)).map_or("", |node| node.id.as_str())
}
