//! The seam of compaction policies.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Goal, HistoryView, Plan, PlanError};
use crate::{Answer, Message, ModelRequest};

/// Decides what to cut, as data.
///
/// Implementors: be pure and synchronous; the same view and goal give the same proposal, to the
/// byte. Propose nothing rather than a plan that does not save, and be idempotent: a view to which
/// a plan was applied gives nothing for the same goal, unless the goal asks for more than could be
/// had the first time. Take no notice of how full the window is: when a policy is asked is not its
/// business.
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
///         let what = format!("{} messages", newest - first - 1);
///         match Plan::new(self.name(), BoundaryKind::Snip, view, edits, what) {
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
/// Collect [`Edit`](super::Edit)s, make a plan of them with [`Plan::new`], which counts and checks,
/// and turn that [into](Proposal::from) a proposal. `examples/custom-policy` is a policy, whole;
/// `context_conformance::policy` proves yours.
pub trait CompactionPolicy: fmt::Debug + Send + Sync + 'static {
    /// Its name, as plans, reports and boundaries show it.
    fn name(&self) -> &'static str;

    /// What to cut so that the history has at most [`Goal::history`] tokens, or as close to it as
    /// this policy gets.
    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal;

    /// Makes the plan of an answer to a [`SummaryTask`] that this policy proposed for the same
    /// view, or for one that was shorter: what came since stays. Nothing has happened if the answer
    /// is refused.
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

/// What a policy proposes.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum Proposal {
    /// There is nothing it could cut.
    Nothing {
        /// Why, for people.
        reason: String,
    },
    /// This could be cut.
    Plan(Plan),
    /// A model has to say something first.
    Summary(Box<SummaryTask>),
}

impl Proposal {
    /// There is nothing to cut, and why.
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self::Nothing { reason: reason.into() }
    }

    /// The plan, if it is one.
    pub fn into_plan(self) -> Option<Plan> {
        match self {
            Self::Plan(plan) => Some(plan),
            _ => None,
        }
    }
}

impl From<Result<Plan, PlanError>> for Proposal {
    /// A plan that may not be applied, or would not save, is not proposed; the error is the reason.
    fn from(plan: Result<Plan, PlanError>) -> Self {
        match plan {
            Ok(plan) => Self::Plan(plan),
            Err(error) => Self::nothing(error.to_string()),
        }
    }
}

/// What a model is asked so that a policy can go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryTask {
    /// The policy that asks.
    pub policy: &'static str,
    /// What the model is to be asked. Without a model's name: whoever sends it chooses.
    pub request: ModelRequest,
    /// The messages of the view that the answer will stand for.
    pub covers: Range<usize>,
    /// Those of them that stay nevertheless, in order.
    pub keeps: Vec<usize>,
    /// How many tokens those are that will go: the answer is refused if it is not smaller.
    pub tokens: u64,
    /// The covered messages, from the first of the view on. They tell whether a view is still the
    /// one it was asked for.
    pub seen: Vec<Arc<Message>>,
}

impl SummaryTask {
    /// A request whose answer will stand for these messages.
    pub fn new(
        policy: &'static str,
        request: ModelRequest,
        covers: Range<usize>,
        tokens: u64,
    ) -> Self {
        Self { policy, request, covers, keeps: Vec::new(), tokens, seen: Vec::new() }
    }

    /// With these covered messages staying.
    #[must_use]
    pub fn keeping(mut self, keeps: Vec<usize>) -> Self {
        self.keeps = keeps;
        self
    }

    /// Made for this view: its messages up to the last covered one are remembered.
    #[must_use]
    pub fn made_for(mut self, view: &HistoryView<'_>) -> Self {
        let end = self.covers.end.min(view.messages().len());
        self.seen = view.messages()[..end].to_vec();
        self
    }

    /// Whether it was made for this view, or for one that this one goes on from.
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

/// Why an answer was not taken for a summary. The history is as it was.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The policy did not ask for one.
    #[error("the policy did not ask for a summary of these messages")]
    NotAsked,
    /// It says nothing.
    #[error("the summary is empty")]
    Empty,
    /// It breaks off.
    #[error("the summary was cut off")]
    CutOff,
    /// The provider or the model refused.
    #[error("the model refused to summarise")]
    Refused,
    /// It is no summary: parts that every one has are missing.
    #[error("the answer is not a summary: {missing} is missing")]
    Malformed {
        /// What is missing.
        missing: String,
    },
    /// It is no smaller than what it would replace.
    #[error("the summary has {summary} tokens and would replace {replaced}")]
    TooLarge {
        /// Tokens of the summary.
        summary: u64,
        /// Tokens of what it would replace.
        replaced: u64,
    },
    /// The call failed.
    #[error("the summary could not be made: {0}")]
    Failed(String),
    /// The history it was asked for is not the one it is given to.
    #[error("the history changed while it was summarised")]
    Stale,
    /// What would be made of it may not be applied.
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
