//! Turns: a question, until its answer, with the program's own HTTP client and loop.
//!
//! A [`Turn`](context_runtime::Turn) borrows its chat. So a task owns both, and the objects that
//! Python holds send it one step at a time. A step that Python no longer waits for is completed;
//! dropping the object drops the turn, which closes it as interrupted.

use std::sync::Arc;

use context_runtime::model::{AnswerDelta, ModelError, ModelErrorCode};
use context_runtime::{
    AgentChat, CallRequest, Error, ErrorKind, Json, Message, Part, Result, Role, Tool, ToolCall,
    ToolResult, Turn as Running, TurnAnswer, TurnReport, role,
};
use pyo3::prelude::*;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::bridge::Face;
use crate::json::{JsonArgument, Reply};
use crate::message_form::GivenMessage;
use crate::prepare;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Turn>()?;
    module.add_class::<AsyncTurn>()
}

/// The question of a turn and what it may use.
pub(crate) struct Asked {
    question: Option<Message>,
    system: Option<String>,
    tools: Vec<Tool>,
    max_output_tokens: Option<u64>,
}

impl Asked {
    pub(crate) fn new(
        question: Option<JsonArgument>,
        system: Option<String>,
        tools: Option<JsonArgument>,
        max_output_tokens: Option<u64>,
    ) -> Result<Self> {
        let question = question.map(|given| {
            let json = given.into_json();
            match json.to_text() {
                Some(text) => Ok(Message::from(text)),
                None => json
                    .parse::<GivenMessage>()
                    .map(GivenMessage::into_message)
                    .map_err(|error| Error::invalid("turn", error.to_string())),
            }
        });
        let (question, tools) = (question.transpose()?, prepare::tools(tools.as_ref())?);
        Ok(Self { question, system, tools, max_output_tokens })
    }
}

/// A step of a turn.
enum Step {
    Next,
    Received { status: u16, body: String },
    Failed(String),
    Event(String),
    ToolCalls,
    Result(ToolResult),
    Report,
    Finish,
    Cancel,
}

type Steps = mpsc::Sender<(Step, oneshot::Sender<Result<Reply>>)>;

/// A turn that a task drives.
pub(crate) struct TurnOperations {
    id: String,
    steps: Steps,
}

/// Begins a turn in a task of its own.
pub(crate) async fn begin(chat: AgentChat, asked: Asked) -> Result<Reply> {
    let (steps, received) = mpsc::channel(1);
    let (began, id) = oneshot::channel();
    tokio::spawn(drive(chat, asked, began, received));
    let id = id.await.map_err(|_| ended())??;
    let operations = Arc::new(TurnOperations { id, steps });
    Ok(Reply::Object(Box::new(move |py, face| match face {
        Face::Blocking => Ok(Py::new(py, Turn { operations })?.into_any()),
        Face::Asyncio => Ok(Py::new(py, AsyncTurn { operations })?.into_any()),
    })))
}

