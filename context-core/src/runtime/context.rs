//! What a runtime returns.

use crate::history::PlanReport;
use std::sync::Arc;

use serde::Serialize;

use crate::history::{BoundaryKind, Compacted, SummaryTask};
use crate::message::Text;
use crate::model::{Budget, CacheMarks, OutputSchema, TokenCount, Tool, ToolChoice};
use crate::{Diagnostic, Message, Metadata, ModelRequest};

/// A cut that stands between the history and what is sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Boundary {
    /// What kind of cut.
    #[serde(rename = "type")]
    pub kind: BoundaryKind,
    /// How many messages are left.
    pub retained_messages: usize,
    /// Facts beside it.
    pub metadata: Metadata,
}

impl Boundary {
    /// A cut that leaves so many messages.
    pub fn new(kind: BoundaryKind, retained_messages: usize) -> Self {
        Self { kind, retained_messages, metadata: Metadata::default() }
    }
}

/// What a request consists of, in tokens, in the order in which it stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Breakdown {
    /// The system prompt.
    pub system: TokenCount,
    /// Instructions behind it.
    pub instructions: TokenCount,
    /// Tools, and the form of the answer.
    pub tools: TokenCount,
    /// What stands for earlier messages.
    pub checkpoint: TokenCount,
    /// The conversation.
    pub history: TokenCount,
    /// What was remembered, and what else changes from call to call.
    pub recall: TokenCount,
    /// What the provider adds around a request.
    pub framing: TokenCount,
}

impl Breakdown {
    /// All of it.
    pub fn total(&self) -> TokenCount {
        self.outside() + self.checkpoint + self.history
    }

    /// What is not the history's.
    pub fn outside(&self) -> TokenCount {
        self.system + self.instructions + self.tools + self.recall + self.framing
    }
}

/// How a request begins, compared with the one before it in the same session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Prefix {
    /// The hash of what comes before everything volatile: system prompt, tools, history. What the
    /// request of the next call begins with, if nothing is cut.
    pub hash: String,
    /// The hash of as much of this request as the one before had. The same as its `hash`, unless
    /// something was changed.
    pub shared: Option<String>,
    /// Whether the request before is the beginning of this one, what is volatile in them left
    /// aside.
    pub intact: bool,
    /// How many tokens of this request the provider may have in its cache.
    pub reused: u64,
}

/// What a model is to be sent, and what the loop should know about it.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ModelContext {
    /// The model.
    pub model: String,
    /// The conversation as it is to be sent, recalled memories included.
    pub messages: Vec<Arc<Message>>,
    /// The system prompt as one text; nothing if there is none.
    pub system_prompt: Option<String>,
    /// The parts it consists of.
    pub system_prompt_parts: Vec<String>,
    /// What the model may call, as it was given.
    pub tools: Vec<Tool>,
    /// Whether it may, must or must not.
    pub tool_choice: Option<ToolChoice>,
    /// The form the answer must have.
    pub output: Option<OutputSchema>,
    /// How many tokens of answer to ask for.
    pub max_output_tokens: Option<u64>,
    /// What was repaired, cut or not found.
    pub diagnostics: Vec<Diagnostic>,
    /// The cuts between the history that was given and `messages`.
    pub boundaries: Vec<Boundary>,
    /// Facts beside it. Under `prefix_hash` stands the hash of [`Prefix::hash`].
    pub metadata: Metadata,
    /// Behind which of `messages` the provider's prompt cache should end its entries.
    pub cache_breakpoints: Vec<usize>,
    /// What it consists of.
    pub breakdown: Breakdown,
    /// The window and the reserve.
    pub budget: Option<Budget>,
    /// Plans that were made: applied ones, and those that were not worth it.
    pub plans: Vec<PlanReport>,
    /// The history after the plans that were applied, before recall and repair; nothing if none
    /// was. Who keeps the history keeps this instead, or has its store keep it as a boundary.
    pub compacted: Option<Compacted>,
    /// A summary that would help, for a loop that can ask a model. What stands here can be sent
    /// without it.
    pub summary: Option<Box<SummaryTask>>,
    /// How it begins.
    pub prefix: Prefix,
}

impl ModelContext {
    /// It as a request, for a codec.
    pub fn request(&self) -> ModelRequest {
        let mut request = ModelRequest::new(self.messages.iter().map(Arc::clone));
        if !self.model.is_empty() {
            request.model = Some(self.model.clone());
        }
        let parts = self.system_prompt_parts.iter();
        request.system =
            parts.map(|text| Text { text: text.clone(), metadata: Metadata::default() }).collect();
        request.tools = self.tools.clone();
        request.tool_choice = self.tool_choice.clone();
        request.output = self.output.clone();
        request.max_output_tokens = self.max_output_tokens;
        if !self.cache_breakpoints.is_empty() {
            request.cache = CacheMarks::At(self.cache_breakpoints.clone());
        }
        request
    }

    /// Whether the request fits the window, as far as that is known.
    pub fn fits(&self) -> Option<bool> {
        self.budget.map(|budget| self.breakdown.total().tokens() <= budget.input())
    }
}

/// The history with results behind it.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ToolResultOutput {
    /// The conversation, results and supplements included.
    pub messages: Vec<Arc<Message>>,
    /// What was added to it.
    pub appended: Vec<Arc<Message>>,
    /// What was cut, kept elsewhere or could not be kept.
    pub diagnostics: Vec<Diagnostic>,
}
