//! The agent loop: ask the model and run the tools that it calls, until it answers.

use std::sync::Arc;

use context_runtime::model::ModelCodec;
use context_runtime::trajectory::OpenRound;
use context_runtime::{
    ChatRef, ContextEngine, ContextRuntime, DefaultContextRuntime, ModelCall, READ_SPILLED, Result,
    Spilled, ToolCall, ToolResult, provider, user,
};
use context_simulator::Simulator;

use crate::{simulated, tools};

/// An agent: a runtime, a provider, and the codec for its wire form.
pub struct Agent {
    /// The runtime that prepares every call.
    pub runtime: DefaultContextRuntime,
    codec: Arc<dyn ModelCodec>,
    client: Simulator,
}

impl Agent {
    /// Creates an agent that asks the simulated provider. In a real program, the client of a
    /// provider takes its place.
    pub fn new(runtime: DefaultContextRuntime) -> Result<Self> {
        let codec = provider("anthropic")?;
        Ok(Self { runtime, client: simulated::client(codec.clone()), codec })
    }

    /// Answers a question of the user in a chat, and records the steps to the answer.
    pub async fn answer(
        &self,
        chat: &mut ContextEngine,
        round: &OpenRound,
        question: &str,
        say: &mut impl FnMut(&str),
    ) -> Result<String> {
        chat.set([user(question)]);
        round.ask(question).await?;
        loop {
            // One call of the model. It is retried in another form until it is answered, for a
            // bounded number of times.
            let turn = chat.resolve().await?;
            let input = turn.prepare().tools(tools::offered()).max_output_tokens(1_000);
            let mut call = ModelCall::new(&self.runtime, self.codec.clone(), input);
            while let Some(request) = call.next().await? {
                let reply = self.client.send(request.body().as_str());
                // decides what to do about an overflow or a busy provider
                call.received(reply.status, &reply.to_text());
            }
            for attempt in call.attempts() {
                let (before, after) = (attempt.before, attempt.after);
                say(&format!(
                    "  refused; {}: a history of {before} tokens became {after}",
                    attempt.decision.kind()
                ));
            }

            // The answer is appended to the chat. Content that was cut to fit the window stays cut
            // for the model, but nothing is lost in the store.
            let answer = &chat.accept(&turn, &call).await?.message;
            round.record(answer).await?;

            // The tools run. A result that is too large goes to the store, and a preview with its
            // beginning and end replaces it.
            let mut results = Vec::new();
            for call in answer.tool_calls() {
                say(&format!("  the model calls {} {}", call.name, call.input.as_written()));
                results.push(self.run(call, &turn.chat).await);
            }
            if results.is_empty() {
                chat.save().await?; // one commit, or nothing
                // the memory captures the turn
                self.runtime.capture_turn(chat.resolve().await?.capture()).await?;
                round.finish().await?;
                return Ok(answer.plain_text().into_owned());
            }
            let given = chat.set_tool_results(&self.runtime, results).await?;
            for message in &given.appended {
                round.record(message).await?;
                for kept in
                    message.tool_results().filter_map(|result| Spilled::of(&result.metadata))
                {
                    say(&format!(
                        "  {} bytes are kept in the store, and a preview is shown",
                        kept.bytes
                    ));
                }
            }
            chat.save().await?;
        }
    }

    async fn run(&self, call: &ToolCall, chat: &ChatRef) -> ToolResult {
        match self.runtime.spill() {
            Some(spill) if call.name == READ_SPILLED => spill.answer(chat, call).await,
            _ => tools::run(call),
        }
    }
}
