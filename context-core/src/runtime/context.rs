//! The outputs of a runtime.

use std::sync::Arc;

use serde::Serialize;

use crate::history::{Boundary, HistoryRewrite, PlanReport, SummaryTask};
use crate::model::{Budget, TokenCount};
use crate::{Diagnostic, Message, Messages, Metadata, ModelRequest, Timestamp};

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
    /// The time until which the provider should have this request in its prompt cache, if it is
    /// sent now and not used again. `None` if it is not cached, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_until: Option<Timestamp>,
}

/// A prepared model request and its account: token counts, cuts and diagnostics.
#[derive(Clone, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ModelContext {
    /// The request for a codec, recalled memories included.
    pub request: ModelRequest,
    /// Repairs, cuts and missing items.
    pub diagnostics: Vec<Diagnostic>,
    /// The cuts between the given conversation and the messages of the request.
    pub boundaries: Vec<Boundary>,
    /// Additional facts. The key `prefix_hash` holds [`Prefix::hash`].
    pub metadata: Metadata,
    /// Token counts of the request's parts.
    pub breakdown: Breakdown,
    /// The window and the reserve.
    pub budget: Option<Budget>,
    /// Plans that were considered: the applied ones and those that were not worth their price.
    pub plans: Vec<PlanReport>,
    /// The cuts of the given conversation, before recall and repair. `None` if there are none. A
    /// caller that [owns the cuts](super::CutOwner::Caller) keeps them and passes them with the
    /// next input, or stores them as a boundary.
    pub rewrite: Option<HistoryRewrite>,
    /// A summary that would help, for a loop that can call a model. The prepared request can be
    /// sent without it.
    pub summary: Option<Box<SummaryTask>>,
    /// The prefix of the request.
    pub prefix: Prefix,
}

impl ModelContext {
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
    pub messages: Messages,
    /// The messages that were appended.
    pub appended: Vec<Arc<Message>>,
    /// Results that were cut, spilled, or could not be spilled.
    pub diagnostics: Vec<Diagnostic>,
}
