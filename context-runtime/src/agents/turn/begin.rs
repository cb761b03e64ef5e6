//! Beginning a turn.

use std::sync::Arc;

use context_core::model::Tool;
use context_core::runtime::PrepareInput;
use context_core::trajectory::MessageLink;
use context_core::{CancelSignal, Error, Fragment, Message, MessageId};
use tokio::time::Instant;

use super::delta_stream::DeltaStream;
use super::{Phase, Settings, Turn};
use crate::agents::recorder::TurnRecorder;
use crate::agents::{AgentChat, TurnError, TurnLimits, TurnReport};
use crate::{CallOptions, ContextEngine, READ_SPILLED, spilled_output_tool};

/// Changes the input of each call.
pub(super) type ChangeInput<'c> = dyn FnMut(PrepareInput) -> PrepareInput + Send + 'c;

/// Builds a [`Turn`].
#[must_use = "a turn begins with `begin`"]
pub struct TurnBuilder<'c> {
    chat: &'c mut AgentChat,
    question: Option<Message>,
    tools: Vec<Tool>,
    limits: TurnLimits,
    calls: CallOptions,
    cancel: CancelSignal,
    max_output: Option<u64>,
    prepare: Option<Box<ChangeInput<'c>>>,
}

impl<'c> TurnBuilder<'c> {
    pub(in crate::agents) fn new(chat: &'c mut AgentChat, question: Option<Message>) -> Self {
        let parts = &chat.agents.0;
        let (limits, calls) = (parts.limits, parts.calls);
        Self {
            chat,
            question,
            tools: Vec::new(),
            limits,
            calls,
            cancel: CancelSignal::never(),
            max_output: None,
            prepare: None,
        }
    }

    /// The chat of the turn.
    pub(in crate::agents) fn chat(&self) -> &AgentChat {
        self.chat
    }

    /// Adds tools that the model may call. With tools, the turn also offers and answers
    /// [`READ_SPILLED`](crate::READ_SPILLED), which reads large results back.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the limits of this turn. Default: those of the agents.
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the retries and waits of each call. Default: those of the agents.
    pub fn calls(mut self, options: CallOptions) -> Self {
        self.calls = options;
        self
    }

    /// Sets the signal that cancels the turn. It ends in order, and [`next`](Turn::next) returns an
    /// error that [says so](TurnError::is_cancelled).
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.cancel = signal;
        self
    }

    /// Sets the most tokens of each answer. Default: the most the model writes, but at most a
    /// quarter of its window.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output = Some(tokens);
        self
    }

    /// Changes the input of every call: instructions, environment, tool choice, an output schema.
    pub fn prepare(mut self, change: impl FnMut(PrepareInput) -> PrepareInput + Send + 'c) -> Self {
        self.prepare = Some(Box::new(change));
        self
    }

    /// Begins the turn. The question is stored when this returns. An earlier turn of the chat that
    /// nobody ended is closed as interrupted.
    pub async fn begin(self) -> Result<Turn<'c>, TurnError> {
        let AgentChat { agents, engine, agent, reserved } = self.chat;
        let parts = &*agents.0;
        self.cancel.check("turn")?;
        let id = match &self.question {
            Some(question) => {
                let id = MessageId::from(parts.ids.next_id());
                engine.set([Fragment::from(question.clone()).with_id(id.clone())]);
                engine.save().await?;
                id
            }
            None => newest_request(engine).await?,
        };
        let link = MessageLink::new(engine.chat_ref().chat.clone(), id.clone());
        let recorder = TurnRecorder::begin(
            parts.trajectories.as_ref(),
            agent,
            reserved.take(),
            self.question.as_ref().map(|question| (question, link)),
        )
        .await;
        let mut tools = self.tools;
        let name = |tool: &Tool| match tool {
            Tool::Function(function) => Some(function.name.clone()),
            _ => None,
        };
        let can_spill = !tools.is_empty() && parts.runtime.spill().is_some();
        if can_spill && !tools.iter().filter_map(name).any(|name| name == READ_SPILLED) {
            tools.push(spilled_output_tool().into());
        }
        let deltas = DeltaStream::new(engine.streams(), &id);
        Ok(Turn {
            agents,
            parts,
            engine,
            settings: Settings {
                tools,
                limits: self.limits,
                calls: self.calls,
                cancel: self.cancel,
                max_output: self.max_output,
                prepare: self.prepare,
            },
            id,
            phase: Phase::Ready,
            results: Vec::new(),
            context: None,
            answer: None,
            recorder,
            deltas,
            report: TurnReport::default(),
            began: Instant::now(),
        })
    }
}

/// Returns the id of the request that an interrupted turn left.
async fn newest_request(engine: &mut ContextEngine) -> Result<MessageId, TurnError> {
    let shown = engine.shown_messages().await?;
    let is_request = |message: &Arc<Message>| message.is_request();
    let newest = shown.iter().rev().find(|node| node.message().is_ok_and(is_request));
    newest.map(|node| node.id.clone()).ok_or_else(|| {
        Error::invalid("resume", "the chat has no question to continue: ask one with `turn`").into()
    })
}
