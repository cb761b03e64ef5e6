//! A chat and a call of a model: what the call is about, and what comes of it.

use std::sync::Arc;

#[cfg(feature = "tokens")]
use context_core::{Answer, Error};
use context_core::{
    CaptureTurnInput, Chain, ContextRuntime, Message, ModelRequest, PrepareInput, Result, ToolResult,
    ToolResultInput, ToolResultOutput,
};

use super::{ContextEngine, Resolved};
#[cfg(feature = "tokens")]
use crate::ModelCall;

impl Resolved {
    /// It as what a runtime prepares a call from: prompt and messages, the chat as session, the request of the user that is newest
    /// as turn. Model, provider, tools and limits can be added; what is not said is the runtime's, or the codec's of the
    /// [call](crate::ModelCall).
    ///
    /// Where a session is something else than a chat, change `session_id`.
    pub fn prepare(&self) -> PrepareInput {
        PrepareInput::new(self.chat.chat.as_str(), turn_of(&self.messages), "", "")
            .system(String::from(self.system_prompt.clone()))
            .messages(readable(&self.messages))
    }

    /// It as a turn that ended, for the memory of a runtime: see [`ContextRuntime::capture_turn`]. Messages have the ids of the chat, so
    /// that they can be forgotten by them.
    pub fn capture(&self) -> CaptureTurnInput {
        let (session, turn) = (self.chat.chat.as_str(), turn_of(&self.messages));
        let mut input = CaptureTurnInput::new(session, turn, readable(&self.messages));
        let nodes = self.messages.iter().filter(|node| node.message().is_ok());
        input.ids = nodes.map(|node| node.id.clone()).collect();
        input
    }
}

impl ContextEngine {
    /// Takes over a call that was answered: the answer becomes pending, and what was cut on the way is kept as a boundary, as
    /// [`compact`](Self::compact) does, so that the next call does not meet the same refusal. Nothing is written before the next save.
    ///
    /// `turn` is what the call was made of. [`Invalid`](crate::ErrorKind::Invalid) if there is no answer yet.
    #[cfg(feature = "tokens")]
    pub async fn accept<'c>(&mut self, turn: &Resolved, call: &'c ModelCall<'_>) -> Result<&'c Answer> {
        let unanswered =
            || Error::invalid("accept", "the call has no answer yet: ask it for `next` until there is none");
        let answer = call.answer().ok_or_else(unanswered)?;
        if let Some(compacted) = call.compacted() {
            self.compact(&turn.messages, compacted, call.plans()).await?;
        }
        self.set([answer.message.clone()]);
        Ok(answer)
    }

    /// Sets what tools answered to the newest calls. The runtime shortens what is too large and keeps all of it elsewhere, if it was
    /// given a place; what it made of the results is pending then, and returned.
    pub async fn set_tool_results(
        &mut self,
        runtime: &dyn ContextRuntime,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<ToolResultOutput> {
        let results = Message::tool(results);
        let shown = self.shown_messages().await?;
        let session = self.chat.chat.as_str();
        let input = ToolResultInput::new(session, turn_of(&shown), readable(&shown), results);
        let output = runtime.apply_tool_results(input).await?;
        self.set(output.appended.iter().map(Arc::clone));
        Ok(output)
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
