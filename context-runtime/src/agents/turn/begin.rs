//! Beginning a turn.

use std::sync::Arc;

use context_core::message::WrittenIn;
use context_core::model::Tool;
use context_core::runtime::PrepareInput;
use context_core::trajectory::RoundRef;
use context_core::{CancelSignal, Error, Fragment, Message, MessageId};
use tokio::time::Instant;

use super::delta_stream::DeltaStream;
use super::{Called, Phase, Settings, Turn};
use crate::agents::interrupted::newest_turn;
use crate::agents::recorder::{StoredTurn, TurnRecorder};
use crate::agents::{AgentChat, Ask, TurnError, TurnLimits, TurnReport};
use crate::observer::TurnEvent;
use crate::{CallOptions, HistoryTools, READ_SPILLED, spilled_output_tool};

/// The result of a call whose turn was interrupted.
const UNKNOWN: &str = "The turn was interrupted. It is not known whether the tool ran.";

/// Changes the input of each call.
pub(super) type ChangeInput<'c> = dyn FnMut(PrepareInput) -> PrepareInput + Send + 'c;

/// Builds a [`Turn`].
#[must_use = "a turn begins with `begin`"]
pub struct TurnBuilder<'c> {
    chat: &'c mut AgentChat,
    question: Option<Message>,
    id: Option<MessageId>,
    tools: Vec<Tool>,
    history_tools: bool,
    limits: TurnLimits,
    calls: CallOptions,
    cancel: CancelSignal,
    max_output: Option<u64>,
    prepare: Option<Box<ChangeInput<'c>>>,
}

impl<'c> TurnBuilder<'c> {
    pub(in crate::agents) fn new(chat: &'c mut AgentChat, question: Option<Message>) -> Self {
        let parts = &chat.agents.0;
        let (limits, calls, history_tools) = (parts.limits, parts.calls, parts.history_tools);
        Self {
            chat,
            question,
            id: None,
            tools: Vec::new(),
            history_tools,
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

    /// Sets the id of the question, which names the turn. Default: a fresh one. A caller that may
    /// have to repeat the beginning of a turn names it, and finds by the id that it has begun.
    pub fn id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Adds tools that the model may call. With tools, the turn also offers and answers
    /// [`READ_SPILLED`](crate::READ_SPILLED), which reads large results back.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets whether the turn offers and answers [`HistoryTools`], with which the model searches and
    /// reads the conversation, sees how full its window is, and asks for a compaction. A tool of
    /// the program with the same name takes precedence. Default: that of the agents.
    pub fn history_tools(mut self, offered: bool) -> Self {
        self.history_tools = offered;
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

    /// Lets the model answer: calls it, runs the tools that it calls, and returns the answer.
    pub fn ask(self) -> Ask<'c> {
        Ask::new(self)
    }

    /// Begins the turn. The question is stored when this returns. An earlier turn of the chat that
    /// nobody ended is closed as interrupted.
    pub async fn begin(self) -> Result<Turn<'c>, TurnError> {
        let AgentChat { agents, engine, agent, is_fork, reserved, closed } = self.chat;
        let parts = &*agents.0;
        self.cancel.check("turn")?;
        let mut report = TurnReport::default();
        let stored = match self.question {
            Some(question) => {
                let id = self.id.unwrap_or_else(|| MessageId::from(parts.ids.next_id()));
                let question = question.with_written_in(&WrittenIn::turn(id.as_str()));
                let question = Arc::new(question);
                engine.set([Fragment::from(Arc::clone(&question)).with_id(id.clone())]);
                engine.save().await?;
                report.diagnostics.extend(engine.snapshot_turn(&self.cancel).await);
                StoredTurn {
                    chat: engine.chat_ref().chat.clone(),
                    question: (id, question),
                    messages: Vec::new(),
                    is_continued: false,
                }
            }
            None => newest_turn(engine).await?.ok_or_else(|| {
                let text = "the chat has no question to continue: ask one with `turn`";
                Error::invalid("resume", text)
            })?,
        };
        // The results of calls that an interrupted turn left come first.
        let (answer, open_calls) = (stored.answer().cloned(), stored.open_calls());
        let phase = match open_calls.is_empty() {
            true if answer.is_some() => Phase::Answered,
            true => Phase::Ready,
            false => Phase::Called(Box::new(Called {
                calls: open_calls,
                since: parts.clock.now(),
                results: MessageId::from(parts.ids.next_id()),
                answer: None,
                without_result: UNKNOWN,
            })),
        };
        let trajectories = parts.trajectories.as_ref();
        let before = (reserved.take(), closed.take());
        let recorder = TurnRecorder::begin(trajectories, agent, before, &stored).await;
        // Nothing is awaited from here on, so the mark cannot outlive a turn that never began.
        let written_in = WrittenIn::turn(stored.question.0.as_str());
        engine.write_in(Some(match recorder.round() {
            Some(round) => written_in.run(run_of(round.reference())),
            None => written_in,
        }));
        let (id, is_continued) = (stored.question.0, stored.is_continued);
        let mut tools = self.tools;
        let name = |tool: &Tool| match tool {
            Tool::Function(function) => Some(function.name.clone()),
            _ => None,
        };
        let can_spill = !tools.is_empty() && parts.runtime.spill().is_some();
        if can_spill && !tools.iter().filter_map(name).any(|name| name == READ_SPILLED) {
            tools.push(spilled_output_tool().into());
        }
        let mut history_tools = Vec::new();
        if self.history_tools {
            let (chat, branch) = (engine.chat_ref().clone(), engine.branch().clone());
            let own = HistoryTools::new(&*parts.store, chat, branch).runtime(&parts.runtime);
            for tool in own.tools() {
                if !tools.iter().filter_map(name).any(|name| name == tool.name) {
                    history_tools.push(tool.name.clone());
                    tools.push(tool.into());
                }
            }
        }
        let deltas = DeltaStream::new(engine.streams(), &id, is_continued);
        let turn = Turn {
            agents,
            parts,
            engine,
            settings: Settings {
                tools,
                history_tools,
                limits: self.limits,
                calls: self.calls,
                cancel: self.cancel,
                max_output: self.max_output,
                prepare: self.prepare,
                is_fork: *is_fork,
            },
            id,
            phase,
            results: Vec::new(),
            began_with: None,
            context: None,
            answer,
            recorder,
            closed,
            deltas,
            report,
            began: Instant::now(),
        };
        turn.tell(&TurnEvent::TurnBegan);
        Ok(turn)
    }
}

/// Returns the run that messages of a round name: session, agent and round.
fn run_of(round: &RoundRef) -> String {
    let RoundRef { agent, round } = round;
    format!("{}/{}/{round}", agent.session, agent.agent)
}
