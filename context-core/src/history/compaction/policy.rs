//! The trait of compaction policies.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Goal, HistoryView, Plan, PlanError, Structure};
use crate::model::ProviderCompaction;
use crate::{Answer, Message, ModelRequest};

/// Decides what to cut from a conversation, and returns the decision as data.
///
/// Contract with implementors: be pure and synchronous. The same view and goal yield the same
/// proposal, byte for byte. Propose nothing rather than a plan that does not save. Be idempotent:
/// after a plan was applied, the same goal yields nothing, unless the first plan could not reach
/// the goal. Ignore how full the window is; the caller decides when to ask a policy.
///
/// ```
/// use context_core::CompactionPolicy;
/// use context_core::history::{BoundaryKind, Edit, Goal, HistoryView, Plan, Proposal};
///
/// /// Leaves out the steps between the first request and the newest turn.
/// #[derive(Debug)]
/// struct OnlyTheNewest;
///
/// impl CompactionPolicy for OnlyTheNewest {
///     fn name(&self) -> &'static str {
///         "only-the-newest"
///     }
///
///     fn plan(&self, view: &HistoryView<'_>, _: &Goal) -> Proposal {
///         let [first, .., newest] = view.structure().requests[..] else {
///             return Proposal::nothing("one turn");
///         };
///         let edits = vec![Edit::remove(first + 1..newest)];
///         let description = format!("{} messages", newest - first - 1);
///         match Plan::new(self.name(), BoundaryKind::Snip, view, edits, description) {
///             Ok(plan) => Proposal::Plan(plan),
///             Err(error) => Proposal::nothing(error.to_string()),
///         }
///     }
/// }
/// # assert_eq!(OnlyTheNewest.name(), "only-the-newest");
/// ```
///
/// # Where to begin
///
/// Collect [`Edit`](super::Edit)s, create a plan with [`Plan::new`], which counts and checks, and
/// convert the result [into](Proposal::from) a proposal. `examples/custom-policy` is a complete
/// policy; `context_conformance::policy` tests policies.
pub trait CompactionPolicy: fmt::Debug + Send + Sync + 'static {
    /// Returns the name that plans, reports and boundaries show.
    fn name(&self) -> &'static str;

    /// Returns the kind of the policy, which determines when a pipeline asks it by default.
    fn kind(&self) -> PolicyKind {
        PolicyKind::default()
    }

    /// Proposes a cut that leaves at most [`Goal::history`] tokens, or as close to it as the policy
    /// can get.
    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal;

    /// Creates the plan from the answer to a [`SummaryTask`] that this policy proposed. The view is
    /// the same as then, or has additional messages, which are kept. A refused answer changes
    /// nothing.
    fn accept(
        &self,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Plan, SummaryError> {
        let _ = (view, task, answer);
        Err(SummaryError::NotAsked)
    }
}

/// The kind of a policy, by the effect of its cuts on a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PolicyKind {
    /// Content is shortened, and every message stays.
    Shorten,
    /// A model summarizes earlier messages.
    Summarize,
    /// Turns are left out.
    LeaveOut,
    /// Everything but the newest part is left out: the last resort.
    Truncate,
    /// Any other cut.
    #[default]
    Other,
}

/// The proposal of a policy.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum Proposal {
    /// The policy cannot cut anything.
    Nothing {
        /// A human-readable reason.
        reason: String,
    },
    /// A plan to apply.
    Plan(Plan),
    /// A summary that a model has to write first.
    Summary(Box<SummaryTask>),
}

impl Proposal {
    /// Creates a proposal without a plan, for this reason.
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self::Nothing { reason: reason.into() }
    }

    /// Returns the plan, if there is one.
    pub fn into_plan(self) -> Option<Plan> {
        match self {
            Self::Plan(plan) => Some(plan),
            _ => None,
        }
    }
}

impl From<Result<Plan, PlanError>> for Proposal {
    /// Converts the result of [`Plan::new`]. An error becomes the reason for proposing nothing.
    fn from(plan: Result<Plan, PlanError>) -> Self {
        match plan {
            Ok(plan) => Self::Plan(plan),
            Err(error) => Self::nothing(error.to_string()),
        }
    }
}

/// A request for a summary that a policy needs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryTask {
    /// The name of the policy.
    pub policy: &'static str,
    /// The request to send. It names no model; the caller chooses one.
    pub request: ModelRequest,
    /// The messages of the view that the summary will replace.
    pub covers: Range<usize>,
    /// The covered messages that are kept nevertheless, in order.
    pub keeps: Vec<usize>,
    /// Tokens of the messages to be removed. A summary that is not smaller is refused.
    pub tokens: u64,
    /// The messages of the view up to the last covered one, for checking that a later view still
    /// starts with them.
    pub seen: Vec<Arc<Message>>,
    /// The text that asks for the same summary at the end of the conversation itself, where nothing
    /// has to be quoted. `None` if the policy takes only answers to [`request`](Self::request).
    pub instruction: Option<String>,
    /// The compaction of the provider that takes the place of the summary where the provider of the
    /// conversation makes one. `None` if the policy wants a summary in any case.
    pub provider: Option<ProviderCompaction>,
    /// The request of the conversation itself: up to the last covered message if its provider is
    /// asked for a [compaction](Self::provider), otherwise with the instruction behind it. A
    /// provider that has the conversation in its prompt cache reads it from there. The runtime sets
    /// it if it fits and, of the latter, costs less than [`request`](Self::request).
    pub continued: Option<Box<ModelRequest>>,
    /// Whether the summary is requested before it is needed, so that no turn waits for it.
    pub ahead: bool,
}

