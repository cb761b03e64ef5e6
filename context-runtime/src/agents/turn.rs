//! A turn: one question, until its answer.

mod begin;
mod calls;
mod delta_stream;
mod end;
mod results;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use context_core::model::{AnswerDelta, Tool, Usage};
use context_core::runtime::{ModelContext, TurnRef};
use context_core::trajectory::RoundHead;
use context_core::{
    Answer, CancelSignal, Error, ErrorKind, Message, MessageId, ModelError, Timestamp, ToolCall,
    ToolResult,
};
use tokio::time::Instant;

pub use begin::TurnBuilder;
pub(super) use calls::Listener;

use self::delta_stream::DeltaStream;
use super::recorder::{AnswerRecord, ResultRecord, TurnRecorder};
use super::{Agents, Parts, TurnError, TurnLimits, TurnOutcome, TurnReport};
use crate::observer::{Observer, TurnEvent};
use crate::{CallOptions, CallRequest, ContextEngine, ModelCall, Resolved};

/// One question of a user, until the model has answered it.
///
/// [`AgentChat::turn`](crate::AgentChat::turn) builds it, [`begin`](TurnBuilder::begin) stores the
/// question. Then the program loops: [`next`](Self::next) returns the request to send, the program
/// hands over the reply, and the results of the tools that the model calls. `next` returns `None`
/// once the model has answered, and [`finish`](Self::finish) ends the turn.
///
/// A turn keeps these promises:
///
/// * The question is stored when `begin` returns, answers and tool results when the next request
///   leaves.
/// * Answers, calls and results are recorded as a round, with the usage, cost and times of each
///   call, linked to their messages.
/// * It ends in one order, however it ends: what arrived is stored, the memory captures it once,
///   descriptions are waited for, the round is closed.
/// * It is bounded: see [`TurnLimits`].
///
/// A turn that is dropped without its end leaves a valid history.
/// [`AgentChat::interrupted`](crate::AgentChat::interrupted) shows it,
/// [`AgentChat::resume`](crate::AgentChat::resume) continues it, and the next turn of the chat
/// closes its round as interrupted.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// use context_runtime::{Agents, FunctionTool};
///
/// # async fn send(body: &str) -> (u16, String) {
/// #     (200, match body.contains("tool_result") {
/// #         false => r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"weather","input":{}}],"stop_reason":"tool_use"}"#,
/// #         true => r#"{"role":"assistant","content":[{"type":"text","text":"Warm."}],"stop_reason":"end_turn"}"#,
/// #     }.to_owned())
/// # }
/// let agents = Agents::open("mem:").await?.model("claude-sonnet-4-5").build()?;
/// let mut chat = agents.chat("ada", "lisbon").await?;
/// let weather = FunctionTool::new("weather", serde_json::json!({"type": "object"}));
///
/// let mut turn = chat.turn("How is the weather?").tools([weather]).begin().await?;
/// while let Some(request) = turn.next().await? {
///     let (status, body) = send(request.body().as_str()).await;
///     turn.received(status, &body);
///     for call in turn.tool_calls() {
///         turn.result(call.result("18 °C"));
///     }
/// }
/// let answer = turn.finish().await?;
/// assert_eq!((answer.text().as_ref(), answer.report.calls), ("Warm.", 2));
/// # Ok(())
/// # }
/// ```
#[must_use = "a turn does nothing before `next` is called, and ends with `finish` or `cancel`"]
pub struct Turn<'c> {
    agents: &'c Agents,
    parts: &'c Parts,
    engine: &'c mut ContextEngine,
    settings: Settings<'c>,
    /// The id of the question.
    id: MessageId,
    phase: Phase<'c>,
    /// Results that were handed over for the newest answer.
    results: Vec<ResultRecord>,
    /// The history that the turn began with, for the memory.
    began_with: Option<Resolved>,
    context: Option<Arc<ModelContext>>,
    answer: Option<(MessageId, Arc<Message>)>,
    recorder: TurnRecorder,
    closed: &'c mut Option<RoundHead>,
    deltas: DeltaStream,
    report: TurnReport,
    began: Instant,
}

