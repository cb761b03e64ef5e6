//! What a runtime returns.

use std::sync::Arc;

use crate::history::{BoundaryKind, Compacted, PlanReport, SummaryTask};

use serde::Serialize;

use crate::message::Text;
use crate::model::{Budget, CacheMarks, OutputSchema, TokenCount, Tool, ToolChoice};
use crate::{Diagnostic, Message, Metadata, ModelRequest};

/// A cut between the stored history and the messages that are sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Boundary {
    /// The kind of cut.
    #[serde(rename = "type")]
    pub kind: BoundaryKind,
    /// Number of messages that are left.
    pub retained_messages: usize,
    /// Additional facts about the recall.
    pub metadata: Metadata,
}

impl Boundary {
    /// Creates a boundary that leaves this many messages.
    pub fn new(kind: BoundaryKind, retained_messages: usize) -> Self {
        Self { kind, retained_messages, metadata: Metadata::default() }
    }
}

/// Token counts of the parts of a request, in the order of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Breakdown {
    /// The system prompt.
    pub system: TokenCount,
    /// The instructions after the system prompt.
    pub instructions: TokenCount,
    /// The tools and the output schema.
    pub tools: TokenCount,
    /// The checkpoint message that replaces earlier messages.
    pub checkpoint: TokenCount,
    /// The conversation.
    pub history: TokenCount,
    /// Recalled memories and other content that changes from call to call.
    pub recall: TokenCount,
    /// Tokens that the provider adds around a request.
    pub framing: TokenCount,
}

impl Breakdown {
    /// Returns the total of all parts.
    pub fn total(&self) -> TokenCount {
        self.outside() + self.checkpoint + self.history
    }

    /// Returns the tokens of everything except the checkpoint and the history.
    pub fn outside(&self) -> TokenCount {
        self.system + self.instructions + self.tools + self.recall + self.framing
    }
}

/// The prefix of a request, compared with the previous request of the same session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Prefix {
    /// Hash of everything before the volatile parts: system prompt, tools, history. The next
    /// request begins with this prefix if nothing is cut.
    pub hash: String,
    /// Hash of the part of this request that the previous request covered. Equal to the previous
    /// request's `hash` unless something was changed.
    pub shared: Option<String>,
    /// Whether the previous request is a prefix of this one, volatile parts aside.
    pub intact: bool,
    /// Tokens of this request that the provider may have in its prompt cache.
    pub reused: u64,
}

/// A prepared model request, and what the loop should know about it.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ModelContext {
    /// The name of the model.
    pub model: String,
    /// The conversation to send, recalled memories included.
    pub messages: Vec<Arc<Message>>,
    /// The system prompt as one text. `None` if there is no system prompt.
    pub system_prompt: Option<String>,
    /// The parts of the system prompt.
    pub system_prompt_parts: Vec<String>,
    /// The tools that the model may call, as given.
    pub tools: Vec<Tool>,
    /// Whether the model may, must or must not call a tool.
    pub tool_choice: Option<ToolChoice>,
    /// The schema that the answer must have.
    pub output: Option<OutputSchema>,
    /// The maximum number of output tokens to request.
    pub max_output_tokens: Option<u64>,
    /// Repairs, cuts and missing items.
    pub diagnostics: Vec<Diagnostic>,
    /// The cuts between the given history and `messages`.
    pub boundaries: Vec<Boundary>,
    /// Additional facts. The key `prefix_hash` holds [`Prefix::hash`].
    pub metadata: Metadata,
    /// Indexes into `messages` after which the provider's prompt cache should end an entry.
    pub cache_breakpoints: Vec<usize>,
    /// Token counts of the request's parts.
    pub breakdown: Breakdown,
    /// The window and the reserve.
    pub budget: Option<Budget>,
    /// Plans that were considered: the applied ones and those that were not worth their price.
    pub plans: Vec<PlanReport>,
    /// The history after the applied plans, before recall and repair. `None` if no plan was
    /// applied. A caller that keeps the history keeps this one instead, or lets its store keep the
    /// cut as a boundary.
    pub compacted: Option<Compacted>,
    /// A summary that would help, for a loop that can call a model. The prepared request can be
    /// sent without it.
    pub summary: Option<Box<SummaryTask>>,
    /// The prefix of the request.
    pub prefix: Prefix,
}

impl ModelContext {
    /// Converts the context into a request for a codec.
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

    /// Returns whether the request fits the window. `None` if the window is unknown.
    pub fn fits(&self) -> Option<bool> {
        self.budget.map(|budget| self.breakdown.total().tokens() <= budget.input())
    }
}

/// A history with appended tool results.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ToolResultOutput {
    /// The conversation, including results and supplements.
    pub messages: Vec<Arc<Message>>,
    /// The messages that were appended.
    pub appended: Vec<Arc<Message>>,
    /// Results that were cut, spilled, or could not be spilled.
    pub diagnostics: Vec<Diagnostic>,
}
