//! The requests and answers of a step of a turn.

use context_runtime::model::Usage;
use context_runtime::{Diagnostic, Json, Part, TurnReport};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The settings of a turn. Each step has them again: the server keeps none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TurnSettings {
    /// The model, whose window, prices and token counter are used.
    #[schema(example = "claude-sonnet-4-5")]
    pub model: String,
    /// The form of requests and replies: `openai`, `openai-responses`, `anthropic`, `gemini`.
    /// Default: that of the model's vendor.
    pub provider: Option<String>,
    /// The window in tokens. Default: the model's.
    pub window: Option<u64>,
    /// The most tokens of each answer.
    pub max_output_tokens: Option<u64>,
    /// The branch. Default: the active one.
    pub branch: Option<String>,
    /// The system prompt, as one text.
    pub system: Option<String>,
    /// The system prompt as fragments: `{"name": …, "data": …}`.
    #[serde(default)]
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub fragments: Vec<serde_json::Value>,
    /// The tools that the model may call.
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// Whether the model gets tools that read and search the conversation, which the server
    /// answers. Default: no.
    #[serde(default)]
    pub history_tools: bool,
    /// Whether the model shall stream its answer, in the body of the request.
    pub stream: Option<bool>,
    /// Whether memories are recalled, and the turn is remembered. Default: no.
    #[serde(default)]
    pub memory: bool,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments, an object.
    #[schema(value_type = HashMap<String, Value>)]
    pub input_schema: serde_json::Value,
    /// Whether the model must follow the schema exactly.
    pub strict: Option<bool>,
}

/// A turn to begin.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BeginTurn {
    /// The settings.
    pub settings: TurnSettings,
    /// The question, as text.
    pub question: Option<String>,
    /// The question as parts, instead of `question`: text, images, documents.
    #[serde(default)]
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub parts: Vec<Part>,
    /// The id of the question, which names the turn. Default: a new one. A repetition with the same
    /// id continues the turn.
    pub id: Option<String>,
}

/// The next step of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ContinueTurn {
    /// The settings, as when the turn began.
    pub settings: TurnSettings,
    /// Every reply to the requests of the call that is open, oldest first: usually one. A call
    /// whose request was refused has more, because the server does not remember the refusal.
    #[serde(default)]
    pub replies: Vec<ModelReply>,
    /// Results of tools.
    #[serde(default)]
    pub results: Vec<ToolOutcome>,
}

/// The reply of a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelReply {
    /// The status of the HTTP response.
    pub status: u16,
    /// Its body: the JSON, or a text if it is none.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub body: serde_json::Value,
    /// The data of each server-sent event of a streamed reply, instead of `body`.
    #[serde(default)]
    pub events: Vec<String>,
}

impl ModelReply {
    pub(super) fn text(&self) -> String {
        match &self.body {
            serde_json::Value::String(text) => text.clone(),
            json => json.to_string(),
        }
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The id of the call.
    pub call_id: String,
    /// The output as text.
    pub text: Option<String>,
    /// The output as parts, instead of `text`.
    #[serde(default)]
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub output: Vec<Part>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// The state of a turn after a step, and what the program does next.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct TurnStep {
    /// The id of the turn: that of its question.
    pub turn: String,
    /// `call`: send `request` to the model. `tools`: run `calls`. `answered`: the turn has ended
    /// with `answer`.
    pub state: TurnState,
    /// The request to send.
    pub request: Option<PreparedCall>,
    /// The calls of tools that wait for their results.
    pub calls: Vec<RequestedCall>,
    /// The answer.
    pub answer: Option<StepAnswer>,
    /// Token usage that this step learned.
    pub usage: StepUsage,
    /// Cuts, repairs, and parts of the step that could not be done.
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub diagnostics: Vec<Diagnostic>,
}

/// The state of a turn between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnState {
    /// The reply of the model.
    Call,
    /// Results of tools.
    Tools,
    /// Nothing: it has ended.
    Answered,
}

/// A request for a model.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct PreparedCall {
    /// The form of the body.
    pub provider: String,
    /// The body to send.
    #[schema(value_type = HashMap<String, Value>)]
    pub body: Json,
    /// Headers that the body needs, as names and values.
    #[schema(value_type = Vec<Vec<String>>)]
    pub headers: Vec<(String, String)>,
    /// The number of the request within its call, from 1. Above 1, an earlier request was refused,
    /// and the next step has the replies to both. At 1 a new call begins, with no reply so far.
    pub number: u32,
    /// The time to wait before sending, in milliseconds.
    pub wait_ms: u64,
    /// The counted tokens of the request.
    pub tokens: u64,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct RequestedCall {
    /// The id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them, which may be no JSON.
    pub arguments: String,
}

/// The answer of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct StepAnswer {
    /// The id of its message.
    pub message: String,
    /// The text.
    pub text: String,
    /// Whether the answer broke off.
    pub incomplete: bool,
}

/// Token usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct StepUsage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// The cost in US dollars, if the prices are known.
    pub cost_usd: Option<f64>,
}

impl StepUsage {
    pub(super) fn of(report: &TurnReport) -> Self {
        let usage: &Usage = &report.usage;
        Self {
            input_tokens: usage.total_input(),
            output_tokens: usage.output,
            cached_tokens: usage.cache_read,
            cost_usd: report.cost_usd.filter(|_| report.calls > 0),
        }
    }
}