/// The settings of a turn.
struct Settings<'c> {
    tools: Vec<Tool>,
    /// The names of the history tools that the library offers and answers.
    history_tools: Vec<String>,
    limits: TurnLimits,
    calls: CallOptions,
    cancel: CancelSignal,
    max_output: Option<u64>,
    prepare: Option<Box<begin::ChangeInput<'c>>>,
    /// Whether the chat is a branch of a parent that goes on with its own summaries.
    is_fork: bool,
}

/// The state of a turn.
enum Phase<'c> {
    /// The next request may be prepared.
    Ready,
    /// A model is asked.
    Asked(Box<Asked<'c>>),
    /// The model has called tools.
    Called(Box<Called>),
    /// The model has answered.
    Answered,
    /// The turn has ended.
    Ended,
}

/// A call of a model.
struct Asked<'c> {
    resolved: Resolved,
    call: ModelCall<'c>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
}

/// Tool calls that wait for their results.
struct Called {
    /// The calls, in order.
    calls: Vec<ToolCall>,
    /// The time from which their tools run.
    since: Timestamp,
    /// The id that the message of the results will have.
    results: MessageId,
    /// The answer, until it is stored and recorded.
    answer: Option<AnswerRecord>,
    /// The result of a call that the program gives none.
    without_result: &'static str,
}