/// Owns a chat and drives its turn until it ends or nobody holds it.
async fn drive(
    mut chat: AgentChat,
    asked: Asked,
    began: oneshot::Sender<Result<String>>,
    mut steps: mpsc::Receiver<(Step, oneshot::Sender<Result<Reply>>)>,
) {
    let provider = chat.agents().codec().name();
    if let Some(system) = asked.system {
        chat.set([role(system)]);
    }
    let builder = match asked.question {
        Some(question) => chat.turn(question),
        None => chat.resume(),
    };
    let mut builder = builder.tools(asked.tools);
    if let Some(tokens) = asked.max_output_tokens {
        builder = builder.max_output_tokens(tokens);
    }
    let mut turn = match builder.begin().await {
        Ok(turn) => turn,
        Err(error) => {
            let _nobody_waits = began.send(Err(error.into()));
            return;
        }
    };
    if began.send(Ok(turn.id().to_string())).is_err() {
        return;
    }
    // The request that waits for its reply. Whoever asks again, because a task was cancelled while
    // it waited, is given the same one.
    let mut open_request: Option<String> = None;
    while let Some((step, reply)) = steps.recv().await {
        // A reply that nobody waits for is dropped; its step is done.
        let _nobody_waits = match step {
            Step::Finish => {
                let answer = turn.finish().await;
                let answer = answer.map_err(Error::from).and_then(|answer| answer_form(&answer));
                let _nobody_waits = reply.send(answer);
                return;
            }
            Step::Cancel => {
                let report = turn.cancel().await;
                let report = report.map_err(Error::from).and_then(|report| report_form(&report));
                let _nobody_waits = reply.send(report);
                return;
            }
            Step::Next => reply.send(match &open_request {
                Some(request) => Ok(Reply::Json(request.clone())),
                None => match turn.next().await {
                    Ok(Some(request)) => request_form(&request).map(|form| {
                        open_request = Some(form.clone());
                        Reply::Json(form)
                    }),
                    Ok(None) => Ok(Reply::none()),
                    Err(error) => Err(error.into()),
                },
            }),
            step => {
                if matches!(step, Step::Received { .. } | Step::Failed(_) | Step::Event(_)) {
                    open_request = None;
                }
                reply.send(take(&mut turn, provider, step).await)
            }
        };
    }
}

/// Takes a step after which the turn goes on.
async fn take(turn: &mut Running<'_>, provider: &str, step: Step) -> Result<Reply> {
    match step {
        Step::Received { status, body } => {
            turn.received(status, &body);
            calls_form(&turn.tool_calls())
        }
        Step::Failed(message) => {
            let error = ModelError::new(provider, ModelErrorCode::Network, message);
            turn.answered(Err(error));
            Ok(Reply::none())
        }
        Step::Event(data) => deltas_form(turn.event(&data).await?),
        Step::ToolCalls => calls_form(&turn.tool_calls()),
        Step::Result(result) => {
            turn.result(result);
            Ok(Reply::none())
        }
        Step::Report => report_form(&turn.report()),
        Step::Next | Step::Finish | Step::Cancel => Err(ended()),
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Invalid, "turn", "the turn has ended")
}

fn request_form(request: &CallRequest) -> Result<String> {
    #[derive(Serialize)]
    struct Request<'a> {
        number: u32,
        body: &'a Json,
        headers: &'a [(&'static str, &'static str)],
    }
    let CallRequest { number, headers, .. } = request;
    let form = Request { number: *number, body: request.body(), headers };
    serde_json::to_string(&form)
        .map_err(|error| Error::new(ErrorKind::Bug, "turn", error.to_string()))
}

fn calls_form(calls: &[ToolCall]) -> Result<Reply> {
    #[derive(Serialize)]
    struct Call<'a> {
        id: &'a str,
        name: &'a str,
        /// The input as JSON, or as text if the model wrote something else.
        input: serde_json::Value,
    }
    let call = |call: &'_ ToolCall| {
        let written = call.input.as_written();
        serde_json::from_str(written).unwrap_or_else(|_| written.into())
    };
    let calls = calls.iter().map(|c| Call { id: &c.id, name: &c.name, input: call(c) });
    Reply::json(&calls.collect::<Vec<_>>())
}

fn deltas_form(deltas: Vec<AnswerDelta>) -> Result<Reply> {
    #[derive(Serialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Delta {
        Text { text: String },
        Reasoning { text: String },
        ToolCall { id: String, name: String },
        ToolInput { text: String },
        Restarted,
        Other,
    }
    let delta = |delta| match delta {
        AnswerDelta::Text(text) => Delta::Text { text },
        AnswerDelta::Reasoning(text) => Delta::Reasoning { text },
        AnswerDelta::ToolCall { id, name } => Delta::ToolCall { id, name },
        AnswerDelta::ToolInput(text) => Delta::ToolInput { text },
        AnswerDelta::Restarted => Delta::Restarted,
        _ => Delta::Other,
    };
    Reply::json(&deltas.into_iter().map(delta).collect::<Vec<_>>())
}