impl SummaryTask {
    /// Creates a request whose answer will replace these messages.
    pub fn new(
        policy: &'static str,
        request: ModelRequest,
        covers: Range<usize>,
        tokens: u64,
    ) -> Self {
        Self {
            policy,
            request,
            covers,
            keeps: Vec::new(),
            tokens,
            seen: Vec::new(),
            instruction: None,
            provider: None,
            continued: None,
            ahead: false,
        }
    }

    /// Sets the text that asks for the same summary at the end of the conversation itself.
    #[must_use]
    pub fn instruction(mut self, text: impl Into<String>) -> Self {
        self.instruction = Some(text.into());
        self
    }

    /// Asks for this compaction of the provider in place of a summary, where it makes one.
    #[must_use]
    pub fn provider(mut self, compaction: ProviderCompaction) -> Self {
        self.provider = Some(compaction);
        self
    }

    /// Returns the request to send to this model: the continuation if there is one and it is for
    /// this model, otherwise the request that quotes the conversation.
    pub fn request_for(&self, model: &str) -> &ModelRequest {
        let continued = self.continued.as_deref();
        continued.filter(|request| request.model.as_deref() == Some(model)).unwrap_or(&self.request)
    }

    /// Returns whether only the provider of the conversation can make the summary, because the
    /// covered messages begin with a compaction that it has
    /// [sealed](crate::message::Text::for_sealed_block). A request that quotes the conversation
    /// would lose what the compaction stands for.
    pub fn needs_provider(&self) -> bool {
        let front = &self.seen[Structure::front(&self.seen)];
        front.iter().filter_map(|message| message.substituted_block()).any(|both| both.is_sealed)
    }

    /// Sets the covered messages that are kept.
    #[must_use]
    pub fn keeping(mut self, keeps: Vec<usize>) -> Self {
        self.keeps = keeps;
        self
    }

    /// Records the messages of this view up to the last covered one.
    #[must_use]
    pub fn made_for(mut self, view: &HistoryView<'_>) -> Self {
        let end = self.covers.end.min(view.messages().len());
        self.seen = view.messages()[..end].to_vec();
        self
    }

    /// Returns whether the task was made for this view, or for a view that this one extends.
    pub fn is_current(&self, view: &HistoryView<'_>) -> bool {
        let messages = view.messages();
        self.covers.end <= self.seen.len()
            && messages.len() >= self.seen.len()
            && self
                .seen
                .iter()
                .zip(messages)
                .all(|(seen, now)| Arc::ptr_eq(seen, now) || seen == now)
    }
}

/// An error of an answer that was not accepted as a summary. The history is unchanged.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The policy did not request a summary.
    #[error("the policy did not ask for a summary of these messages")]
    NotAsked,
    /// The summary is empty.
    #[error("the summary is empty")]
    Empty,
    /// The summary is truncated.
    #[error("the summary was cut off")]
    CutOff,
    /// The provider or the model refused.
    #[error("the model refused to summarise")]
    Refused,
    /// The answer is not a summary: required parts are missing.
    #[error("the answer is not a summary: {missing} is missing")]
    Malformed {
        /// The missing part.
        missing: String,
    },
    /// The summary is not smaller than the messages that it would replace.
    #[error("the summary has {summary} tokens and would replace {replaced}")]
    TooLarge {
        /// Tokens of the summary.
        summary: u64,
        /// Tokens of the messages that it would replace.
        replaced: u64,
    },
    /// The model call failed.
    #[error("the summary could not be made: {0}")]
    Failed(String),
    /// The history is not the one that the summary was requested for.
    #[error("the history changed while it was summarised")]
    Stale,
    /// The resulting plan may not be applied.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

crate::readable_debug!(SummaryError);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TokenCount, TokenCounter};

    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn count(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.len() as u64)
        }
    }

    #[test]
    fn a_task_knows_the_view_it_was_made_for_and_what_goes_on_from_it() {
        let messages = ["one", "two", "three"].map(|text| Arc::new(Message::from(text)));
        let view = HistoryView::new(&messages, &Bytes);
        let request = ModelRequest::new([Message::from("sum up")]);
        let task = SummaryTask::new("test", request, 0..2, 6).made_for(&view);
        let current = |texts: &[&str]| {
            let messages: Vec<_> =
                texts.iter().map(|text| Arc::new(Message::from(*text))).collect();
            task.is_current(&HistoryView::new(&messages, &Bytes))
        };
        assert!(task.is_current(&view));
        assert!(current(&["one", "two", "three", "four"]));
        assert!(current(&["one", "two"]));
        assert!(!current(&["one"]));
        assert!(!current(&["one", "2", "three"]));
    }
}