impl Turn<'_> {
    /// The id of the turn: that of the question's message.
    pub fn id(&self) -> &MessageId {
        &self.id
    }

    /// The engine of the chat.
    pub fn engine(&self) -> &ContextEngine {
        self.engine
    }

    /// The name of the wire form of requests and replies.
    pub fn provider(&self) -> &str {
        self.parts.codec.name()
    }

    /// The context that was prepared last: the request before it is written in the provider's form,
    /// its token counts, cuts and diagnostics.
    pub fn context(&self) -> Option<&ModelContext> {
        self.context.as_deref()
    }

    /// What the turn has used and done so far.
    pub fn report(&self) -> TurnReport {
        let mut report = self.report.clone();
        if let Phase::Asked(asked) = &self.phase {
            report.add_call(&asked.call);
        }
        report.elapsed = self.began.elapsed();
        let diagnostics = self.recorder.diagnostics.iter().chain(self.deltas.diagnostic());
        report.diagnostics.extend(diagnostics.cloned());
        report
    }

    /// Returns the next request to send, or `None` once the model has answered. What arrived before
    /// is stored and recorded first. A tool call without a [result](Self::result) is answered by an
    /// error that says so.
    ///
    /// An error ends the turn in order. If the future is dropped, nothing is lost: call `next`
    /// again.
    pub async fn next(&mut self) -> Result<Option<CallRequest>, TurnError> {
        let Some(context) = self.prepared().await? else { return Ok(None) };
        let lowered = match &mut self.phase {
            Phase::Asked(asked) => asked.call.lowered(context),
            _ => return Ok(None),
        };
        match lowered {
            Ok(request) => Ok(Some(request)),
            Err(error) => Err(self.fail(error.into()).await),
        }
    }

    /// Takes the reply to the newest request as an HTTP response: its status and body. An overflow,
    /// a refused image or a busy provider is a matter of the recovery, which [`next`](Self::next)
    /// asks.
    pub fn received(&mut self, status: u16, body: &str) {
        let now = self.parts.clock.now();
        if let Phase::Asked(asked) = &mut self.phase {
            asked.ended_at = Some(now);
            asked.call.received(status, body);
        }
    }

    /// Takes the reply to the newest request: the answer, or the error instead.
    pub fn answered(&mut self, reply: Result<Answer, ModelError>) {
        let now = self.parts.clock.now();
        if let Phase::Asked(asked) = &mut self.phase {
            asked.ended_at = Some(now);
            asked.call.answered(reply);
        }
    }

    /// Takes the data of the next event of a streamed reply, and returns what it adds to the
    /// answer. The additions are written to the stream of the turn, which has the turn's
    /// [id](Self::id): another process can [follow](crate::streams::Streams::follow) it, and cancel
    /// it, which ends the turn.
    pub async fn event(&mut self, data: &str) -> Result<Vec<AnswerDelta>, TurnError> {
        let now = self.parts.clock.now();
        let Phase::Asked(asked) = &mut self.phase else { return Ok(Vec::new()) };
        asked.ended_at = Some(now);
        let deltas = asked.call.event(data);
        for delta in &deltas {
            if self.deltas.push(delta).await {
                return Err(self.fail(cancelled_by_reader()).await);
            }
        }
        Ok(deltas)
    }

    /// Takes the end of a streamed reply. [`next`](Self::next) notices it too.
    pub fn events_ended(&mut self) {
        if let Phase::Asked(asked) = &mut self.phase {
            asked.call.events_ended();
        }
    }

    /// Returns the tool calls of the newest answer that have no result yet, in order. Calls of the
    /// tools that the library answers itself are not among them.
    pub fn tool_calls(&mut self) -> Vec<ToolCall> {
        self.events_ended();
        let given =
            |call: &ToolCall| self.results.iter().any(|given| given.result.call_id == call.id);
        let own = |call: &&ToolCall| !self.answers(call) && !given(call);
        match &self.phase {
            Phase::Asked(asked) => {
                let calls = asked.call.message().into_iter().flat_map(Message::tool_calls);
                calls.filter(own).cloned().collect()
            }
            Phase::Called(called) => called.calls.iter().filter(own).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Takes the result of a tool. A result that answers no call of the newest answer is refused by
    /// the next [`next`](Self::next).
    pub fn result(&mut self, result: ToolResult) {
        let started_at = match &self.phase {
            Phase::Asked(asked) => asked.ended_at.unwrap_or(asked.started_at),
            Phase::Called(called) => called.since,
            _ => self.parts.clock.now(),
        };
        let ended_at = self.parts.clock.now();
        self.results.push(ResultRecord { result, started_at, ended_at });
    }

    /// The turn, as events and tools name it.
    fn reference(&self) -> TurnRef {
        TurnRef::new(self.engine.chat_ref(), self.id.as_str())
    }

    fn tell(&self, event: &TurnEvent<'_>) {
        self.parts.runtime.observer().on_event(&self.reference(), event);
    }

    pub(super) fn remaining(&self) -> Duration {
        self.settings.limits.time.saturating_sub(self.began.elapsed())
    }
}

/// The error of a turn that the reader of its stream has cancelled.
fn cancelled_by_reader() -> TurnError {
    Error::new(ErrorKind::Cancelled, "turn", "a reader of the turn's stream cancelled it").into()
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !matches!(self.phase, Phase::Ended) {
            tracing::warn!(
                chat = %self.engine.chat_ref().chat,
                turn = %self.id,
                "a turn is dropped before its end: call `finish` or `cancel`; the next turn closes it as interrupted"
            );
            self.recorder.keep_response();
            self.engine.write_in(None);
            let report = self.report();
            self.phase = Phase::Ended; // an open call ends first
            self.tell(&TurnEvent::TurnEnded { report: &report });
        }
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match &self.phase {
            Phase::Ready => "ready",
            Phase::Asked(_) => "asked",
            Phase::Called(_) => "called",
            Phase::Answered => "answered",
            Phase::Ended => "ended",
        };
        f.debug_struct("Turn")
            .field("chat", self.engine.chat_ref())
            .field("id", &self.id)
            .field("phase", &phase)
            .finish_non_exhaustive()
    }
}

impl TurnReport {
    /// Adds a call of a model that has ended, or as far as it is.
    fn add_call(&mut self, call: &ModelCall<'_>) {
        // A call that was refused or cancelled spent nothing, and leaves the cost known.
        let spent = |usage: &Usage| usage.total() > 0;
        self.cost_usd = match (spent(&self.usage), spent(&call.usage())) {
            (_, false) => self.cost_usd,
            (false, true) => call.cost_usd(),
            (true, true) => self.cost_usd.zip(call.cost_usd()).map(|(all, cost)| all + cost),
        };
        self.calls += call.calls();
        self.retries += call.retries();
        self.usage += call.usage();
        self.cache_lost += call.cache_lost();
        self.plans.extend(call.plans().iter().cloned());
        self.attempts.extend(call.attempts().iter().cloned());
        self.diagnostics.extend(call.diagnostics().iter().cloned());
    }

    fn ended(&mut self, outcome: TurnOutcome, began: Instant) {
        (self.outcome, self.elapsed) = (outcome, began.elapsed());
    }
}