#[derive(Serialize)]
struct Report<'a> {
    calls: u32,
    retries: u32,
    steps: u32,
    tool_results: u32,
    usage: &'a context_runtime::model::Usage,
    cost_usd: Option<f64>,
    elapsed_s: f64,
    plans: &'a [context_runtime::PlanReport],
    spilled_bytes: u64,
    not_run: &'a [String],
    diagnostics: &'a [context_runtime::Diagnostic],
}

impl<'a> From<&'a TurnReport> for Report<'a> {
    fn from(report: &'a TurnReport) -> Self {
        Self {
            calls: report.calls,
            retries: report.retries,
            steps: report.steps,
            tool_results: report.tool_results,
            usage: &report.usage,
            cost_usd: report.cost_usd,
            elapsed_s: report.elapsed.as_secs_f64(),
            plans: &report.plans,
            spilled_bytes: report.spilled_bytes,
            not_run: &report.not_run,
            diagnostics: &report.diagnostics,
        }
    }
}

fn report_form(report: &TurnReport) -> Result<Reply> {
    Reply::json(&Report::from(report))
}

fn answer_form(answer: &TurnAnswer) -> Result<Reply> {
    #[derive(Serialize)]
    struct Answer<'a> {
        turn: &'a context_runtime::MessageId,
        id: &'a context_runtime::MessageId,
        role: Role,
        parts: &'a [Part],
        text: &'a str,
        incomplete: bool,
        report: Report<'a>,
    }
    Reply::json(&Answer {
        turn: &answer.turn,
        id: &answer.id,
        role: answer.message.role,
        parts: &answer.message.parts,
        text: &answer.text(),
        incomplete: answer.is_incomplete(),
        report: Report::from(&answer.report),
    })
}

impl TurnOperations {
    async fn step(&self, step: Step) -> Result<Reply> {
        let (reply, answer) = oneshot::channel();
        self.steps.send((step, reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    async fn next(&self) -> Result<Reply> {
        self.step(Step::Next).await
    }

    async fn received(&self, status: u16, body: String) -> Result<Reply> {
        self.step(Step::Received { status, body }).await
    }

    async fn failed(&self, message: String) -> Result<Reply> {
        self.step(Step::Failed(message)).await
    }

    async fn event(&self, data: String) -> Result<Reply> {
        self.step(Step::Event(data)).await
    }

    async fn tool_calls(&self) -> Result<Reply> {
        self.step(Step::ToolCalls).await
    }

    async fn result(&self, call_id: String, output: String, is_error: bool) -> Result<Reply> {
        let Part::ToolResult(mut result) = Part::tool_result(call_id, output) else {
            return Err(Error::new(ErrorKind::Bug, "result", "not a tool result"));
        };
        result.is_error = is_error;
        self.step(Step::Result(result)).await
    }

    async fn report(&self) -> Result<Reply> {
        self.step(Step::Report).await
    }

    async fn finish(&self) -> Result<Reply> {
        self.step(Step::Finish).await
    }

    async fn cancel(&self) -> Result<Reply> {
        self.step(Step::Cancel).await
    }
}

faces! {
    TurnOperations => Turn, AsyncTurn;
    both {
        /// The id of the turn: that of the question.
        #[getter]
        fn id(&self) -> &str {
            &self.operations.id
        }
    }
    blocking {}
    asyncio {}

    /// Returns the next request to send, or `None` once the model has answered. The same request
    /// again, until its reply or its failure is handed over.
    fn next();

    /// Takes the reply to the request, and returns the tool calls of the answer.
    fn received(status: u16, body: String);

    /// Takes the news that no reply came, such as a lost connection. `next` decides what to do.
    fn failed(message: String);

    /// Takes the data of an event of a streamed reply, and returns the text that it adds.
    fn event(data: String);

    /// Returns the tool calls that have no result yet.
    fn tool_calls();

    /// Takes the result of a tool.
    #[pyo3(signature = (call_id, output, *, is_error=false))]
    fn result(call_id: String, output: String, is_error: bool);

    /// Returns what the turn has used so far.
    fn report();

    /// Ends the turn and returns the answer.
    fn finish();

    /// Ends the turn without an answer.
    fn cancel();
}
